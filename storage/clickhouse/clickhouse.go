// Package clickhouse is the store of points: its connection and schema, inserts
// (insert.go), deletions and expiry, and the rollups (rollup*.go). Packages below it use
// the connection: timeseries answers the API's queries, auditlog stores audit records, and
// dump reads and fills the tables of a backup. Package native encodes rows for all of them.
//
// The package uses ClickHouse's HTTP interface or its native protocol, depending on the
// URL, through one driver. It has only bulk inserts: callers collect rows first. Every row
// has a version and may be written again.
package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// Limits of the connections.
const (
	maxConns        = 16 // of each pool except bulk
	maxIdleConns    = 8
	connLifetime    = time.Hour
	dialTimeout     = 3 * time.Second
	readTimeout     = 5 * time.Minute // one read; max_execution_time limits statements
	maxExecutionSec = 120
	// bulkConns is the number of concurrent inserts of points: two of the consumer and two
	// of a replay. They have a separate pool, because over the native protocol a connection
	// keeps a buffer as large as its largest insert; in the common pool every connection
	// would eventually have such a buffer. For the same reason only bulkIdleConns
	// connections stay open.
	bulkConns     = 4
	bulkIdleConns = 2
	// bulkLifetime is the age at which a bulk connection is replaced. This releases its
	// buffer, which a backlog may have enlarged.
	bulkLifetime = time.Minute
)

// DB is a pool of connections to one database of ClickHouse.
type DB struct {
	conn      driver.Conn
	reads     driver.Conn // for queries, so that waiting queries do not delay inserts
	bulk      driver.Conn // for inserts of points, see bulkConns
	options   *ch.Options // for the connections of migrations
	layout    Layout
	send      sendFunc  // sends rows over the protocol of the options
	fetch     fetchFunc // reads blocks of rows over the same protocol
	metrics   *Metrics
	files     *tlsconfig.Client // see Verified; may be nil
	tracer    tracing.Tracer
	markCache markCache // marks of invalid rollups that this process has written
	lastState atomic.Pointer[readState]
}

// Option changes how a DB is opened.
type Option func(*DB)

// WithMetrics sets the metrics of the DB.
func WithMetrics(m *Metrics) Option { return func(db *DB) { db.metrics = m } }

// WithTLS sets the files by which a server is verified over TLS, instead of the roots of
// the system.
func WithTLS(files *tlsconfig.Client) Option { return func(db *DB) { db.files = files } }

// WithCluster sets the name of the cluster of ClickHouse on whose shards the tables are. Empty: they are on
// the server of the URL.
func WithCluster(name string) Option { return func(db *DB) { db.layout.cluster = name } }

// Open connects to the database of a URL and checks that it responds. The URL has the form
// clickhouse://user:password@host:9000/database, with ?secure=true for TLS, or begins with
// http:// or https:// for ClickHouse's HTTP interface. With several hosts, separated by commas, the others
// are used while the first does not respond. The caller must close the DB.
func Open(ctx context.Context, address string, opts ...Option) (*DB, error) {
	db := &DB{}
	for _, option := range opts {
		option(db)
	}
	if db.metrics == nil {
		db.metrics = NewMetrics(nil)
	}
	options, err := Driver(address, db.files)
	if err != nil {
		return nil, err
	}
	db.layout.database = options.Auth.Database
	setDefaults(options, db.layout.settings())
	db.options, db.send, db.fetch = options, sendBatch, fetchRows
	if options.Protocol == ch.HTTP {
		db.send, db.fetch = sendBody, fetchBody
	}
	bulkOptions := *options
	bulkOptions.MaxOpenConns, bulkOptions.MaxIdleConns = bulkConns, bulkIdleConns
	bulkOptions.ConnMaxLifetime = bulkLifetime
	for _, pool := range []struct {
		conn    *driver.Conn
		options *ch.Options
	}{{&db.conn, options}, {&db.reads, options}, {&db.bulk, &bulkOptions}} {
		if *pool.conn, err = ch.Open(pool.options); err != nil {
			_ = db.Close()
			return nil, fault.New(fault.Invalid, "the ClickHouse URL cannot be used")
		}
	}
	if err := db.Ping(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	db.metrics.addPool("main", db.conn)
	db.metrics.addPool("reads", db.reads)
	db.metrics.addPool("bulk", db.bulk)
	return db, nil
}

// Ping checks that the database responds.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.conn.Ping(ctx); err != nil {
		return fmt.Errorf("pinging ClickHouse: %w", err)
	}
	return nil
}

// ServerVersion returns the version of the server, such as "26.9.1.1".
func (db *DB) ServerVersion(ctx context.Context) (string, error) {
	var version string
	if err := db.conn.QueryRow(ctx, `SELECT version()`).Scan(&version); err != nil {
		return "", fmt.Errorf("asking ClickHouse for its version: %w", err)
	}
	return version, nil
}

// Close closes the connections.
func (db *DB) Close() (err error) {
	for _, pool := range []driver.Conn{db.conn, db.reads, db.bulk} {
		if pool != nil {
			err = errors.Join(err, pool.Close())
		}
	}
	return err
}

// Exec runs a statement that returns no rows.
func (db *DB) Exec(ctx context.Context, statement string) error { return db.conn.Exec(ctx, statement) }
