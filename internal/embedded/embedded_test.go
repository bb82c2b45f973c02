package embedded_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestEnginesKeepTheirDataAndAddressesAndComeBackWhenKilled(t *testing.T) {
	testenv.RequireEngines(t)
	dir := filepath.Join(t.TempDir(), "a folder's name, with ü & 100 %?")
	log := &testenv.Output{}
	options := embedded.Options{DataDir: dir, Logger: slog.New(slog.NewTextHandler(log, nil))}
	engines, err := embedded.Start(t.Context(), options)
	require.NoError(t, err)
	first := engines.Addresses()
	for _, s := range stores {
		s.mustWrite(t, first, 1)
	}

	require.NoError(t, engines.Stop(t.Context()))
	requireNoProcesses(t, dir, 0)
	start := time.Now()
	engines, err = embedded.Start(t.Context(), options)
	require.NoError(t, err)
	t.Logf("the second start took %s", time.Since(start))
	t.Cleanup(func() { _ = engines.Stop(context.Background()) })
	require.Equal(t, first, engines.Addresses())
	for _, s := range stores {
		s.mustHave(t, first, 1)
	}

	for _, p := range engines.Processes() {
		s := storeOf(p.Name())
		s.mustWrite(t, first, 2)
		pid := p.PID()
		require.NoError(t, p.Signal(syscall.SIGKILL))
		start := time.Now()
		s.mustHave(t, first, 2)
		require.NotEqual(t, pid, p.PID())
		t.Logf("%s was back after %s", p.Name(), time.Since(start))
		require.Contains(t, log.String(), "engine="+p.Name())
	}
	require.Contains(t, log.String(), "ended unexpectedly")
	require.Contains(t, log.String(), "engine is back")
	requireModes(t, dir)
}

// requireModes checks that only the owner can read the files with passwords.
func requireModes(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"*/endpoint.json", "valkey/valkey.conf", "logs/*.log", "livegraph.lock"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Zero(t, info.Mode().Perm()&0o077, path)
		}
	}
}

func TestNoEngineOutlivesItsServerAndNoneLosesWhatItAcknowledged(t *testing.T) {
	testenv.RequireEngines(t)
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	for _, store := range stores {
		store.mustWrite(t, s.addresses, 1)
	}
	require.GreaterOrEqual(t, len(processesOf(t, dir)), 5)
	s.kill(t)
	requireNoProcesses(t, dir, 2*time.Second)

	s.restartAndKill(t, dir) // and again, immediately after the next start
	again := startServer(t, dir, nil)
	require.Equal(t, s.addresses, again.addresses)
	for _, store := range stores {
		store.mustHave(t, again.addresses, 1)
	}

	_, err := embedded.Start(t.Context(), embedded.Options{DataDir: dir})
	require.ErrorContains(t, err, fmt.Sprintf("in use by a livegraph server, process %d", again.cmd.Process.Pid))
	again.stop(t)
	requireNoProcesses(t, dir, 0)
}

// restartAndKill starts a server on the same data and kills it, so that its engines have no
// time to end before the caller starts the next server.
func (s *server) restartAndKill(t *testing.T, dir string) {
	t.Helper()
	next := startServer(t, dir, nil)
	require.Equal(t, s.addresses, next.addresses)
	next.kill(t)
}

func TestConfiguredEnginesAreNotStarted(t *testing.T) {
	testenv.RequireEngines(t)
	dir := t.TempDir()
	configured := embedded.Addresses{KafkaBrokers: []string{"kafka:9092"}, ClickHouseURL: "clickhouse://c:9000/d",
		PostgresURL: "postgres://p/d", MilvusAddress: "milvus:19530"}
	var mu sync.Mutex
	var events []engine.Event
	engines, err := embedded.Start(
		t.Context(),
		embedded.Options{DataDir: dir, Configured: configured, Progress: func(e engine.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
		}},
	)
	require.NoError(t, err)
	defer func() { _ = engines.Stop(context.Background()) }()

	got := engines.Addresses()
	require.NotEmpty(t, got.RedisURL)
	got.RedisURL = ""
	require.Equal(t, configured, got)
	require.Len(t, engines.Processes(), 1)
	require.NoDirExists(t, filepath.Join(dir, "postgres"))
	require.NoDirExists(t, filepath.Join(dir, "kafka"))
	last := events[len(events)-1]
	require.Equal(t, "valkey", last.Engine)
	require.Equal(t, "ready", last.Phase)
	require.Equal(t, 100, last.Percent)
}

func TestAnEngineWhosePortIsTakenMovesToAnother(t *testing.T) {
	testenv.RequireEngines(t)
	dir := t.TempDir()
	o := engine.Options{Dir: dir}
	p, err := embedded.StartValkey(t.Context(), o)
	require.NoError(t, err)
	address := p.Address()
	require.NoError(t, p.Stop(t.Context()))

	host := address[strings.Index(address, "@")+1 : strings.LastIndex(address, "/")]
	other, err := net.Listen("tcp", host)
	require.NoError(t, err)
	defer other.Close()
	p, err = embedded.StartValkey(t.Context(), o)
	require.NoError(t, err)
	defer func() { _ = p.Stop(context.Background()) }()
	require.NotEqual(t, address, p.Address())
}

func TestAnEngineThatHangsIsStoppedAllTheSame(t *testing.T) {
	p := testenv.StoppableRedis(t)
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	start := time.Now()
	require.NoError(t, p.Stop(t.Context()))
	require.Less(t, time.Since(start), 5*time.Second)
	require.Zero(t, p.PID())

	require.NoError(t, p.Start(t.Context()))
	require.NotZero(t, p.PID())
}

func TestAnEngineThatCannotStartReportsWhyAndStopsTheOthers(t *testing.T) {
	testenv.RequireEngines(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "postgres", "data")
	require.NoError(t, os.MkdirAll(data, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("9.6\n"), 0o600))
	_, err := embedded.Start(t.Context(), embedded.Options{DataDir: dir})
	require.ErrorContains(t, err, "postgres")
	require.ErrorContains(t, err, filepath.Join(dir, "logs", "postgres.log"))
	requireNoProcesses(t, dir, 0)
}

func TestEnginesRunAsAnOrdinaryUser(t *testing.T) {
	testenv.RequireEngines(t)
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED AS ANOTHER USER: we are not root; all other tests ran as an ordinary user")
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(t, err)
	named, err := strconv.Atoi(nobody.Uid)
	require.NoError(t, err)
	packages := reachablePackages(t)
	for name, uid := range map[string]int{"with a name": named, "without a name": 61234} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path := dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
				require.NoError(t, os.Chown(path, uid, uid))
			}
			s := startServer(t, dir, &syscall.SysProcAttr{
				Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)},
				// Go and Python themselves may be in root's home: allow the user to read
				// there. The user can still write only to its own files.
				AmbientCaps: []uintptr{unix.CAP_DAC_READ_SEARCH},
			}, "HOME="+dir, "LIVEGRAPH_ENGINES_DIR="+packages)
			for _, store := range stores {
				store.mustWrite(t, s.addresses, 1)
				store.mustHave(t, s.addresses, 1)
			}
			info, err := os.Stat(filepath.Join(dir, "postgres", "data"))
			require.NoError(t, err)
			require.EqualValues(t, uid, info.Sys().(*syscall.Stat_t).Uid)
			s.stop(t)
			requireNoProcesses(t, dir, 0)
		})
	}
}

// reachablePackages returns a cache with the packages that all users can reach. It uses hard
// links, because the original may be in root's home.
func reachablePackages(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := t.TempDir()
	out, err := exec.Command("cp", "-al", filepath.Join(cache, "livegraph"), dir).CombinedOutput()
	if err != nil { // another file system
		out, err = exec.Command("cp", "-a", filepath.Join(cache, "livegraph"), dir).CombinedOutput()
	}
	require.NoError(t, err, string(out))
	makeTraversable(t, dir)
	return filepath.Join(dir, "livegraph")
}

// makeTraversable allows all users to traverse the path to a folder of the test.
func makeTraversable(t *testing.T, dir string) {
	t.Helper()
	for path := dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		require.NoError(t, os.Chmod(path, 0o755))
	}
}

func TestPostgresStartsForRootWithAndWithoutUserNamespaces(t *testing.T) {
	testenv.RequireEngines(t)
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: only root needs another identity for Postgres")
	}
	public := t.TempDir()
	makeTraversable(t, public)
	t.Setenv("TMPDIR", public)
	private := filepath.Join(t.TempDir(), "private") // only root can traverse it
	require.NoError(t, os.Mkdir(private, 0o700))
	o := embedded.PostgresOptions{Options: engine.Options{Dir: filepath.Join(private, "postgres")}}
	postgres := storeOf("postgres")
	for i, o := range []embedded.PostgresOptions{o.AsNamespace(), o.AsOtherUser(), o.AsNamespace()} {
		p, err := embedded.StartPostgres(t.Context(), o)
		require.NoError(t, err)
		a := embedded.Addresses{PostgresURL: p.Address()}
		postgres.mustWrite(t, a, int64(i))
		postgres.mustHave(t, a, int64(i+1))
		require.NoError(t, p.Stop(t.Context()))
	}
}

// TestPostgresStartsReadOnly checks a start with transactions that are read-only by default, as an
// operator may have configured.
func TestPostgresStartsReadOnly(t *testing.T) {
	testenv.RequireEngines(t)
	dir := filepath.Join(t.TempDir(), "postgres")
	p, err := embedded.StartPostgres(t.Context(), embedded.PostgresOptions{
		Options: engine.Options{Dir: dir},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Stop(context.Background())) }()
	address, err := embedded.PostgresSuperuser(dir)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ALTER SYSTEM SET default_transaction_read_only = on")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, p.Start(t.Context()))
	conn, err = pgx.Connect(t.Context(), p.Address())
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var readOnly string
	require.NoError(t, conn.QueryRow(t.Context(), "SHOW default_transaction_read_only").Scan(&readOnly))
	require.Equal(t, "on", readOnly)
}
