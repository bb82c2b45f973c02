package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/replica"
)

const (
	minPostgresVersion = 140000
	// maxConnectionShare is the share of max_connections above which the connections
	// of another process may be rejected.
	maxConnectionShare = 0.8
)

func checkPostgres(ctx context.Context, t Target) []Result {
	if t.PostgresURL == "" {
		return missing("postgres", "LIVEGRAPH_POSTGRES_URL")
	}
	address := redactURL(t.PostgresURL)
	if err := postgres.CheckURL(t.PostgresURL); err != nil {
		return failed("postgres", address, err, "correct LIVEGRAPH_POSTGRES_URL, or the file")
	}
	conn, err := connectPostgres(ctx, t.PostgresURL)
	if err != nil {
		return failed("postgres", address, redactError(err, t.PostgresURL), postgresAdvice(err))
	}
	defer conn.Close(context.WithoutCancel(ctx))
	r := Result{Name: "postgres", Status: OK, Address: address}
	var version, used, maxConnections int
	var disk int64
	var fsync string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int,
		current_setting('fsync'), current_setting('max_connections')::int,
		(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), pg_database_size(current_database())`).
		Scan(&r.Version, &version, &fsync, &maxConnections, &used, &disk)
	if err == nil {
		r.LatencyMS, err = medianLatency(func() error { return conn.Ping(ctx) })
	}
	if err != nil {
		return failed("postgres", address, err, postgresAdvice(err))
	}
	r.DiskBytes = &disk
	r.Detail = fmt.Sprintf("%d of %d connections in use", used, maxConnections)
	if version < minPostgresVersion {
		r.warn("older than what Livegraph is tested with", "upgrade to Postgres 14 or later")
	}
	if fsync != "on" {
		r.warn("fsync is off", "turn it on: a power cut can destroy the database")
	}
	if float64(used) > maxConnectionShare*float64(maxConnections) {
		r.warn("nearly all connections are in use", "raise max_connections, or lower LIVEGRAPH_POSTGRES_MAX_CONNS")
	}
	if err := checkPooler(ctx, conn, t, &r); err != nil {
		return failed("postgres", address, err, postgresAdvice(err))
	}
	return []Result{r}
}

// connectPostgres opens a connection that works through a pooler, too.
func connectPostgres(ctx context.Context, address string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	return pgx.ConnectConfig(ctx, cfg)
}

// checkPooler adds warnings about a pooler in transaction mode, such as PgBouncer, between this process and Postgres.
func checkPooler(ctx context.Context, conn *pgx.Conn, t Target, r *Result) error {
	if t.Postgres.DirectURL == "" {
		shared, err := sharesSession(ctx, conn, t.PostgresURL)
		if shared {
			r.warn("a pooler in transaction mode answers",
				"set LIVEGRAPH_POSTGRES_DIRECT_URL to the URL of Postgres itself, for migrations")
		}
		return err
	}
	var statement, idle string
	err := conn.QueryRow(ctx, `SELECT current_setting('statement_timeout'),
		current_setting('idle_in_transaction_session_timeout')`).Scan(&statement, &idle)
	if err == nil && (statement == "0" || idle == "0") {
		r.warn("Postgres does not end the statements and transactions of clients that are lost",
			"ALTER ROLE … SET statement_timeout = '30s', and likewise lock_timeout and idle_in_transaction_session_timeout")
	}
	direct, connectErr := connectPostgres(ctx, t.Postgres.DirectURL.Reveal())
	if connectErr != nil {
		r.warn("LIVEGRAPH_POSTGRES_DIRECT_URL cannot be used: "+
			redactError(connectErr, t.Postgres.DirectURL.Reveal()).Error(), "correct it: migrations need it")
		return err
	}
	return errors.Join(err, direct.Close(context.WithoutCancel(ctx)))
}

// sharesSession reports whether two connections use the same session of the server, as a pooler in transaction mode
// makes them do when it has no other work.
func sharesSession(ctx context.Context, conn *pgx.Conn, address string) (bool, error) {
	other, err := connectPostgres(ctx, address)
	if err != nil {
		return false, err
	}
	defer other.Close(context.WithoutCancel(ctx))
	var first, second int
	for c, pid := range map[*pgx.Conn]*int{conn: &first, other: &second} {
		if err := c.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(pid); err != nil {
			return false, err
		}
	}
	return first == second, nil
}

// checkPostgresReplica checks the replica, if one is configured. A replica that cannot be used is a warning: the
// primary answers all reads.
func checkPostgresReplica(ctx context.Context, t Target) []Result {
	address := t.Postgres.Replica.URL.Reveal()
	if address == "" || t.PostgresURL == "" {
		return nil
	}
	r := Result{Name: "postgres replica", Status: OK, Address: redactURL(address)}
	lag, err := replicaLag(ctx, t)
	switch {
	case errors.Is(err, replica.ErrLag):
		r.Status, r.Detail = Warning, fmt.Sprintf("lags more than %s: the primary answers all reads", maxReplicaWait)
		r.Advice = "look at pg_stat_replication of the primary, and at the load of the replica"
	case err != nil:
		r.Status, r.Detail = Warning, "is not used: "+redactError(err, address).Error()
		r.Advice = "set LIVEGRAPH_POSTGRES_REPLICA_URL to a streaming replica of LIVEGRAPH_POSTGRES_URL that runs"
	default:
		r.Detail = fmt.Sprintf("had the changes of the primary after %s", lag.Round(time.Millisecond))
	}
	return []Result{r}
}

// maxReplicaWait is the maximum time for which checkPostgresReplica waits for the replica.
const maxReplicaWait = 3 * time.Second

// replicaLag returns how long the replica takes to have what the primary has.
func replicaLag(ctx context.Context, t Target) (time.Duration, error) {
	pooled := postgres.WithDirectURL(t.Postgres.DirectURL.Reveal())
	primary, err := postgres.Open(ctx, t.PostgresURL, 1, pooled)
	if err != nil {
		return 0, err
	}
	defer primary.Close()
	standby, err := postgres.Open(ctx, t.Postgres.Replica.URL.Reveal(), 1, pooled, postgres.AsReplica())
	if err != nil {
		return 0, err
	}
	defer standby.Close()
	return replica.Check(ctx, primary, standby, maxReplicaWait)
}

// postgresTLS has the names of the TLS settings of Postgres, which are parameters of the URL.
var postgresTLS = tlsconfig.Settings{
	Address: "LIVEGRAPH_POSTGRES_URL", CA: "sslrootcert in LIVEGRAPH_POSTGRES_URL",
	Pair: "sslcert and sslkey in LIVEGRAPH_POSTGRES_URL",
}

// postgresAdvice returns the advice for a connection error.
func postgresAdvice(err error) string {
	if advice := postgresTLS.Advice(err); advice != "" {
		return advice
	}
	if strings.Contains(err.Error(), "server refused TLS connection") {
		return "turn on ssl in the server, or set sslmode=disable in LIVEGRAPH_POSTGRES_URL if the network is trusted"
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		switch pgErr.Code {
		case "28P01", "28000":
			return "correct user and password in LIVEGRAPH_POSTGRES_URL, and the server's pg_hba.conf"
		case "3D000":
			return "create the database that LIVEGRAPH_POSTGRES_URL names"
		case "53300":
			return "raise the server's max_connections, or lower LIVEGRAPH_POSTGRES_MAX_CONNS"
		case "57P03":
			return "wait: the server is starting, stopping or recovering"
		}
	}
	return reachAdvice("LIVEGRAPH_POSTGRES_URL", logFile("postgres"))
}

// reachAdvice returns the advice for an engine that does not answer.
func reachAdvice(variable, log string) string {
	return fmt.Sprintf("check that it runs and that %s is right; if it is embedded, look into %s", variable, log)
}

// logFile describes the location of the log of an embedded engine.
func logFile(engine string) string { return "logs/" + engine + ".log in the data directory" }

// redactError removes the password of address from the text of an error.
func redactError(err error, address string) error {
	return errors.New(strings.ReplaceAll(err.Error(), address, redactURL(address)))
}
