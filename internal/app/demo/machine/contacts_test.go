package machine

import (
	"net"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASurveySaysWhatAProcessIsConnectedTo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows it as files")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	file, err := os.Create(t.TempDir() + "/open")
	require.NoError(t, err)
	defer func() { _ = file.Close() }()

	s := NewSurveyor("here", 0)
	survey := func() Process {
		i := s.Survey(t.Context())
		at := slices.IndexFunc(i.Processes, func(p Process) bool { return p.PID == int32(os.Getpid()) })
		require.GreaterOrEqual(t, at, 0)
		return i.Processes[at]
	}
	self := survey()
	port := listener.Addr().(*net.TCPAddr).Port
	require.Contains(t, self.Ports, port)
	require.NotEmpty(t, self.Mounts)

	require.NoError(t, listener.Close())
	s.processes.known[int32(os.Getpid())].contacts.looked = time.Time{}
	require.Contains(t, survey().Ports, port, "what it did it is still known for")
}

func TestSocketsAreReadAsTheKernelWritesThem(t *testing.T) {
	const rest = " 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0"
	for line, want := range map[string]socket{
		"   0: 0100007F:1538 00000000:0000 0A" + rest: {port: 5432},
		"   0: 00000000:1538 00000000:0000 0A" + rest: {
			port: 5432, outside: true,
		},
		"   0: 0100007F:9C40 0100007F:1538 01" + rest:                                                 {},
		"   0: 0A00020F:9C40 08080808:01BB 01" + rest:                                                 {outside: true},
		"   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A" + rest: {port: 80},
		"   0: 0000000000000000FFFF00000100007F:9C40 0000000000000000FFFF00000100007F:0050 01" + rest: {},
	} {
		inode, got, ok := parseSocket(line)
		require.True(t, ok, line)
		require.Equal(t, "4711", inode)
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{
		"", "  sl  local_address rem_address   st", "0: x y 0A" + rest, "   0: 0100007F:1538 00000000:0000 06" + rest,
	} {
		_, _, ok := parseSocket(line)
		require.False(t, ok, line)
	}
}

func TestAFileBelongsToTheFileSystemNearestToIt(t *testing.T) {
	mounts := []Mount{{Path: "/"}, {Path: "/mnt"}, {Path: "/mnt/disk"}}
	for file, want := range map[string]string{
		"/etc/passwd": "/", "/mnt": "/mnt", "/mnt/disk/a": "/mnt/disk", "/mnt/diskette": "/mnt", "/mntx": "/",
		"pipe:[1]": "", "/dev/null": "", "/memfd:x (deleted)": "", "/proc/1/stat": "", "anon_inode:[eventpoll]": "",
	} {
		require.Equal(t, want, mountOf(file, mounts), file)
	}
}

func TestHowFullAFileSystemIsIsSaidAgainWhenItHasChanged(t *testing.T) {
	s := NewSurveyor("here", 0)
	for _, step := range [][2]int{{80, 80}, {81, 80}, {78, 80}, {83, 83}, {82, 83}, {79, 79}} {
		mounts := []Mount{{Path: "/", Used: step[0]}}
		s.steady(mounts)
		require.Equal(t, step[1], mounts[0].Used)
	}
}
