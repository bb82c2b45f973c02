// Package postgres owns the connections to Postgres and the schema's migrations, runs
// transactions, and turns the driver's errors into the kinds of internal/platform/fault.
// The queries are in the packages below it, one for each aggregate, each with a Store on
// a DB of this package: access, registry, graphread, graph, textindex, jobs. Package
// stores combines them, and package replica reads the graph on a replica. None of them determines anything of the API.
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
	connectTimeout = 3 * time.Second // short, so that a server that is down is detected soon
	// Timeouts of the server, so that it ends the work of a client that is lost.
	statementTimeout = 30 * time.Second
	lockTimeout      = 10 * time.Second
	idleTxTimeout    = 30 * time.Second
	serializeRetries = 3
)

// DB is a pool of connections to Livegraph's database.
type DB struct {
	pool      *pgxpool.Pool
	directURL string // see WithDirectURL
	server    oneServer
}

// FromPool returns a DB that uses the caller's pool.
func FromPool(pool *pgxpool.Pool) *DB { return &DB{pool: pool} }

// Pool returns the connection pool, for the statements of the packages below.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Open connects to the database at url and pings it. url may have all parameters of
// libpq, including those of TLS: sslmode, sslrootcert, sslcert and sslkey. The TLS files
// are read again for each connection. The pool has at most maxConns connections. The
// caller closes the DB.
func Open(ctx context.Context, url string, maxConns int32, opts ...Option) (*DB, error) {
	var options openOptions
	for _, opt := range opts {
		opt(&options)
	}
	cfg, err := parseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = maxConns
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.HealthCheckPeriod = 15 * time.Second
	options.setParameters(cfg.ConnConfig, url)
	options.setTracer(cfg)
	db := &DB{directURL: options.directURL}
	if options.replica && options.directURL == "" { // a pooler connects to the servers
		db.server.use(cfg)
	}
	if db.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, Classify(fmt.Errorf("opening Postgres: %w", err))
	}
	if !options.replica {
		if err := db.Ping(ctx); err != nil {
			db.pool.Close()
			return nil, err
		}
	}
	options.addPool(db.pool)
	return db, nil
}

// setParameters sets the parameters of the connections, except those that the URL sets.
func (o *openOptions) setParameters(cfg *pgx.ConnConfig, url string) {
	if o.directURL != "" {
		setPooled(cfg, url)
		return
	}
	setDefaults(cfg)
	if o.replica {
		setDefault(cfg, "default_transaction_read_only", "on")
	}
}

// setDefaults sets the parameters of connections to Postgres, except those that the URL sets.
func setDefaults(cfg *pgx.ConnConfig) {
	setCommon(cfg)
	millis := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	setDefault(cfg, "statement_timeout", millis(statementTimeout))
	setDefault(cfg, "lock_timeout", millis(lockTimeout))
	setDefault(cfg, "idle_in_transaction_session_timeout", millis(idleTxTimeout))
}

// setCommon sets the parameters that PgBouncer supports, too.
func setCommon(cfg *pgx.ConnConfig) {
	cfg.ConnectTimeout = connectTimeout
	setDefault(cfg, "application_name", "livegraph")
	setDefault(cfg, "timezone", "UTC")
}

func setDefault(cfg *pgx.ConnConfig, name, value string) {
	if _, exists := cfg.RuntimeParams[name]; !exists {
		cfg.RuntimeParams[name] = value
	}
}

// Ping reports an error if the database does not respond.
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

// UseIndexScans is a statement that makes the current transaction use index scans. A
// connection caches its plans, including those of foreign key checks, and a plan is made
// for the table's size at that time: for a table of one page it is a sequential scan.
// When the table has grown to 10,000 rows, that plan still reads the whole table for each
// row, until statistics are gathered.
const UseIndexScans = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true)`

// InBulkTx is InTx for work that may affect many rows at once. See UseIndexScans.
func (db *DB) InBulkTx(ctx context.Context, work func(pgx.Tx) error) error {
	return db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, UseIndexScans); err != nil {
			return fmt.Errorf("preparing for many rows: %w", err)
		}
		return work(tx)
	})
}

// WithCustomPlan returns args with an option that makes Postgres plan the statement for these
// arguments on each execution, which takes half a millisecond. A cached generic plan is
// based on the statistics at that time, and in the first minute of many new rows there
// are none: such a plan reads all series once for each source, and compares each
// requested name with each existing name.
func WithCustomPlan(args []any) []any { return append([]any{pgx.QueryExecModeCacheDescribe}, args...) }

// InTx runs work in a transaction and commits it. It runs work again after a
// serialization failure or a deadlock, up to serializeRetries times in total, so work
// must not keep any state of a failed run.
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

// InReadTx runs work in a read-only transaction with one snapshot. Its statements time out
// at the deadline of ctx, or after statementTimeout if that is earlier.
func (db *DB) InReadTx(ctx context.Context, work func(pgx.Tx) error) error {
	// All statements see the same snapshot. Each is planned for its arguments.
	const begin = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan;
		SET LOCAL jit = off; SET LOCAL work_mem = '32MB'; SET LOCAL statement_timeout = `
	return pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{BeginQuery: begin + readTimeout(ctx)}, work)
}

// QueryOnce runs one statement with the settings of InReadTx, and calls read with its rows. It takes one
// round trip where a transaction takes three. Until it is prepared on a connection it takes another.
func (db *DB) QueryOnce(ctx context.Context, query string, args []any, read func(pgx.Rows) error) error {
	b := &pgx.Batch{}
	// The statements of a batch are one transaction, so the settings end with it.
	b.Queue(`SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
		set_config('work_mem', '32MB', true), set_config('statement_timeout', $1, true)`, readTimeout(ctx))
	b.Queue(query, args...).Query(read)
	return db.pool.SendBatch(ctx, b).Close()
}

// readTimeout returns the time until the deadline of ctx, at most statementTimeout, in milliseconds.
func readTimeout(ctx context.Context) string {
	limit := statementTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(deadline), time.Millisecond))
	}
	return strconv.FormatInt(limit.Milliseconds(), 10)
}
