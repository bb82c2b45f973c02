// Package clickhouse is the store of points: its connection and schema, inserts
// (insert.go), deletions and expiry, and the rollups (rollup*.go). Packages below it use
// the connection: timeseries answers the API's queries, auditlog stores audit records,
// dump reads and fills the tables of a backup. Package native encodes rows for all.
//
// It speaks ClickHouse's HTTP interface or its native protocol, as the URL says,
// through one driver. Inserts are bulk only: anyone who calls gathers rows first.
// Everything it writes carries a version and may be written again.
package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// Limits of the connections.
const (
	maxConns        = 16 // of each pool but bulk
	maxIdleConns    = 8
	connLifetime    = time.Hour
	dialTimeout     = 3 * time.Second
	readTimeout     = 5 * time.Minute // one read; statements are bounded by max_execution_time
	maxExecutionSec = 120
	// bulkConns is how many inserts of points run at once: two of the consumer, two of a
	// replay. Their connections are their own, because over the native protocol each keeps
	// a buffer as large as its largest insert: in the common pool every connection would
	// come to have one. So bulkIdleConns of them stay.
	bulkConns     = 4
	bulkIdleConns = 2
	// bulkLifetime is after how long one is replaced, and its buffer with it: what a
	// backlog needed is let go of.
	bulkLifetime = time.Minute
)

// DB is a pool of connections to one database of ClickHouse.
type DB struct {
	conn    driver.Conn
	reads   driver.Conn // for queries: however many wait for one, what is consumed is stored meanwhile
	bulk    driver.Conn // for inserts of points, see bulkConns
	options *ch.Options // how to connect again, for migrations
	send    sendFunc    // rows, over the protocol of the options
	metrics *Metrics
	files   *tlsconfig.Client // see Verified; may be nil
	tracer  tracing.Tracer
	marker  marker // of hours whose rollups do not hold
}

// Option changes how a DB is opened.
type Option func(*DB)

// Measured has the DB measure into m.
func Measured(m *Metrics) Option { return func(db *DB) { db.metrics = m } }

// Verified has a server that is reached by TLS verified by these files, and not as
// the system would.
func Verified(files *tlsconfig.Client) Option { return func(db *DB) { db.files = files } }

// Open connects to the database that the URL names and checks that it answers:
// clickhouse://user:password@host:9000/database, with ?secure=true for TLS, or
// http:// and https:// for ClickHouse's HTTP interface. The caller closes the DB.
func Open(ctx context.Context, address string, changes ...Option) (*DB, error) {
	db := &DB{}
	for _, change := range changes {
		change(db)
	}
	if db.metrics == nil {
		db.metrics = NewMetrics(nil)
	}
	options, err := Driver(address, db.files)
	if err != nil {
		return nil, err
	}
	db.options, db.send = options, sendBatch
	if options.Protocol == ch.HTTP {
		db.send = sendBody
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
	db.metrics.watch("main", db.conn)
	db.metrics.watch("reads", db.reads)
	db.metrics.watch("bulk", db.bulk)
	return db, nil
}

// Ping asks the database for a sign of life.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.conn.Ping(ctx); err != nil {
		return fmt.Errorf("pinging ClickHouse: %w", err)
	}
	return nil
}

// ServerVersion returns the server's version, such as "26.9.1.1".
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
