package scale

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// requireNetworks skips the test, and reports it as not run, where networks cannot be created.
func requireNetworks(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("creates network namespaces")
	}
	if err := mayCreate(t.Context()); err != nil {
		testenv.SkipMissing(t, fmt.Sprintf(
			"the simulation of several hosts (network namespaces need root and iproute2: %v)", err,
		))
	}
}

// created returns the links and namespaces of a process.
func created(t *testing.T, pid int) (all []string) {
	t.Helper()
	for _, dir := range []string{"/sys/class/net", "/run/netns"} {
		paths, err := filepath.Glob(fmt.Sprintf("%s/%s%d*", dir, prefix, pid))
		require.NoError(t, err)
		all = append(all, paths...)
	}
	return all
}

// ping reports whether one host reaches an address.
func (v *network) ping(t *testing.T, i int, address string) bool {
	t.Helper()
	const dial = `exec 3<>/dev/tcp/%s/1 2>&1` // is refused if the packets arrive
	out, _ := v.Wrap(i, exec.Command("timeout", "1", "bash", "-c", fmt.Sprintf(dial, address))).CombinedOutput()
	return strings.Contains(string(out), "refused")
}

func TestHostsReachEachOtherUnlessTheyAreCutOff(t *testing.T) {
	requireNetworks(t)
	ctx := t.Context()
	v, err := newNetwork(ctx, 2)
	require.NoError(t, err)
	t.Cleanup(func() { _ = v.Close() })
	reached := func() [3]bool {
		return [3]bool{v.ping(t, 0, v.Address(1)), v.ping(t, 1, v.Address(0)), v.ping(t, 0, v.Gateway())}
	}
	require.Equal(t, [3]bool{true, true, true}, reached())
	require.NoError(t, v.Cut(ctx, 0))
	require.Equal(t, [3]bool{}, reached())
	require.NoError(t, v.Join(ctx, 0))
	require.Equal(t, [3]bool{true, true, true}, reached())
	require.NoError(t, v.Separate(ctx, 0))
	require.Equal(t, [3]bool{false, false, true}, reached())
	require.NoError(t, v.Reunite(ctx, 0))
	require.Equal(t, [3]bool{true, true, true}, reached())

	how, err := v.Slow(ctx, 0)
	require.NoError(t, err)
	t.Log("a slow link:", how)
	require.True(t, v.ping(t, 0, v.Address(1)))
	require.NoError(t, v.Fast(ctx, 0))
	require.NoError(t, v.Close())
	require.Empty(t, created(t, os.Getpid()))
}

// A slow link takes much longer for the same bytes, and drops some packets.
func TestALinkIsSlow(t *testing.T) {
	requireNetworks(t)
	ctx := t.Context()
	v, err := newNetwork(ctx, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	send := func() {
		server, err := net.Listen("tcp", net.JoinHostPort(v.Gateway(), "0"))
		require.NoError(t, err)
		defer func() { _ = server.Close() }()
		_, port, err := net.SplitHostPort(server.Addr().String())
		require.NoError(t, err)
		sent := make(chan error, 1)
		go func() {
			script := fmt.Sprintf("head -c 2000000 /dev/zero >/dev/tcp/%s/%s", v.Gateway(), port)
			sent <- v.Wrap(0, exec.Command("bash", "-c", script)).Run()
		}()
		conn, err := server.Accept()
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, err = bufio.NewReader(conn).Discard(2_000_000)
		require.NoError(t, err)
		require.NoError(t, <-sent)
	}
	send()
	_, err = v.Slow(ctx, 0)
	require.NoError(t, err)
	began := time.Now()
	send()
	require.Greater(t, time.Since(began), time.Second, "2 MB on a link of 4 Mbit/s, or with 40 ms and losses")
	dropped, err := v.Dropped(ctx, 0)
	require.NoError(t, err)
	require.Positive(t, dropped)
}

// crashEnv makes the test binary the process that TestNothingIsLeftAfterACrash kills.
const crashEnv = "LIVEGRAPH_SCALE_CRASH"

// createAndWait creates a network, starts a process on its host, and waits until it is killed.
func createAndWait(out io.Writer) {
	v, err := newNetwork(context.Background(), 1)
	if err == nil {
		err = v.Wrap(0, exec.Command("sleep", "600")).Start()
	}
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return
	}
	_, _ = fmt.Fprintln(out, "created")
	time.Sleep(10 * time.Minute) // a select without cases is a deadlock
}

func TestNothingIsLeftAfterACrash(t *testing.T) {
	requireNetworks(t)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), crashEnv+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "created\n", line)
	pid := cmd.Process.Pid
	require.NotEmpty(t, created(t, pid))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return len(created(t, pid)) == 0 }, time.Minute, 20*time.Millisecond)

	// A remover that was killed, too, leaves its network to the next run.
	require.NoError(t, execute(t.Context(), []string{"ip", "netns", "add", fmt.Sprintf("%s%d-1", prefix, pid)}))
	require.NoError(t, removeLeftovers(t.Context()))
	require.Empty(t, created(t, pid))
}
