package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheInventoryHasThisMachineAndThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what can be read is known here only for Linux")
	}
	s := NewSurveyor("here", 10*time.Second)
	i := s.Survey(t.Context())
	require.Empty(t, i.Unread)
	require.Equal(t, "here", i.Host.Name)
	require.Equal(t, "linux", i.Host.System)
	require.NotEmpty(t, i.Host.Kernel)
	require.Len(t, i.Cores, runtime.NumCPU())
	require.Positive(t, i.Memory)
	require.Equal(t, "/", i.Mounts[0].Path)
	require.Positive(t, i.Mounts[0].Bytes)
	require.True(t, slices.ContainsFunc(i.Interfaces, func(n Interface) bool { return n.Loopback }))
	require.NotEmpty(t, i.Processes)

	child := exec.Command("sleep", "600")
	require.NoError(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	count := func(at time.Time) (processes []Process) {
		processes, err := s.processes.count(t.Context(), at)
		require.NoError(t, err)
		return processes
	}
	byPID := func(processes []Process, pid int) *Process {
		n := slices.IndexFunc(processes, func(p Process) bool { return p.PID == int32(pid) })
		if n < 0 {
			return nil
		}
		return &processes[n]
	}
	require.Nil(t, byPID(count(time.Now().Add(-time.Minute)), child.Process.Pid), "it has not settled")
	later := count(time.Now().Add(time.Minute))
	sleeper := byPID(later, child.Process.Pid)
	require.NotNil(t, sleeper)
	require.Equal(t, "sleep", sleeper.Name)
	require.Equal(t, int32(os.Getpid()), sleeper.Parent)
	require.NotEmpty(t, sleeper.User)
	require.Equal(t, "sleep", filepath.Base(sleeper.Executable))
	require.WithinDuration(t, time.Now(), sleeper.Started, time.Minute)

	again, err := newCensus(procRoot(), time.Second).count(t.Context(), time.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, sleeper.Birth, byPID(again, child.Process.Pid).Birth, "whoever reads it, and when")

	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	require.Nil(t, byPID(count(time.Now().Add(time.Minute)), child.Process.Pid))
}

func TestAProcessLineIsReadWhateverTheCommandIsCalled(t *testing.T) {
	const rest = " S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 3133440 392\n"
	for _, command := range []string{"cat", "", "a b", "a) S 1 (b", "((", "new\nline"} {
		got, ok := parseStat([]byte("12 (" + command + ")" + rest))
		require.True(t, ok, command)
		require.Equal(t, stat{command: command, state: 'S', parent: 7, flags: 4194560, started: "987654"}, got)
	}
	for _, line := range []string{
		"", "12 cat S 7", ")(", "12 (cat)", "12 (cat) S x" + rest[4:], "12 (cat) S 7 1 1 0 -1 x 1 2 3 4 5 6 7 8 20 0 1 0 9",
	} {
		_, ok := parseStat([]byte(line))
		require.False(t, ok, line)
	}
}

func TestAPidThatIsUsedAgainIsAnotherProcess(t *testing.T) {
	proc := t.TempDir()
	c := newCensus(proc, 0)
	const pid = 1 << 30 // no machine has it
	runs := func(command, started string) Process {
		require.NoError(t, os.MkdirAll(filepath.Join(proc, strconv.Itoa(pid)), 0o700))
		line := strconv.Itoa(pid) + " (" + command + ") S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " + started + " 3133440"
		require.NoError(t, os.WriteFile(filepath.Join(proc, strconv.Itoa(pid), "stat"), []byte(line), 0o600))
		c.visit(t.Context(), pid)
		return c.known[pid].process
	}
	first := runs("cat", "100")
	require.Equal(t, "cat", first.Name)
	require.Equal(t, first, runs("cat", "100"))
	require.NotEqual(t, first.Birth, runs("cat", "200").Birth)
	require.Equal(t, "dog", runs("dog", "200").Name, "it runs another program now")
}

func TestTheNumberOfProcessesIsBoundedAndTheListSteady(t *testing.T) {
	residents := func(n int, listed bool) (all []*resident) {
		for i := range n {
			all = append(all, &resident{listed: listed, process: Process{PID: int32(i), Started: time.Unix(int64(i), 0)}})
		}
		return all
	}
	all := residents(mostProcesses+50, false)
	first := list(slices.Clone(all))
	require.Len(t, first, mostProcesses)
	require.EqualValues(t, 0, first[0].PID, "the oldest first")
	for _, r := range all[:20] { // older ones show up, and leave again
		r.listed = false
	}
	second := list(slices.Clone(all))
	require.Len(t, second, mostProcesses)
	require.EqualValues(t, mostProcesses-1, second[len(second)-1].PID, "what was listed stays")
}

func TestDisksAndPartitionsAreReadFromTheKernelsFolders(t *testing.T) {
	folder := t.TempDir()
	write := func(text string, path ...string) {
		file := filepath.Join(append([]string{folder}, path...)...)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
	}
	write("1000", "sda", "size")
	write("FAST SSD \x1b[2J", "sda", "device", "model")
	write("0", "sda", "queue", "rotational")
	write("600", "sda", "sda1", "size")
	write("1", "sda", "sda1", "partition")
	write("2", "cciss!c0d0", "size")
	write("1", "cciss!c0d0", "queue", "rotational")
	write("1", "cciss!c0d0", "removable")
	write("0", "sdb", "size")
	write("8", "loop0", "size")
	disks, partitions, err := readDisks(folder)
	require.NoError(t, err)
	require.Equal(t, []Disk{
		{Name: "cciss/c0d0", Bytes: 1024, Rotational: true, Removable: true},
		{Name: "sda", Model: "FAST SSD _[2J", Bytes: 512000},
	}, disks)
	require.Equal(t, []Partition{{Name: "sda1", Disk: "sda", Bytes: 307200}}, partitions)

	disks, _, err = readDisks(filepath.Join(folder, "nowhere"))
	require.NoError(t, err)
	require.Empty(t, disks)
	_, _, err = readDisks(filepath.Join(folder, "sda", "size"))
	require.Error(t, err)
}

func BenchmarkSurvey(b *testing.B) {
	s := NewSurveyor("here", 10*time.Second)
	for b.Loop() {
		s.Survey(b.Context())
	}
}
