package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Exec runs a statement of a test: fixtures of what only other parts write.
func (db *DB) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := db.pool.Exec(ctx, statement, args...)
	return err
}

// Strings reads one column of texts.
func (db *DB) Strings(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := db.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Recorder returns another DB on the same database, whose statements it keeps.
func (db *DB) Recorder(ctx context.Context) (*Recorder, error) {
	r := &Recorder{}
	cfg := db.pool.Config()
	cfg.ConnConfig.Tracer = r
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	r.DB = &DB{pool: pool, totals: newTotals(), series: newSeriesMemory(), bounds: db.bounds, search: db.search}
	return r, err
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

// BoundLists makes lists take their steps on few rows.
func (db *DB) BoundLists(few, window, values int) {
	db.bounds = listBounds{few: few, window: window, values: values}
}

// PartTotals sets the times between the stretches by which totals are counted.
func (db *DB) PartTotals(times []time.Time) { db.bounds.times = times }

// BoundSearches makes searches reach their bounds with few postings, and with few
// nodes that pass a filter.
func (db *DB) BoundSearches(first, postings, lookups int64, few int) {
	db.search.first, db.search.postings, db.search.lookups, db.search.few = first, postings, lookups, few
}

// BoundChampions makes champion lists have so many postings, and has so many of the newest
// read beside them.
func (db *DB) BoundChampions(kept, newest int64) {
	db.search.champions, db.search.championsMost, db.search.newest, db.search.unnoticed = kept, kept, newest, 1
}

// ForgetTexts empties what searches keep in memory, of which so many bytes are kept from
// here on; negative: nothing.
func (db *DB) ForgetTexts(most int64) {
	db.texts = nil
	if most >= 0 {
		db.texts = newTextMemory(most)
	}
}

// BeginGraphWith is BeginGraph with another bound on the edges that are decided about
// in memory.
func (db *DB) BeginGraphWith(ctx context.Context, g GraphGroup, edges int) (*GraphTx, error) {
	return db.beginGraph(ctx, g, edges)
}

// SelectStacks reads the stacks of actors.
const SelectStacks = selectStacks

// Exec runs a statement in the group's transaction.
func (tx *GraphTx) Exec(statement string) error {
	_, err := tx.conn.Exec(tx.ctx, statement)
	return err
}

// PruneEntriesTo is PruneEntries with how many are kept that stand.
func (db *DB) PruneEntriesTo(
	ctx context.Context, workspace uuid.UUID, after int64, kept int,
) (pruned, next int64, err error) {
	return db.pruneEntries(ctx, workspace, after, kept)
}

// The statements of PruneEntries.
const (
	SelectEntries = selectEntries
	KeptBounds    = keptBounds
	DeleteEntries = deleteEntries
)

// Copy writes rows of a test by COPY, as the consumer of the text lane does: it keeps
// champion lists.
func (db *DB) Copy(ctx context.Context, table string, columns []string, rows [][]any) error {
	return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT set_config('livegraph.champions', 'kept', true)`)
		if err == nil {
			_, err = tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		}
		return err
	})
}

// ExecLong is Exec of a statement that takes as long as it does.
func (db *DB) ExecLong(ctx context.Context, statement string) error {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
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

// WithoutChampions is the same database, with a memory of its own, searched as if no
// champion list were filled.
func (db *DB) WithoutChampions() *DB {
	other := &DB{
		pool: db.pool, totals: newTotals(), series: newSeriesMemory(), bounds: db.bounds, search: db.search,
		texts: newTextMemory(memoryBytes),
	}
	other.search.unlisted = true
	return other
}

// MigrateTo brings the schema up to a migration, as an older version had it.
func (db *DB) MigrateTo(ctx context.Context, version int64) error { return db.migrateTo(ctx, version) }
