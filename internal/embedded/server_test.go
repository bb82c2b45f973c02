package embedded_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/test/testenv"
)

// serveVariable makes the test binary be a server over the engines of a data
// directory, for tests that need one to kill.
const serveVariable = "LIVEGRAPH_TEST_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveVariable); dir != "" {
		os.Exit(serve(dir))
	}
	os.Exit(m.Run())
}

// serve starts the engines, prints their addresses as a line of JSON, and stops
// them at SIGTERM.
func serve(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	engines, err := embedded.Start(ctx, embedded.Options{DataDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	at := engines.Addresses()
	if err := json.NewEncoder(os.Stdout).Encode(served{at, at.KafkaSecurity.SASLPassword.Reveal()}); err != nil {
		return 1
	}
	<-ctx.Done()
	if err := engines.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// served is what such a process tells of its engines.
type served struct {
	Addresses     embedded.Addresses
	KafkaPassword string // which the addresses do not write
}

// server is such a process.
type server struct {
	cmd       *exec.Cmd
	addresses embedded.Addresses
	stderr    *strings.Builder
}

// startServer starts one and waits until its engines answer.
func startServer(t *testing.T, dir string, attributes *syscall.SysProcAttr, env ...string) *server {
	t.Helper()
	testenv.NeedsEngines(t)
	// Through a shell, because rights given to another user hold only after an exec.
	s := &server{cmd: exec.Command("/bin/sh", "-c", `exec "$0"`, os.Args[0]), stderr: &strings.Builder{}}
	s.cmd.Env = append(append(os.Environ(), serveVariable+"="+dir), env...)
	s.cmd.SysProcAttr = attributes
	s.cmd.Stderr = s.stderr
	stdout, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		_ = s.cmd.Wait()
		t.Fatalf("the server did not start: %s", s.stderr)
	}
	var at served
	require.NoError(t, json.Unmarshal(line, &at))
	s.addresses = at.Addresses
	s.addresses.KafkaSecurity.SASLPassword = config.Secret(at.KafkaPassword)
	return s
}

// kill ends the server and none of its children.
func (s *server) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait()
}

// stop ends it in order.
func (s *server) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.cmd.Wait(), s.stderr.String())
}

// processesOver lists the processes whose command line or folder is in dir.
func processesOver(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		cwd, _ := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if strings.Contains(string(line), dir) || strings.HasPrefix(cwd, dir) {
			found = append(found, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return found
}

func requireNoneLeft(t *testing.T, dir string, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		left := processesOver(t, dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left after %s:\n%s", within, strings.Join(left, "\n"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}
