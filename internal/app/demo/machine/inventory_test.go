package machine

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/common"
	gopsnet "github.com/shirou/gopsutil/v4/net"
	"github.com/stretchr/testify/require"
)

func byPID(i Inventory, pid int) *Process {
	n := slices.IndexFunc(i.Processes, func(p *Process) bool { return p.PID == int32(pid) })
	if n < 0 {
		return nil
	}
	return i.Processes[n]
}

func survey(t *testing.T, s *Surveyor) Inventory {
	t.Helper()
	i, err := s.Survey(t.Context())
	require.NoError(t, err)
	return i
}

func TestTheInventoryHasThisMachineAndThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what can be read is known here only for Linux")
	}
	child := exec.Command("sleep", "600")
	require.NoError(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	s := &Surveyor{MinAge: 10 * time.Second}
	i := survey(t, s)
	require.Equal(t, "linux", i.Host.OS)
	require.NotEmpty(t, i.Host.KernelVersion)
	require.Len(t, i.Cores, runtime.NumCPU())
	require.Positive(t, i.Memory)
	require.Equal(t, "/", i.Mounts[0].Path)
	require.Positive(t, i.Mounts[0].Total)
	require.True(t, slices.ContainsFunc(i.Interfaces, func(n gopsnet.InterfaceStat) bool {
		return slices.Contains(n.Flags, "loopback")
	}))
	require.NotEmpty(t, i.Processes)
	require.Nil(t, byPID(i, child.Process.Pid), "it has not settled")

	s.MinAge = 0
	sleeper := byPID(survey(t, s), child.Process.Pid)
	require.NotNil(t, sleeper)
	require.Equal(t, "sleep", sleeper.Name)
	require.Equal(t, int32(os.Getpid()), sleeper.Parent)
	require.NotEmpty(t, sleeper.User)
	require.Equal(t, "sleep", filepath.Base(sleeper.Executable))
	require.WithinDuration(t, time.Now(), sleeper.Started, time.Minute)

	require.NoError(t, child.Process.Kill())
	require.Eventually(t, func() bool {
		return byPID(survey(t, s), child.Process.Pid) == nil
	}, time.Minute, 10*time.Millisecond, "a process that ended and has not been waited for is gone")
}

func TestAnotherProcessWithAPidIsReadAgain(t *testing.T) {
	s := &Surveyor{}
	self := byPID(survey(t, s), os.Getpid())
	require.NotNil(t, self)
	s.known[self.PID] = &Process{PID: self.PID, Name: self.Name, User: "before", Started: self.Started.Add(-time.Hour)}
	require.Equal(t, self.User, byPID(survey(t, s), os.Getpid()).User)
	s.known[self.PID] = &Process{PID: self.PID, Name: "before", Started: self.Started}
	require.Equal(t, self.Name, byPID(survey(t, s), os.Getpid()).Name, "it runs another program now")
}

func TestASurveyReportsWhatAProcessIsConnectedTo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows it to every user")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	s := &Surveyor{}
	self := byPID(survey(t, s), os.Getpid())
	require.NotNil(t, self)
	port := listener.Addr().(*net.TCPAddr).Port
	require.Contains(t, self.Ports, uint32(port))

	require.NoError(t, listener.Close())
	require.Contains(t, byPID(survey(t, s), os.Getpid()).Ports, uint32(port), "it only grows")
	for address, local := range map[string]bool{
		"127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": true, "10.0.0.1": false, "::": false, "::12": false,
	} {
		require.Equal(t, local, loopback.MatchString(address), address)
	}
}

func TestTheNumberOfProcessesIsBoundedAndTheListSteady(t *testing.T) {
	var all []*Process
	for i := range maxProcesses + 50 {
		all = append(all, &Process{PID: int32(i), Started: time.Unix(int64(maxProcesses+50-i), 0)})
	}
	listed := oldest(slices.Clone(all))
	require.Len(t, listed, maxProcesses)
	require.EqualValues(t, maxProcesses+49, listed[0].PID, "the oldest first")
	again := oldest(append(slices.Clone(listed), all[:50]...))
	require.Equal(t, listed, again, "what was listed stays, though others start")
}

func TestWhatCannotBeReadStaysAsItWas(t *testing.T) {
	s := &Surveyor{}
	before := survey(t, s)
	ctx := context.WithValue(t.Context(), common.EnvKey, common.EnvMap{
		common.HostProcEnvKey: t.TempDir(), common.HostSysEnvKey: t.TempDir(),
	})
	s.readParts(ctx)
	require.Equal(t, before.Cores, s.parts.Cores)
	require.Equal(t, before.Devices, s.parts.Devices)
	require.Equal(t, before.Memory, s.parts.Memory)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Survey(ended)
	require.ErrorIs(t, err, context.Canceled, "processes that were not read have not ended")
}

func TestAFileSystemThatDoesNotAnswerBlocksNobody(t *testing.T) {
	answer := make(chan []Mount)
	mountReadings.DoChan("", func() (any, error) { return <-answer, nil }) // a reading is in progress
	for range 2 {
		_, err := readMounts(t.Context())
		require.ErrorContains(t, err, "does not answer")
	}
	go func() { answer <- []Mount{{Device: "late"}} }()
	mounts, err := readMounts(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, mounts)
	mounts, err = readMounts(t.Context())
	require.NoError(t, err)
	require.Equal(t, "/", mounts[0].Path, "it is read again")
}

func BenchmarkSurvey(b *testing.B) {
	s := &Surveyor{MinAge: 10 * time.Second}
	for b.Loop() {
		_, err := s.Survey(b.Context())
		require.NoError(b, err)
	}
}
