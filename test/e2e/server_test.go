// Package e2e uses Livegraph as its users do: it builds the binary, starts it on
// an empty directory, speaks HTTP to it, kills it and starts it again.
package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	startLimit = 90 * time.Second
	stopLimit  = 15 * time.Second
)

var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "livegraph-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "livegraph")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/livegraph")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building the binary:", err)
		return 1
	}
	return m.Run()
}

// firstRun is first-run.json.
type firstRun struct {
	WorkspaceID, AdminKey, URL, AdminUser, AdminPassword string
}

// server is the binary at work on a data directory.
type server struct {
	t       *testing.T
	dataDir string
	listen  string
	args    []string
	cmd     *exec.Cmd
	exited  chan error
	log     *os.File
	first   firstRun
	client  *http.Client
}

// newServer prepares a server on a directory of its own; start starts it.
func newServer(t *testing.T, args ...string) *server {
	t.Helper()
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "stdout.log"))
	require.NoError(t, err)
	s := &server{
		t: t, dataDir: filepath.Join(dir, "data"), listen: freeAddress(t), args: args, log: log,
		client: &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
	}
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			s.showLog()
		}
	})
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (s *server) start() {
	s.t.Helper()
	s.launch()
	s.waitReady()
	payload, err := os.ReadFile(filepath.Join(s.dataDir, "first-run.json"))
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(payload, &s.first))
}

// launch starts the process without waiting for it to be ready.
func (s *server) launch() {
	s.t.Helper()
	args := append([]string{"serve", "--data-dir", s.dataDir, "--listen", s.listen}, s.args...)
	s.cmd = exec.Command(binary, args...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	require.NoError(s.t, s.cmd.Start())
	exited := make(chan error, 1)
	s.exited = exited
	cmd := s.cmd
	go func() { exited <- cmd.Wait() }()
}

func (s *server) waitReady() {
	s.t.Helper()
	deadline := time.Now().Add(startLimit)
	for time.Now().Before(deadline) {
		select {
		case err := <-s.exited:
			s.exited <- err
			s.showLog()
			s.t.Fatalf("the server ended while starting: %v", err)
		default:
		}
		response, err := s.client.Get("http://" + s.listen + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.showLog()
	s.t.Fatal("the server did not become ready")
}

// kill ends the process at once, as a crash would.
func (s *server) kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	err := <-s.exited
	s.exited <- err
}

// stop asks the process to end and gives its exit code.
func (s *server) stop() int {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-s.exited:
		s.exited <- err
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		require.NoError(s.t, err)
		return 0
	case <-time.After(stopLimit):
		s.t.Fatal("the server did not stop in time")
		return -1
	}
}

func (s *server) showLog() {
	payload, _ := os.ReadFile(s.log.Name())
	lines := strings.Split(strings.TrimSpace(string(payload)), "\n")
	if len(lines) > 60 {
		lines = lines[len(lines)-60:]
	}
	s.t.Logf("the server's last lines:\n%s", strings.Join(lines, "\n"))
}

// cli runs a subcommand and gives what it printed to stdout.
func (s *server) cli(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(binary, append(args, "--data-dir", s.dataDir)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(s.t, cmd.Run(), "livegraph %s: %s", strings.Join(args, " "), &stderr)
	return stdout.String()
}

// answer is any answer of the API.
type answer struct {
	Status  int             `json:"-"`
	Header  http.Header     `json:"-"`
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   struct {
		Code    string
		Message string
		Details map[string]any
	} `json:"error"`
	RequestID string `json:"requestId"`
}

// try makes a request with the first run's key; a broken connection is an error.
func (s *server) try(method, path string, body []byte) (answer, error) {
	return s.tryAs(s.first.AdminKey, s.first.WorkspaceID, method, path, body)
}

func (s *server) tryAs(key, workspace, method, path string, body []byte) (answer, error) {
	var a answer
	request, err := http.NewRequest(method, "http://"+s.listen+path, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("X-Workspace-Id", workspace)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(request)
	if err != nil {
		return a, err
	}
	defer func() { _ = response.Body.Close() }()
	payload, err := io.ReadAll(response.Body)
	if err != nil {
		return a, err
	}
	a.Status, a.Header = response.StatusCode, response.Header
	if len(payload) == 0 {
		return a, nil
	}
	return a, json.Unmarshal(payload, &a)
}

// do is try that expects an answer of the given status, and decodes its data.
func (s *server) do(method, path string, body any, status int, data any) answer {
	s.t.Helper()
	var payload []byte
	if body != nil {
		var err error
		payload, err = json.Marshal(body)
		require.NoError(s.t, err)
	}
	a, err := s.try(method, path, payload)
	require.NoError(s.t, err)
	require.Equal(s.t, status, a.Status, "%s %s: %+v", method, path, a.Error)
	if data != nil {
		require.NoError(s.t, json.Unmarshal(a.Data, data))
	}
	return a
}
