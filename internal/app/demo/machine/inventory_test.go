package machine

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func byPID(i Inventory, pid int) *Process {
	n := slices.IndexFunc(i.Processes, func(p Process) bool { return p.PID == int32(pid) })
	if n < 0 {
		return nil
	}
	return &i.Processes[n]
}

func TestTheInventoryHasThisMachineAndThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what can be read is known here only for Linux")
	}
	child := exec.Command("sleep", "600")
	require.NoError(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	s := NewSurveyor("here", 10*time.Second)
	i := s.Survey(t.Context())
	for part, unread := range i.Unread {
		require.False(t, unread, part)
	}
	require.Equal(t, "here", i.Name)
	require.Equal(t, "linux", i.Host.OS)
	require.NotEmpty(t, i.Host.KernelVersion)
	require.Len(t, i.Cores, runtime.NumCPU())
	require.Positive(t, i.Memory)
	require.Equal(t, "/", i.Mounts[0].Path)
	require.Positive(t, i.Mounts[0].Bytes)
	require.True(t, slices.ContainsFunc(i.Interfaces, func(n Interface) bool { return n.Loopback }))
	require.NotEmpty(t, i.Processes)
	require.Nil(t, byPID(i, child.Process.Pid), "it has not settled")

	s.minAge = 0
	sleeper := byPID(s.Survey(t.Context()), child.Process.Pid)
	require.NotNil(t, sleeper)
	require.Equal(t, "sleep", sleeper.Name)
	require.Equal(t, int32(os.Getpid()), sleeper.Parent)
	require.NotEmpty(t, sleeper.User)
	require.Equal(t, "sleep", filepath.Base(sleeper.Executable))
	require.WithinDuration(t, time.Now(), sleeper.Started, time.Minute)

	require.NoError(t, child.Process.Kill())
	require.Eventually(t, func() bool {
		return byPID(s.Survey(t.Context()), child.Process.Pid) == nil
	}, 10*time.Second, 10*time.Millisecond, "a process that ended and has not been waited for is gone")
}

func TestAnotherProcessWithAPidIsReadAgain(t *testing.T) {
	s := NewSurveyor("here", 0)
	self := byPID(s.Survey(t.Context()), os.Getpid())
	require.NotNil(t, self)
	s.known[self.PID] = &Process{PID: self.PID, Name: self.Name, User: "before", Started: self.Started.Add(-time.Hour)}
	require.Equal(t, self.User, byPID(s.Survey(t.Context()), os.Getpid()).User)
	s.known[self.PID] = &Process{PID: self.PID, Name: "before", Started: self.Started}
	require.Equal(t, self.Name, byPID(s.Survey(t.Context()), os.Getpid()).Name, "it runs another program now")
}

func TestASurveyReportsWhatAProcessIsConnectedTo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows it to every user")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	file, err := os.Create(t.TempDir() + "/open")
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	s := NewSurveyor("here", 0)
	self := byPID(s.Survey(t.Context()), os.Getpid())
	require.NotNil(t, self)
	port := listener.Addr().(*net.TCPAddr).Port
	require.Contains(t, self.Ports, port)
	require.NotEmpty(t, self.Mounts)

	require.NoError(t, listener.Close())
	s.connectionsReadAt = time.Time{}
	require.Contains(t, byPID(s.Survey(t.Context()), os.Getpid()).Ports, port, "it only grows")
	require.True(t, loopback("127.0.0.1") && loopback("::1") && !loopback("10.0.0.1"))
}

func TestTheNumberOfProcessesIsBoundedAndTheListSteady(t *testing.T) {
	s := NewSurveyor("here", 0)
	var all []Process
	for i := range maxProcesses + 50 {
		all = append(all, Process{PID: int32(i), Started: time.Unix(int64(i), 0)})
	}
	first := s.list(slices.Clone(all[20:]))
	require.Len(t, first, maxProcesses)
	require.EqualValues(t, 20, first[0].PID, "the oldest first")
	second := s.list(slices.Clone(all))
	require.Len(t, second, maxProcesses)
	require.EqualValues(t, 20, second[0].PID, "what was listed stays, though older ones appear")
}

func BenchmarkSurvey(b *testing.B) {
	s := NewSurveyor("here", 10*time.Second)
	for b.Loop() {
		s.Survey(b.Context())
	}
}
