// Package pgtest has helpers that the tests of storage/postgres share.
package pgtest

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// DB is a database of a test, with methods that only tests need.
type DB struct{ *stores.DB }

// Connect opens a database. See stores.Open.
func Connect(ctx context.Context, url string, maxConns int32, opts ...postgres.Option) (*DB, error) {
	db, err := stores.Open(ctx, url, maxConns, opts...)
	if err != nil {
		return nil, err
	}
	return &DB{db}, nil
}

// FromPool returns another DB on a connection pool, with its own caches.
func FromPool(pool *pgxpool.Pool) *DB { return &DB{stores.FromDB(postgres.FromPool(pool))} }

// Exec runs a statement of a test, for example to insert rows that only other components write.
func (db *DB) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := db.Pool().Exec(ctx, statement, args...)
	return err
}

// Strings returns the values of a query with one text column.
func (db *DB) Strings(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := db.Pool().Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Recorder returns another DB on the same database that records its statements.
func (db *DB) Recorder(ctx context.Context) (*Recorder, error) {
	r := &Recorder{}
	cfg := db.Pool().Config()
	cfg.ConnConfig.Tracer = r
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	r.DB = FromPool(pool)
	return r, nil
}

// Recorder is a DB that records its statements on tables of workspaces.
type Recorder struct {
	*DB
	Statements []pgx.TraceQueryStartData
}

// TraceQueryStart implements pgx.QueryTracer.
func (r *Recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	r.record(q.SQL, q.Args)
	return ctx
}

func (r *Recorder) record(sql string, args []any) {
	if strings.Contains(sql, "workspace_id") && !strings.HasPrefix(sql, "EXPLAIN") {
		r.Statements = append(r.Statements, pgx.TraceQueryStartData{SQL: sql, Args: args})
	}
}

// TraceQueryEnd implements pgx.QueryTracer.
func (r *Recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (r *Recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (r *Recorder) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	r.record(q.SQL, q.Args)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (r *Recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// Plans returns the plans of the recorded statements, and clears the record.
func (r *Recorder) Plans(ctx context.Context, db *DB) (plans []string, err error) {
	for _, q := range r.Statements {
		args := q.Args
		if len(args) > 0 {
			if _, ok := args[0].(pgx.QueryExecMode); ok {
				args = args[1:]
			}
		}
		lines, err := db.Strings(ctx, "EXPLAIN "+q.SQL, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
		if err != nil {
			return nil, err
		}
		plans = append(plans, q.SQL+"\n"+strings.Join(lines, "\n"))
	}
	r.Statements = nil
	return plans, nil
}

// Copy writes rows of a test by COPY in the mode of the consumer of the text lane, which
// maintains champion lists itself.
func (db *DB) Copy(ctx context.Context, table string, columns []string, rows [][]any) error {
	return pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT set_config('livegraph.champions', 'kept', true)`)
		if err == nil {
			_, err = tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		}
		return err
	})
}

// ExecLong is Exec without a statement timeout.
func (db *DB) ExecLong(ctx context.Context, statement string) error {
	conn, err := pgx.ConnectConfig(ctx, db.Pool().Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `SET statement_timeout = 0`); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return err
}
