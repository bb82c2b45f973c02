package postgres

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// oneServer limits the connections of a pool to those of one server, also if its address leads to several in turn. What
// is known of a replica is known of one server.
type oneServer struct{ started atomic.Int64 } // when the server started; 0: the next connection determines the server

// serverKey is the key of the start of a connection's server in its custom data.
const serverKey = "postgres.started"

// use makes a pool use one server.
func (s *oneServer) use(cfg *pgxpool.Config) {
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		var started int64
		err := conn.QueryRow(ctx, `SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint`).Scan(&started)
		conn.PgConn().CustomData()[serverKey] = started
		return err
	}
	cfg.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) {
		started, _ := conn.PgConn().CustomData()[serverKey].(int64)
		return s.started.CompareAndSwap(0, started) || s.started.Load() == started, nil
	}
}

// ForgetServer closes the connections of a replica, see AsReplica, and uses the server that the next connection leads
// to. Until then, the one that was reached first is used.
func (db *DB) ForgetServer() {
	db.pool.Reset()
	db.server.started.Store(0)
}
