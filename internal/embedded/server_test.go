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

// serveVariable makes the test binary run as a server with the engines of a data
// directory, for tests that kill a server.
const serveVariable = "LIVEGRAPH_TEST_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveVariable); dir != "" {
		os.Exit(serve(dir))
	}
	os.Exit(m.Run())
}

// serve starts the engines, prints their addresses as a line of JSON, and stops
// them on SIGTERM.
func serve(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	engines, err := embedded.Start(ctx, embedded.Options{DataDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	addresses := engines.Addresses()
	output := serverOutput{addresses, addresses.KafkaSecurity.SASLPassword.Reveal()}
	if err := json.NewEncoder(os.Stdout).Encode(output); err != nil {
		return 1
	}
	<-ctx.Done()
	if err := engines.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serverOutput is the line that serve prints.
type serverOutput struct {
	Addresses     embedded.Addresses
	KafkaPassword string // not included in the JSON of the addresses
}

// server is a process that runs serve.
type server struct {
	cmd       *exec.Cmd
	addresses embedded.Addresses
	stderr    *strings.Builder
}

// startServer starts a server and waits until its engines are ready.
func startServer(t *testing.T, dir string, attributes *syscall.SysProcAttr, env ...string) *server {
	t.Helper()
	testenv.RequireEngines(t)
	// Use a shell, because capabilities of another user take effect only after an exec.
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
	var output serverOutput
	require.NoError(t, json.Unmarshal(line, &output))
	s.addresses = output.Addresses
	s.addresses.KafkaSecurity.SASLPassword = config.Secret(output.KafkaPassword)
	return s
}

// kill kills the server, but not its children.
func (s *server) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait()
}

// stop stops the server with SIGTERM.
func (s *server) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.cmd.Wait(), s.stderr.String())
}

// processesOf lists the processes with dir in their command line or working directory.
func processesOf(t *testing.T, dir string) []string {
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

func requireNoProcesses(t *testing.T, dir string, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		left := processesOf(t, dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left after %s:\n%s", within, strings.Join(left, "\n"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}
