// Package harness runs the built binary for tests and benchmarks as a user would:
// it starts it on a directory, sends HTTP requests, kills it and starts it again.
package harness

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/ports"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 30 * time.Second // the grace period that docs/operations.md names

	firstRunFile = "first-run.json"
)

// FirstRun is the content of first-run.json.
type FirstRun struct {
	WorkspaceID, AdminKey, URL, AdminUser, AdminPassword string
}

// Server is the binary running on a data directory.
type Server struct {
	DataDir string
	Listen  string   // host:port, the same after restarts
	Metrics string   // host:port of the metrics, likewise
	Args    []string // further arguments of serve, for the next start
	Env     []string // further environment, for the next start

	t      testing.TB
	binary string
	scheme string
	cmd    *exec.Cmd
	exited chan error
	log    *os.File
	First  FirstRun
	client *http.Client
}

// New prepares a server on a new directory; Start starts it. With -short the
// test is skipped.
func New(t testing.TB, binary string, args ...string) *Server {
	t.Helper()
	testenv.RequireEngines(t)
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "stdout.log"))
	require.NoError(t, err)
	s := &Server{
		t: t, binary: binary, DataDir: filepath.Join(dir, "data"), Listen: FreeAddress(t), Metrics: FreeAddress(t),
		Args: args, log: log, scheme: "http",
		client: &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
	}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			s.showLog()
		}
	})
	return s
}

// Tenant returns the server for a subtest that uses another workspace. First and the environment of
// commands name that workspace. The subtest must not stop the server.
func (s *Server) Tenant(t testing.TB, workspaceID, adminKey string) *Server {
	tenant := *s
	tenant.t = t
	tenant.First.WorkspaceID, tenant.First.AdminKey = workspaceID, adminKey
	tenant.Env = append(slices.Clone(s.Env), "LIVEGRAPH_WORKSPACE_ID="+workspaceID)
	return &tenant
}

// UseTLS sets the listener's certificate from the next start on, and makes the test's
// client trust these roots.
func (s *Server) UseTLS(cert, key string, roots *x509.CertPool) {
	s.scheme = "https"
	s.Env = append(s.Env, "LIVEGRAPH_TLS_CERT="+cert, "LIVEGRAPH_TLS_KEY="+key)
	s.TrustRoots(roots)
}

// TrustRoots makes the test's client trust other roots, on new connections.
func (s *Server) TrustRoots(roots *x509.CertPool) {
	s.client.CloseIdleConnections()
	s.client.Transport = &http.Transport{
		MaxIdleConnsPerHost: 16, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots},
	}
}

// URL returns the base URL of the server.
func (s *Server) URL() string { return s.scheme + "://" + s.Listen }

// FreeAddress returns an address on the loopback interface that is reserved until the test ends.
func FreeAddress(t testing.TB) string {
	t.Helper()
	address, release, err := ports.Free()
	require.NoError(t, err)
	t.Cleanup(release)
	return address
}

// Start starts the process and waits until it is ready.
func (s *Server) Start() {
	s.t.Helper()
	s.Launch()
	s.WaitReady()
	if s.First.AdminKey != "" {
		return
	}
	var err error
	s.First, err = readFirstRun(s.DataDir)
	require.NoError(s.t, err)
}

func readFirstRun(dataDir string) (first FirstRun, err error) {
	payload, err := os.ReadFile(filepath.Join(dataDir, firstRunFile))
	if err != nil {
		return first, err
	}
	return first, json.Unmarshal(payload, &first)
}

// Launch starts the process without waiting for it to be ready.
func (s *Server) Launch() {
	s.t.Helper()
	args := append(
		[]string{"serve", "--data-dir", s.DataDir, "--listen", s.Listen, "--metrics-listen", s.Metrics}, s.Args...,
	)
	s.cmd = exec.Command(s.binary, args...)
	// The model inside the binary starts at once. A test can set another.
	s.cmd.Env = append(append(os.Environ(), "LIVEGRAPH_EMBEDDER=static"), s.Env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	require.NoError(s.t, s.cmd.Start())
	exited := make(chan error, 1)
	s.exited = exited
	cmd := s.cmd
	go func() { exited <- cmd.Wait() }()
}

// WaitReady waits until /readyz answers 200.
func (s *Server) WaitReady() {
	s.t.Helper()
	deadline := time.Now().Add(startTimeout)
	for time.Now().Before(deadline) {
		select {
		case err := <-s.exited:
			s.exited <- err
			s.showLog()
			s.t.Fatalf("the server ended while starting: %v", err)
		default:
		}
		response, err := s.client.Get(s.URL() + "/readyz")
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

// Kill kills the process with SIGKILL, as in a crash.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	err := <-s.exited
	s.exited <- err
}

// Stop sends SIGTERM to the process and returns its exit code.
func (s *Server) Stop() int {
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
	case <-time.After(stopTimeout):
		s.t.Fatal("the server did not stop in time")
		return -1
	}
}

func (s *Server) showLog() {
	payload, _ := os.ReadFile(s.log.Name())
	lines := strings.Split(strings.TrimSpace(string(payload)), "\n")
	if len(lines) > 60 {
		lines = lines[len(lines)-60:]
	}
	s.t.Logf("the server's last lines:\n%s", strings.Join(lines, "\n"))
}

// CountLogLines returns the number of lines that contain the text in the process's log of all its starts.
func (s *Server) CountLogLines(text string) (lines int) {
	s.t.Helper()
	payload, err := os.ReadFile(s.log.Name())
	require.NoError(s.t, err)
	for line := range strings.Lines(string(payload)) {
		if strings.Contains(line, text) {
			lines++
		}
	}
	return lines
}

// PID returns the process's id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// CLI runs a subcommand on the data directory and returns its standard output. The
// subcommand must succeed.
func (s *Server) CLI(args ...string) string {
	s.t.Helper()
	cmd := s.command(args)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(s.t, cmd.Run(), "livegraph %s: %s", strings.Join(args, " "), &stderr)
	return stdout.String()
}

// RunUntil runs a subcommand until done reports true, ends it as Ctrl-C does, and returns what it
// wrote to its standard output. The subcommand has two minutes.
func (s *Server) RunUntil(done func() bool, args ...string) string {
	s.t.Helper()
	cmd := s.command(args)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(s.t, cmd.Start())
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			require.Fail(s.t, "not done after two minutes", "livegraph %s: %s%s", strings.Join(args, " "), &stdout, &stderr)
		}
	}
	require.NoError(s.t, cmd.Process.Signal(os.Interrupt))
	require.NoError(s.t, cmd.Wait(), "livegraph %s: %s", strings.Join(args, " "), &stderr)
	return stdout.String()
}

// RunCLI runs a subcommand and returns its standard output and error, and its exit code.
func (s *Server) RunCLI(args ...string) (output string, code int) {
	s.t.Helper()
	cmd := s.command(args)
	payload, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(s.t, err)
	}
	return string(payload), cmd.ProcessState.ExitCode()
}

// RunServe runs the server in the foreground, for starts that must fail.
func (s *Server) RunServe() (output string, code int) {
	s.t.Helper()
	return s.RunCLI(append([]string{"serve", "--listen", s.Listen, "--metrics-listen", s.Metrics}, s.Args...)...)
}

func (s *Server) command(args []string) *exec.Cmd {
	cmd := exec.Command(s.binary, append(args, "--data-dir", s.DataDir)...)
	cmd.Env = append(os.Environ(), s.Env...)
	return cmd
}

// Answer is an answer of the API.
type Answer struct {
	Status  int             `json:"-"`
	Header  http.Header     `json:"-"`
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   struct {
		Code    string
		Message string
		Details map[string]any
	} `json:"error"`
	Meta struct {
		Total      int64
		NextCursor string
	} `json:"meta"`
	RequestID string `json:"requestId"`
}

// Try sends a request with the first run's key. A broken connection is an error.
func (s *Server) Try(method, path string, body []byte) (Answer, error) {
	return s.TryAs(s.First.AdminKey, s.First.WorkspaceID, method, path, body)
}

// TryAs is Try with another key and workspace.
func (s *Server) TryAs(key, workspace, method, path string, body []byte) (Answer, error) {
	return s.TryWith(http.Header{"Authorization": {"Bearer " + key}, "X-Workspace-Id": {workspace}}, method, path, body)
}

// TryWith is Try with headers that are added or replaced.
func (s *Server) TryWith(headers http.Header, method, path string, body []byte) (Answer, error) {
	var a Answer
	request, err := http.NewRequest(method, s.URL()+path, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header.Set("Authorization", "Bearer "+s.First.AdminKey)
	request.Header.Set("X-Workspace-Id", s.First.WorkspaceID)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(request.Header, headers)
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

// Do is Try for a request whose answer must have the status. It decodes the answer's data into data.
func (s *Server) Do(method, path string, body any, status int, data any) Answer {
	s.t.Helper()
	var payload []byte
	if body != nil {
		var err error
		payload, err = json.Marshal(body)
		require.NoError(s.t, err)
	}
	a, err := s.Try(method, path, payload)
	require.NoError(s.t, err)
	require.Equal(s.t, status, a.Status, "%s %s: %+v", method, path, a.Error)
	if data != nil {
		require.NoError(s.t, json.Unmarshal(a.Data, data))
	}
	return a
}
