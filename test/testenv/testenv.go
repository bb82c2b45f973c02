// Package testenv gives tests the real engines.
//
// Each engine is started once a test binary, when the first test asks for it,
// and each call gives its own database that is dropped when the test ends.
// The engines die with the test binary, however it ends. The first use on a
// machine installs the engines' packages (see internal/embedded).
//
// A test that stops, restarts or kills an engine takes one of its own: see
// StoppableClickHouse and its like.
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
)

// startTimeout bounds an engine's start, the installation of its packages
// included.
const startTimeout = 10 * time.Minute

// dropTimeout bounds the removal of a test's database.
const dropTimeout = 20 * time.Second

var serial atomic.Int64 // makes names unique within the binary

// folder is where this test binary's engines live. Folders of binaries that are
// gone are removed on the way.
var folder = sync.OnceValues(func() (string, error) {
	base := filepath.Join(os.TempDir(), fmt.Sprintf("livegraph-testenv-%d", os.Getuid()))
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	// One binary at a time: a new folder has its lock before another sweeps.
	turn, err := hold(filepath.Join(base, "lock"))
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(turn) }()
	sweep(base)
	dir, err := os.MkdirTemp(base, "run-*")
	if err != nil {
		return "", err
	}
	_, err = hold(filepath.Join(dir, "lock")) // until the process ends
	return dir, err
})

// hold locks a file for as long as the descriptor is open. (An os.File would be
// closed by the garbage collector once nothing refers to it.)
func hold(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, err
	}
	return fd, unix.Flock(fd, unix.LOCK_EX)
}

// sweep removes what test binaries that are gone left behind.
func sweep(base string) {
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
var packages = sync.OnceValues(func() (*embedded.Packages, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return embedded.Install(ctx, tell)
})

// embedderPackages is the same for the embedder's, which few tests need.
var embedderPackages = sync.OnceValues(func() (*embedded.Packages, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return embedded.InstallEmbedder(ctx, tell)
})

// standalonePackages is the same for Milvus standalone, which is for tests alone.
var standalonePackages = sync.OnceValues(func() (*embedded.Packages, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return embedded.InstallMilvusStandalone(ctx, tell)
})

// tell prints how far an installation is.
func tell(e embedded.Event) {
	fmt.Fprintf(os.Stderr, "testenv: %s %s %s\n", e.Engine, e.Phase, e.Detail)
}

// options makes an engine's options; dir "" means the shared folder.
func options(name, dir string) (embedded.EngineOptions, error) {
	install := packages
	switch name {
	case embedderName:
		install = embedderPackages
	case milvusStandaloneName:
		install = standalonePackages
	}
	pkgs, err := install()
	if err != nil {
		return embedded.EngineOptions{}, err
	}
	if dir == "" {
		shared, err := folder()
		if err != nil {
			return embedded.EngineOptions{}, err
		}
		dir = filepath.Join(shared, name)
	}
	return embedded.EngineOptions{Dir: dir, Packages: pkgs}, nil
}

// starter makes the function that starts an engine once.
func starter(
	name string, start func(context.Context, embedded.EngineOptions) (*embedded.Process, error),
) func() (*embedded.Process, error) {
	return sync.OnceValues(func() (*embedded.Process, error) {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		o, err := options(name, "")
		if err != nil {
			return nil, err
		}
		return start(ctx, o)
	})
}

func startPostgres(ctx context.Context, o embedded.EngineOptions) (*embedded.Process, error) {
	// A test's data need not survive a power cut.
	return embedded.StartPostgres(ctx, embedded.PostgresOptions{EngineOptions: o, Settings: map[string]string{
		"fsync": "off", "max_connections": "200", "shared_buffers": "64MB",
	}})
}

// startEmbedder takes one core: tests run beside each other.
func startEmbedder(ctx context.Context, o embedded.EngineOptions) (*embedded.Process, error) {
	return embedded.StartEmbedder(ctx, embedded.EmbedderOptions{
		EngineOptions: o, EmbedderSettings: embedded.EmbedderSettings{Threads: 1},
	})
}

const (
	embedderName = "embedder"
	postgresName = "postgres"
)

var (
	postgresServer = starter(postgresName, startPostgres)
	clickhouse     = starter("clickhouse", embedded.StartClickHouse)
	valkey         = starter("valkey", embedded.StartValkey)
	embedder       = starter(embedderName, startEmbedder)
)

// ownedByApplication gives a database to the role that the application logs in with.
const ownedByApplication = ` OWNER ` + embedded.PostgresApplication

// Postgres returns the URL of an empty database, whose owner logs in with it: the role of the
// embedded edition's application, which may do no more there than here.
func Postgres(t testing.TB) string {
	t.Helper()
	server := started(t, postgresServer)
	_, name := postgresDatabase(t, ownedByApplication)
	return withPath(t, server.Address(), name)
}

// PostgresAsSuperuser is Postgres of a database that belongs to the superuser, and with that
// one's login.
func PostgresAsSuperuser(t testing.TB) string {
	t.Helper()
	started(t, postgresServer)
	superuser, name := postgresDatabase(t, "")
	return withPath(t, superuser, name)
}

// postgresDatabase makes a database, and gives the address of the superuser and its name.
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
	shared, err := folder()
	if err != nil {
		return "", err
	}
	return embedded.PostgresSuperuser(filepath.Join(shared, postgresName))
}

// ClickHouse returns the URL of an empty database, http://user:password@host:port/database.
func ClickHouse(t testing.TB) string {
	t.Helper()
	server := started(t, clickhouse)
	name := fmt.Sprintf("test_%d", serial.Add(1))
	execClickHouse(t, server.Address(), `CREATE DATABASE `+name)
	t.Cleanup(func() { execClickHouse(t, server.Address(), `DROP DATABASE `+name) })
	return withPath(t, server.Address(), name)
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

// NeedsEngines skips a test that is run with -short, which leaves the engines out.
// The broker inside the process is none.
func NeedsEngines(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an engine")
	}
}

// Embedder returns the address of the model all-MiniLM-L6-v2 behind an OpenAI-compatible
// interface, http://:key@host:port/v1. It keeps nothing, so the binary's tests share it.
func Embedder(t testing.TB) string {
	t.Helper()
	return started(t, embedder).Address()
}

func started(t testing.TB, start func() (*embedded.Process, error)) *embedded.Process {
	t.Helper()
	NeedsEngines(t)
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
