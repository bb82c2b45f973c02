package harness

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

// Role is a role that a process of Livegraph can have, and the number of processes that a
// test runs with it.
type Role struct {
	Name  string // as in --roles
	Count int
}

// Roles returns all roles, with two processes of each. A new role must be added here to take
// part in the tests of split processes.
func Roles() []Role {
	return []Role{
		{Name: "api", Count: 2}, {Name: "points", Count: 2}, {Name: "commands", Count: 2}, {Name: "embeddings", Count: 2},
	}
}

// Split is Livegraph as one or more processes per role. Each process has a separate data
// directory and port, and all use the same external engines.
type Split struct {
	ClickHouseURL string // for direct queries

	t      testing.TB
	byRole map[string][]*Server
	all    []*Server
}

// NewSplit prepares the processes on empty engines; Start starts them. kafka contains
// settings, NAME=value, of a Kafka without data of Livegraph; without them it is kfake.
func NewSplit(t testing.TB, binary string, roles []Role, kafka ...string) *Split {
	t.Helper()
	s := &Split{ClickHouseURL: testenv.ClickHouse(t), t: t, byRole: map[string][]*Server{}}
	if len(kafka) == 0 {
		kafka = kafkatest.NewKFake(t).Settings()
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

// ByRole returns the processes of a role.
func (s *Split) ByRole(role string) []*Server { return s.byRole[role] }

// All returns all processes, ordered by role.
func (s *Split) All() []*Server { return s.all }

// Start starts all processes at once on empty engines, waits until all are ready, and sets
// First of each to the first-run.json that one of them has created.
func (s *Split) Start() {
	s.t.Helper()
	for _, server := range s.all {
		server.Launch()
	}
	for _, server := range s.all {
		server.WaitReady()
	}
	initialized := s.firstRuns()
	require.Len(s.t, initialized, 1, "exactly one process sets the installation up")
	require.Contains(s.t, s.byRole["api"], initialized[0], "and it is one with an API")
	first, err := readFirstRun(initialized[0].DataDir)
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

// Restart stops the process with SIGTERM, starts it again, and returns the exit code.
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

// Pause suspends the process, as if its machine stalled. Resume continues it.
func (s *Server) Pause() {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGSTOP))
	testenv.AwaitStopped(s.t, s.PID())
}

// Resume continues a paused process.
func (s *Server) Resume() {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGCONT))
}
