// Package testenv provides real engines for tests.
//
// Each engine is started once per test binary, when the first test requests it.
// Each call returns a separate database, which is dropped when the test ends.
// The engines end with the test binary, however it ends. The first use on a
// machine installs the engines' packages (see internal/embedded).
//
// A test that stops, restarts or kills an engine must use a separate one: see
// StoppableClickHouse and similar functions.
package testenv

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/test/engines/milvusstandalone"
)

// StartTimeout bounds an engine's start, including the installation of its packages.
const StartTimeout = 10 * time.Minute

// WaitTimeout is how long tests wait for something that happens within a second on an idle machine.
// It is longer than a lease stays held whose holder stopped while acquiring it, which is a minute.
const WaitTimeout = 2 * time.Minute

// DropTimeout bounds the removal of a test's database.
const DropTimeout = 20 * time.Second

var serial atomic.Int64 // makes names unique within the binary

// Folder creates the folder of this test binary's engines once. It also removes the folders
// of binaries that have ended.
var Folder = sync.OnceValues(func() (string, error) {
	base := filepath.Join(os.TempDir(), fmt.Sprintf("livegraph-testenv-%d", os.Getuid()))
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	// Only one binary at a time does this, so that a new folder is locked before another
	// binary removes stale folders.
	baseLock, err := LockFile(filepath.Join(base, "lock"))
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(baseLock) }()
	removeStale(base)
	dir, err := os.MkdirTemp(base, "run-*")
	if err != nil {
		return "", err
	}
	_, err = LockFile(filepath.Join(dir, "lock")) // until the process ends
	return dir, err
})

// LockFile locks a file until the returned descriptor is closed. (The garbage collector would
// close an os.File that is no longer referenced.)
func LockFile(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, err
	}
	return fd, unix.Flock(fd, unix.LOCK_EX)
}

// removeStale removes the folders of test binaries that have ended.
func removeStale(base string) {
	old, _ := filepath.Glob(filepath.Join(base, "run-*", "lock"))
	for _, path := range old {
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = lock.Close()
	}
}

// packages installs the engines' packages, once.
var packages = sync.OnceValues(func() (*install.Packages, error) {
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
	defer cancel()
	return embedded.Install(ctx, PrintProgress)
})

// embedderPackages installs the embedder's packages, which few tests need.
var embedderPackages = sync.OnceValues(func() (*install.Packages, error) {
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
	defer cancel()
	return embedded.InstallEmbedder(ctx, PrintProgress)
})

// standalonePackages installs the packages of Milvus standalone, which only tests use.
var standalonePackages = sync.OnceValues(func() (*install.Packages, error) {
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
	defer cancel()
	return milvusstandalone.Install(ctx, PrintProgress)
})

// PrintProgress prints the progress of an installation.
func PrintProgress(e engine.Event) {
	fmt.Fprintf(os.Stderr, "testenv: %s %s %s\n", e.Engine, e.Phase, e.Detail)
}

// options returns an engine's options. An empty dir selects the shared folder.
func options(name, dir string) (engine.Options, error) {
	installOnce := packages
	switch {
	case strings.HasPrefix(name, embedderName):
		installOnce = embedderPackages
	case name == milvusStandaloneName:
		installOnce = standalonePackages
	}
	pkgs, err := installOnce()
	if err != nil {
		return engine.Options{}, err
	}
	if dir == "" {
		shared, err := Folder()
		if err != nil {
			return engine.Options{}, err
		}
		dir = filepath.Join(shared, name)
	}
	return engine.Options{Dir: dir, Packages: pkgs}, nil
}

// starter returns a function that starts an engine once.
func starter(
	name string, start func(context.Context, engine.Options) (*supervisor.Process, error),
) func() (*supervisor.Process, error) {
	return sync.OnceValues(func() (*supervisor.Process, error) {
		ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
		defer cancel()
		o, err := options(name, "")
		if err != nil {
			return nil, err
		}
		return start(ctx, o)
	})
}

func startPostgres(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	// The data of tests need not survive a power failure, and their passwords no attack. The fewer rounds of
	// hashing save both sides two milliseconds per connection.
	return embedded.StartPostgres(ctx, embedded.PostgresOptions{Options: o, Settings: map[string]string{
		"fsync": "off", "full_page_writes": "off", "scram_iterations": "16", "max_connections": "200",
		"shared_buffers": "64MB",
	}})
}

// startEmbedder starts the embedder with one thread, because tests run in parallel.
func startEmbedder(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	return embedded.StartEmbedder(ctx, embedded.EmbedderOptions{
		Options: o, EmbedderSettings: embedded.EmbedderSettings{Threads: 1},
	})
}

const (
	embedderName = "embedder"
	postgresName = "postgres"
)

var (
	postgresServer = starter(postgresName, startPostgres)
	clickhouse     = starter("clickhouse", startClickHouse)
	clickhouseTwo  = starter("clickhouse-shards", startTwoShards)
	valkey         = starter("valkey", embedded.StartValkey)
	embedder       = starter(embedderName, startEmbedder)
)

// ownedByApplication makes the role that the application logs in with the database's owner.
const ownedByApplication = ` OWNER ` + embedded.PostgresApplication

// Postgres returns the URL of an empty database with the login of its owner, the
// application's role in the embedded edition. It has the same privileges as there.
func Postgres(t testing.TB) string {
	t.Helper()
	server := started(t, postgresServer)
	_, name := postgresDatabase(t, ownedByApplication)
	return withPath(t, server.Address(), name)
}

// PostgresAsSuperuser returns the URL of an empty database that the superuser owns, with the
// superuser's login.
func PostgresAsSuperuser(t testing.TB) string {
	t.Helper()
	started(t, postgresServer)
	superuser, name := postgresDatabase(t, "")
	return withPath(t, superuser, name)
}

// postgresDatabase creates a database and returns its name and the superuser's address.
func postgresDatabase(t testing.TB, options string) (superuser, name string) {
	t.Helper()
	superuser, err := postgresSuperuser()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	name = fmt.Sprintf("test_%d", serial.Add(1))
	execPostgres(t, superuser, createDatabase(name, options))
	t.Cleanup(func() { execPostgres(t, superuser, `DROP DATABASE `+name+` WITH (FORCE)`) })
	return superuser, name
}

// postgresSuperuser returns the address of the superuser of the server that the tests share.
func postgresSuperuser() (string, error) {
	shared, err := Folder()
	if err != nil {
		return "", err
	}
	return embedded.PostgresSuperuser(filepath.Join(shared, postgresName))
}

// ClickHouse returns the URL of an empty database, http://user:password@host:port/database.
func ClickHouse(t testing.TB) string {
	t.Helper()
	return clickhouseDatabase(t, started(t, clickhouse))
}

// Redis returns the URL of an empty database.
func Redis(t testing.TB) string {
	t.Helper()
	server := started(t, valkey)
	n := strconv.FormatInt(serial.Add(1)%redisDatabases, 10)
	address := withPath(t, server.Address(), n)
	flushRedis(t, address)
	return address
}

// RequireEngines skips the test with -short, which excludes tests with engines. Tests that only
// use the in-process broker do not need it.
func RequireEngines(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an engine")
	}
}

// Embedder returns the address of the model all-MiniLM-L6-v2 behind an OpenAI-compatible
// API, http://:key@host:port/v1. It is stateless, and the binary's tests share it.
func Embedder(t testing.TB) string {
	t.Helper()
	return started(t, embedder).Address()
}

// EmbedderWith is Embedder for another model, whose packages it installs.
func EmbedderWith(t testing.TB, model string) string {
	t.Helper()
	start, _ := otherEmbedders.LoadOrStore(model, starter(embedderName+"-"+model, startEmbedderWith(model)))
	return started(t, start.(func() (*supervisor.Process, error))).Address()
}

// otherEmbedders has the function that starts the embedder of each model that a test used.
var otherEmbedders sync.Map

func startEmbedderWith(model string) func(context.Context, engine.Options) (*supervisor.Process, error) {
	return func(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
		o.Packages, o.Progress = nil, PrintProgress // those of the model
		return embedded.StartEmbedder(ctx, embedded.EmbedderOptions{
			Options: o, EmbedderSettings: embedded.EmbedderSettings{Model: model, Threads: 1},
		})
	}
}

func started(t testing.TB, start func() (*supervisor.Process, error)) *supervisor.Process {
	t.Helper()
	RequireEngines(t)
	server, err := start()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return server
}

// withPath replaces a URL's path, which names the database.
func withPath(t testing.TB, address, database string) string {
	t.Helper()
	replaced, err := replacePath(address, database)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return replaced
}

func replacePath(address, path string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	u.Path = "/" + strings.TrimPrefix(path, "/")
	return u.String(), nil
}
