package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/chaos/proxy"
	"github.com/livegraph/livegraph/test/chaos/world"
)

// contended are the tables that are locked: of each path that writes there.
var contended = []string{
	"nodes", "edges", "journal", "undo_entries", "command_outcomes", "command_offsets", "graph_heads", "graph_published",
	"idempotency_keys", "sources", "series", "watermarks", "tombstones", "pending_deletions", "api_keys", "auth_revision",
	"leases", "route_leases", "topic_routes", "auth_changes", "topic_generations", "lexical_nodes", "embedding_progress",
	"dead_letter_marks", "workspaces",
}

// mostConnections bounds those that are opened to use the limit up.
const mostConnections = 200

// postgreses are the faults that only Postgres can have.
func postgreses(w *world.World, s *world.Stores) []Fault {
	e := w.Engine(world.Postgres)
	others := func(function string) func(context.Context, *rand.Rand) (func(context.Context) error, error) {
		return func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
			_, err := s.Postgres.Exec(
				ctx,
				"SELECT "+function+"(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> $1",
				world.Observer,
			)
			return nothing, err
		}
	}
	return []Fault{
		{Kind: "locked/postgres", Lasts: between(200*time.Millisecond, 2*time.Second), Inject: func(
			ctx context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			return lock(ctx, s, dice)
		}},
		{Kind: "terminated/postgres", Lasts: moment, Inject: others("pg_terminate_backend")},
		{Kind: "cancelled/postgres", Lasts: moment, Inject: others("pg_cancel_backend")},
		{Kind: "connections/postgres", Lasts: away, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return useUp(ctx, e.Direct)
		}},
		// A commit of which nobody is told.
		{Kind: "commit-unanswered/postgres", Lasts: away, Inject: func(
			_ context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			return undo(e.Proxy.Apply(proxy.Rule{Cut: proxy.Cut{
				Chance: 0.1 + dice.Float64()/2, Of: proxy.Answer, Holding: []byte("COMMIT\x00"),
			}})), nil
		}},
		// As after a failover to a replica.
		{Kind: "read-only/postgres", Lasts: away, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return readOnly(ctx, e)
		}},
		// Some commands fail for an internal reason, and are dead letters.
		{Kind: "refused-rows/postgres", Lasts: between(time.Second, 4*time.Second), Inject: func(
			ctx context.Context, _ *rand.Rand,
		) (func(context.Context) error, error) {
			return refuseRows(ctx, s)
		}},
		// One of its processes crashes, and it starts all again.
		{Kind: "backend-kill/postgres", Lasts: moment, Inject: func(
			_ context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			if !e.KillPart(dice.IntN) {
				return nil, errAway
			}
			return e.WaitReady, nil
		}},
		{Kind: "restart/postgres", Lasts: moment, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return e.WaitReady, e.Restart(ctx, nil)
		}},
	}
}

// lock takes a table, or all rows of one, so that anyone who writes there waits, fails to
// be serialized, or is in a deadlock with us.
func lock(ctx context.Context, s *world.Stores, dice *rand.Rand) (func(context.Context) error, error) {
	tx, err := s.Postgres.Begin(ctx)
	if err != nil {
		return nil, err
	}
	heal := func(ctx context.Context) error {
		_ = tx.Rollback(ctx) // or the connection is gone, and with it the lock
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for range 1 + dice.IntN(2) {
		table := pgx.Identifier{contended[dice.IntN(len(contended))]}.Sanitize()
		statement := "LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE"
		if dice.IntN(2) == 0 {
			statement = "SELECT FROM " + table + " FOR UPDATE"
		}
		if _, err := tx.Exec(limited, statement); err != nil {
			return heal, err
		}
	}
	return heal, nil
}

// useUp opens connections until there are no more to be had.
func useUp(ctx context.Context, address string) (func(context.Context) error, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = world.Observer
	config.ConnectTimeout = time.Second
	var held []*pgx.Conn
	for range mostConnections {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			break // that is what was wanted
		}
		held = append(held, conn)
	}
	return func(ctx context.Context) error {
		for _, conn := range held {
			_ = conn.Close(ctx)
		}
		return nil
	}, nil
}

// readOnly makes new transactions read-only; heal takes that back.
func readOnly(ctx context.Context, e *world.Engine) (func(context.Context) error, error) {
	heal := func(ctx context.Context) error {
		return insist(ctx, func(ctx context.Context) error {
			return setReadOnly(ctx, e, "RESET default_transaction_read_only")
		})
	}
	return heal, setReadOnly(ctx, e, "SET default_transaction_read_only = on")
}

// refuseRows has new nodes refused that have a word in their name, which only the load's
// commands have that may fail so.
func refuseRows(ctx context.Context, s *world.Stores) (func(context.Context) error, error) {
	limited, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err := s.Postgres.Exec(limited, `ALTER TABLE nodes ADD CONSTRAINT chaos_refused
		CHECK (version > 1 OR name NOT LIKE '%refusable%') NOT VALID`)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42710" { // it is there: another fault's
		return nil, err
	}
	return func(ctx context.Context) error {
		return insist(ctx, func(ctx context.Context) error {
			_, err := s.Postgres.Exec(ctx, `ALTER TABLE nodes DROP CONSTRAINT IF EXISTS chaos_refused`)
			return err
		})
	}, err
}

// setReadOnly changes a setting of the server, as only its superuser may: for whom there is
// a connection left where others have used them up.
func setReadOnly(ctx context.Context, e *world.Engine, change string) error {
	address, err := embedded.PostgresSuperuser(e.Dir)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "ALTER SYSTEM "+change)
	_, reload := conn.Exec(ctx, "SELECT pg_reload_conf()")
	return errors.Join(err, reload)
}
