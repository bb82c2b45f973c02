package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/storage/postgres"
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
	conn, err := pgx.Connect(ctx, t.PostgresURL)
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
	return []Result{r}
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
