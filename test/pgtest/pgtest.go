// Package pgtest has what the tests of storage/postgres share.
package pgtest

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// DB is a database of a test, with what only tests do with one.
type DB struct{ *stores.DB }

// Connect is stores.Open.
func Connect(ctx context.Context, url string, maxConns int32, changes ...postgres.Option) (*DB, error) {
	db, err := stores.Open(ctx, url, maxConns, changes...)
	if err != nil {
		return nil, err
	}
	return &DB{db}, nil
}

// On returns another DB on connections, with its own memories.
func On(pool *pgxpool.Pool) *DB { return &DB{stores.On(postgres.OnPool(pool))} }

// Exec runs a statement of a test: fixtures of what only other parts write.
func (db *DB) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := db.Pool().Exec(ctx, statement, args...)
	return err
}

// Strings reads one column of texts.
func (db *DB) Strings(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := db.Pool().Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Recorder returns another DB on the same database, whose statements it keeps.
func (db *DB) Recorder(ctx context.Context) (*Recorder, error) {
	r := &Recorder{}
	cfg := db.Pool().Config()
	cfg.ConnConfig.Tracer = r
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	r.DB = On(pool)
	return r, nil
}

// Recorder is a DB that keeps the statements it runs.
type Recorder struct {
	*DB
	Statements []pgx.TraceQueryStartData
}

// TraceQueryStart implements pgx.QueryTracer.
func (r *Recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	r.keep(q.SQL, q.Args)
	return ctx
}

func (r *Recorder) keep(sql string, args []any) {
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
	r.keep(q.SQL, q.Args)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (r *Recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// Plans returns the plans of the statements, and forgets them.
func (r *Recorder) Plans(ctx context.Context, on *DB) (plans []string, err error) {
	for _, q := range r.Statements {
		args := q.Args
		if len(args) > 0 {
			if _, ok := args[0].(pgx.QueryExecMode); ok {
				args = args[1:]
			}
		}
		lines, err := on.Strings(ctx, "EXPLAIN "+q.SQL, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
		if err != nil {
			return nil, err
		}
		plans = append(plans, q.SQL+"\n"+strings.Join(lines, "\n"))
	}
	r.Statements = nil
	return plans, nil
}

// Copy writes rows of a test by COPY, as the consumer of the text lane does: it keeps
// champion lists.
func (db *DB) Copy(ctx context.Context, table string, columns []string, rows [][]any) error {
	return pgx.BeginFunc(ctx, db.Pool(), func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT set_config('livegraph.champions', 'kept', true)`)
		if err == nil {
			_, err = tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		}
		return err
	})
}

// ExecLong is Exec of a statement that takes as long as it does.
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
