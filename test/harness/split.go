package harness

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// Role is a part of Livegraph that can be its own process, and how many
// such processes a test runs.
type Role struct {
	Name  string // as in --roles
	Count int
}

// Roles are all roles, two processes of each. A new role joins every test of
// split processes by a line here.
func Roles() []Role {
	return []Role{
		{Name: "api", Count: 2}, {Name: "points", Count: 2}, {Name: "commands", Count: 2}, {Name: "embeddings", Count: 2},
	}
}

// Split is Livegraph as processes by role, each with a data directory and a port
// of its own, on one set of engines that none of them owns.
type Split struct {
	ClickHouseURL string // for a look behind the interface

	t      testing.TB
	byRole map[string][]*Server
	all    []*Server
}

// NewSplit prepares the processes on empty engines; Start starts them. The settings
// of Kafka, NAME=value, lead to one that has nothing of theirs; none: it is kfake.
func NewSplit(t testing.TB, binary string, roles []Role, kafka ...string) *Split {
	t.Helper()
	s := &Split{ClickHouseURL: testenv.ClickHouse(t), t: t, byRole: map[string][]*Server{}}
	if len(kafka) == 0 {
		kafka = testenv.NewKFake(t).Settings()
	}
	engines := append(slices.Clone(kafka),
		"LIVEGRAPH_CLICKHOUSE_URL="+s.ClickHouseURL,
		"LIVEGRAPH_POSTGRES_URL="+testenv.Postgres(t),
		"LIVEGRAPH_REDIS_URL="+testenv.Redis(t),
		"LIVEGRAPH_MILVUS_ADDRESS="+testenv.Milvus(t),
	)
	for _, role := range roles {
		for range role.Count {
			server := New(t, binary, "--roles", role.Name)
			server.Env = engines
			s.byRole[role.Name] = append(s.byRole[role.Name], server)
			s.all = append(s.all, server)
		}
	}
	return s
}

// Of returns the processes of a role.
func (s *Split) Of(role string) []*Server { return s.byRole[role] }

// All returns every process, role after role.
func (s *Split) All() []*Server { return s.all }

// Start starts all processes at once, on engines that none has seen before, waits
// until all are ready, and gives each the key that one of them has made.
func (s *Split) Start() {
	s.t.Helper()
	for _, server := range s.all {
		server.Launch()
	}
	for _, server := range s.all {
		server.WaitReady()
	}
	made := s.firstRuns()
	require.Len(s.t, made, 1, "one process sets the installation up, whoever is first")
	require.Contains(s.t, s.byRole["api"], made[0], "and it is one with an API")
	first, err := readFirstRun(made[0].DataDir)
	require.NoError(s.t, err)
	for _, server := range s.all {
		server.First = first
	}
}

// firstRuns returns the processes that have a first-run.json.
func (s *Split) firstRuns() []*Server {
	var made []*Server
	for _, server := range s.all {
		if _, err := os.Stat(filepath.Join(server.DataDir, firstRunFile)); err == nil {
			made = append(made, server)
		}
	}
	return made
}

// Restart stops a process by SIGTERM, gives its exit code, and starts it again.
func (s *Server) Restart() (code int) {
	s.t.Helper()
	code = s.Stop()
	s.Launch()
	s.WaitReady()
	return code
}

// Crash kills the process and starts it again.
func (s *Server) Crash() {
	s.t.Helper()
	s.Kill()
	s.Launch()
	s.WaitReady()
}

// Pause stops the process where it is, as a machine that stalls would; Resume
// lets it go on.
func (s *Server) Pause() {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGSTOP))
}

// Resume lets a paused process go on.
func (s *Server) Resume() {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGCONT))
}
