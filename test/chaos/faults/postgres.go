package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/proxy"
)

// lockedTables are the tables that the fault locks: some of each write path.
var lockedTables = []string{
	"nodes", "edges", "journal", "undo_entries", "command_outcomes", "command_offsets", "graph_heads", "graph_published",
	"idempotency_keys", "sources", "series", "watermarks", "tombstones", "pending_deletions", "api_keys", "auth_revision",
	"leases", "route_leases", "topic_routes", "auth_changes", "topic_generations", "lexical_nodes", "embedding_progress",
	"dead_letter_marks", "workspaces",
}

// maxConnections bounds the connections that are opened to exhaust the limit.
const maxConnections = 200

// postgresFaults returns the faults that are specific to Postgres.
func postgresFaults(env *environment.Environment, s *environment.Stores) []Fault {
	e := env.Engine(environment.Postgres)
	onBackends := func(function string) func(context.Context, *rand.Rand) (func(context.Context) error, error) {
		return func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
			_, err := s.Postgres.Exec(
				ctx,
				"SELECT "+function+"(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> $1",
				environment.ObserverName,
			)
			return noHeal, err
		}
	}
	return []Fault{
		{Kind: "locked/postgres", Lasts: between(200*time.Millisecond, 2*time.Second), Inject: func(
			ctx context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			return lock(ctx, s, dice)
		}},
		{Kind: "terminated/postgres", Lasts: instant, Inject: onBackends("pg_terminate_backend")},
		{Kind: "cancelled/postgres", Lasts: instant, Inject: onBackends("pg_cancel_backend")},
		{Kind: "connections/postgres", Lasts: outage, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return exhaustConnections(ctx, e.Direct)
		}},
		// The commit succeeds, but its answer is lost.
		{Kind: "commit-unanswered/postgres", Lasts: outage, Inject: func(
			_ context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			return healWith(e.Proxy.Apply(proxy.Rule{Cut: proxy.Cut{
				Chance: 0.1 + dice.Float64()/2, Direction: proxy.Answer, Contains: []byte("COMMIT\x00"),
			}})), nil
		}},
		// As after a failover to a replica.
		{Kind: "read-only/postgres", Lasts: outage, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return readOnly(ctx, e)
		}},
		// Some commands fail with an internal error and become dead letters.
		{Kind: "refused-rows/postgres", Lasts: between(time.Second, 4*time.Second), Inject: func(
			ctx context.Context, _ *rand.Rand,
		) (func(context.Context) error, error) {
			return refuseRows(ctx, s)
		}},
		// One backend crashes, and Postgres restarts all of them.
		{Kind: "backend-kill/postgres", Lasts: instant, Inject: func(
			_ context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			if !e.KillChild(dice.IntN) {
				return nil, errNotRunning
			}
			return e.WaitReady, nil
		}},
		{Kind: "restart/postgres", Lasts: instant, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return e.WaitReady, e.Restart(ctx, nil)
		}},
	}
}

// lock locks a table, or all its rows, so that writers wait, fail to serialize, or deadlock with
// it.
func lock(ctx context.Context, s *environment.Stores, dice *rand.Rand) (func(context.Context) error, error) {
	tx, err := s.Postgres.Begin(ctx)
	if err != nil {
		return nil, err
	}
	heal := func(ctx context.Context) error {
		_ = tx.Rollback(ctx) // if the connection is lost, so is the lock
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for range 1 + dice.IntN(2) {
		table := pgx.Identifier{lockedTables[dice.IntN(len(lockedTables))]}.Sanitize()
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

// exhaustConnections opens connections until the server refuses them.
func exhaustConnections(ctx context.Context, address string) (func(context.Context) error, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = environment.ObserverName
	config.ConnectTimeout = time.Second
	var held []*pgx.Conn
	for range maxConnections {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			break // the limit is reached
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

// readOnly makes new transactions read-only; heal resets that.
func readOnly(ctx context.Context, e *environment.Engine) (func(context.Context) error, error) {
	heal := func(ctx context.Context) error {
		return retry(ctx, func(ctx context.Context) error {
			return setReadOnly(ctx, e, "RESET default_transaction_read_only")
		})
	}
	return heal, setReadOnly(ctx, e, "SET default_transaction_read_only = on")
}

// refuseRows makes the database refuse new nodes whose name contains a word that only commands of
// the load have that may fail.
func refuseRows(ctx context.Context, s *environment.Stores) (func(context.Context) error, error) {
	limited, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err := s.Postgres.Exec(limited, `ALTER TABLE nodes ADD CONSTRAINT chaos_refused
		CHECK (version > 1 OR name NOT LIKE '%refusable%') NOT VALID`)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42710" { // the constraint of another fault exists
		return nil, err
	}
	return func(ctx context.Context) error {
		return retry(ctx, func(ctx context.Context) error {
			_, err := s.Postgres.Exec(ctx, `ALTER TABLE nodes DROP CONSTRAINT IF EXISTS chaos_refused`)
			return err
		})
	}, err
}

// setReadOnly changes a setting of the server as superuser, for whom a connection is reserved when
// others have used up the limit.
func setReadOnly(ctx context.Context, e *environment.Engine, change string) error {
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
