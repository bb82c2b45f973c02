// Package postgres owns the connections to Postgres and the schema's migrations, runs
// transactions, and turns the driver's errors into the kinds of internal/platform/fault.
// The queries are in the packages below it, one for each aggregate, each with a Store on
// a DB of this package: access, registry, graphread, graph, textindex, jobs. Package
// stores puts them together. None of them decides anything about the interface.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	connectTimeout = 3 * time.Second // a store that is down must be noticed soon
	// Bounds on the server's side, so that a lost client leaves nothing running.
	statementTimeout = 30 * time.Second
	lockTimeout      = 10 * time.Second
	idleTxTimeout    = 30 * time.Second
	serializeRetries = 3
)

// DB is a pool of connections to Livegraph's database.
type DB struct {
	pool *pgxpool.Pool
}

// OnPool returns a DB on connections that the caller made.
func OnPool(pool *pgxpool.Pool) *DB { return &DB{pool: pool} }

// Pool returns the connections, for the statements of the packages below.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Open connects to the database that url names and checks that it answers. All of
// libpq's parameters hold, those of TLS among them: sslmode, sslrootcert, sslcert and
// sslkey, whose files are read again for each connection.
// maxConns bounds the connections of this process. The caller closes the DB.
func Open(ctx context.Context, url string, maxConns int32, changes ...Option) (*DB, error) {
	var options openOptions
	for _, change := range changes {
		change(&options)
	}
	cfg, err := settings(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = maxConns
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.HealthCheckPeriod = 15 * time.Second
	configure(cfg.ConnConfig)
	options.attach(cfg)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, Classify(fmt.Errorf("opening Postgres: %w", err))
	}
	db := OnPool(pool)
	if err := db.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	options.opened(pool)
	return db, nil
}

// configure sets what every connection of ours has.
func configure(cfg *pgx.ConnConfig) {
	cfg.ConnectTimeout = connectTimeout
	set := func(name, value string) {
		if _, chosen := cfg.RuntimeParams[name]; !chosen {
			cfg.RuntimeParams[name] = value
		}
	}
	millis := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	set("application_name", "livegraph")
	set("timezone", "UTC")
	set("statement_timeout", millis(statementTimeout))
	set("lock_timeout", millis(lockTimeout))
	set("idle_in_transaction_session_timeout", millis(idleTxTimeout))
}

// Ping asks the database for a sign of life.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.pool.Ping(ctx); err != nil {
		return Classify(fmt.Errorf("pinging Postgres: %w", err))
	}
	return nil
}

// ServerVersion returns the server's version, such as "18.6".
func (db *DB) ServerVersion(ctx context.Context) (string, error) {
	var version string
	err := db.pool.QueryRow(ctx, `SELECT current_setting('server_version')`).Scan(&version)
	return version, Classify(err)
}

// Close waits for connections in use and closes the pool.
func (db *DB) Close() { db.pool.Close() }

// ByIndexes has what a transaction does find its rows by indexes. A connection keeps its
// plans, those of the checks of foreign keys among them, and makes them for the tables of
// the moment: a plan for a table of a page reads all of it, and it still does so for each
// of 10,000 rows when the table has grown to them, until statistics are gathered.
const ByIndexes = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true)`

// InBulkTx is inTx for work that may be with many rows at once.
func (db *DB) InBulkTx(ctx context.Context, work func(pgx.Tx) error) error {
	return db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, ByIndexes); err != nil {
			return fmt.Errorf("preparing for many rows: %w", err)
		}
		return work(tx)
	})
}

// Planned has a statement planned for its arguments each time, for half a
// millisecond. A plan that is kept for any arguments is made of the statistics of
// the day, and in the first minute of many new rows there are none: such a plan
// reads all series once for each source, and compares each name that is asked for
// with each that is there.
func Planned(args []any) []any { return append([]any{pgx.QueryExecModeCacheDescribe}, args...) }

// InTx runs work in a transaction and commits it. A serialization failure or a
// deadlock runs it again, so work must not keep anything of a failed run.
func (db *DB) InTx(ctx context.Context, work func(pgx.Tx) error) error {
	var err error
	for range serializeRetries {
		err = pgx.BeginFunc(ctx, db.pool, work)
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || (pgErr.Code != codeSerialization && pgErr.Code != codeDeadlock) {
			break
		}
	}
	return Classify(err)
}

// Reading runs work in a transaction that sees one moment and changes nothing.
func (db *DB) Reading(ctx context.Context, work func(pgx.Tx) error) error {
	limit := statementTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(deadline), time.Millisecond))
	}
	// All statements see the same moment. Each is planned for the values that it is about.
	const begin = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan;
		SET LOCAL jit = off; SET LOCAL work_mem = '32MB'; SET LOCAL statement_timeout = `
	options := pgx.TxOptions{BeginQuery: begin + strconv.FormatInt(limit.Milliseconds(), 10)}
	return pgx.BeginTxFunc(ctx, db.pool, options, work)
}
