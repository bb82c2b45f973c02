package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// prefix begins the names of all bridges, links and namespaces; the id of the process that created them
// follows. Names of links have 15 characters at most.
const prefix = "lgs"

// outside is the interface of a host in its namespace.
const outside = "eth0"

// network is a bridge of this machine with a namespace for each host. Close removes all of it; so does the
// end of this process, however it ends.
type network struct {
	bridge  string
	subnet  netip.Prefix
	spaces  []string
	remover *exec.Cmd
	alive   io.Closer // when it is closed, remover removes the network
}

// newNetwork creates a network of n hosts. It first removes those of processes that have ended.
func newNetwork(ctx context.Context, n int) (*network, error) {
	if err := removeLeftovers(ctx); err != nil {
		return nil, err
	}
	pid := os.Getpid()
	v := &network{
		bridge: prefix + strconv.Itoa(pid),
		// The range for measurements of networks (RFC 2544), which nothing else on the machine uses.
		subnet: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18 + byte(pid>>8&1), byte(pid), 0}), 24),
	}
	for i := range n {
		v.spaces = append(v.spaces, v.bridge+"-"+strconv.Itoa(i+1))
	}
	if err := v.startRemover(); err != nil {
		return nil, err
	}
	if err := v.create(ctx); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// startRemover starts a process that waits until this one has closed a pipe or has ended.
func (v *network) startRemover() error {
	script := "cat >/dev/null; ip link del " + v.bridge
	for _, space := range v.spaces {
		// Its processes end with this one, but maybe a moment later; without the namespace, links are removed.
		script += "; ip netns pids " + space + " | xargs -r kill -9; ip link del " + space + "; ip netns del " + space
	}
	v.remover = exec.Command("sh", "-c", "{ "+script+"; } 2>/dev/null; true")
	v.remover.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C does not end it
	var err error
	if v.alive, err = v.remover.StdinPipe(); err != nil {
		return err
	}
	return v.remover.Start()
}

func (v *network) create(ctx context.Context) error {
	commands := [][]string{
		{"ip", "link", "add", v.bridge, "type", "bridge"},
		{"ip", "addr", "add", v.withBits(v.Gateway()), "dev", v.bridge},
		{"ip", "link", "set", v.bridge, "up"},
	}
	for i, space := range v.spaces {
		commands = append(commands,
			[]string{"ip", "netns", "add", space},
			[]string{"ip", "link", "add", space, "type", "veth", "peer", "name", outside, "netns", space},
			[]string{"ip", "link", "set", space, "master", v.bridge, "up"},
			[]string{"ip", "-n", space, "addr", "add", v.withBits(v.Address(i)), "dev", outside},
			[]string{"ip", "-n", space, "link", "set", outside, "up"},
			[]string{"ip", "-n", space, "link", "set", "lo", "up"},
		)
	}
	return execute(ctx, commands...)
}

// Gateway returns the address of this machine.
func (v *network) Gateway() string { return v.address(1) }

// Address returns the address of host i.
func (v *network) Address(i int) string { return v.address(byte(11 + i)) }

func (v *network) address(last byte) string {
	a := v.subnet.Addr().As4()
	a[3] = last
	return netip.AddrFrom4(a).String()
}

func (v *network) withBits(address string) string {
	return address + "/" + strconv.Itoa(v.subnet.Bits())
}

// Wrap returns the command that runs a command on host i.
func (v *network) Wrap(i int, cmd *exec.Cmd) *exec.Cmd {
	wrapped := exec.Command("ip", append([]string{"netns", "exec", v.spaces[i], cmd.Path}, cmd.Args[1:]...)...)
	wrapped.Dir, wrapped.Env = cmd.Dir, cmd.Env
	return wrapped
}

// Cut takes host i from the bridge: frames are lost in both directions, and neither side notices.
func (v *network) Cut(ctx context.Context, i int) error {
	return execute(ctx, []string{"ip", "link", "set", v.spaces[i], "nomaster"})
}

// Join reverts Cut.
func (v *network) Join(ctx context.Context, i int) error {
	return execute(ctx, []string{"ip", "link", "set", v.spaces[i], "master", v.bridge})
}

// Separate makes host i drop what it sends to the other hosts. It reaches this machine and itself.
func (v *network) Separate(ctx context.Context, i int) error { return v.changeRoutes(ctx, i, "add") }

// Reunite reverts Separate.
func (v *network) Reunite(ctx context.Context, i int) error { return v.changeRoutes(ctx, i, "del") }

func (v *network) changeRoutes(ctx context.Context, i int, change string) error {
	var commands [][]string
	for other := range v.spaces {
		if other != i {
			commands = append(commands, []string{
				"ip", "-n", v.spaces[i], "route", change, "blackhole", v.Address(other) + "/32",
			})
		}
	}
	return execute(ctx, commands...)
}

// Slow and lossy links. Where the kernel has no netem, the link has so low a rate that packets wait in its
// queue for up to the latency and are dropped when it is full.
var (
	netem   = []string{"netem", "delay", "40ms", "20ms", "loss", "2%"}
	lowRate = []string{"tbf", "rate", "4mbit", "burst", "16kb", "latency", "200ms"}
)

// Slow makes the link of host i slow and lossy in both directions, and returns how.
func (v *network) Slow(ctx context.Context, i int) (discipline string, err error) {
	for _, how := range [][]string{netem, lowRate} {
		if err = execute(ctx, v.discipline(i, how)...); err == nil {
			return strings.Join(how, " "), nil
		}
	}
	return "", err
}

// Fast reverts Slow.
func (v *network) Fast(ctx context.Context, i int) error {
	return execute(ctx,
		[]string{"tc", "qdisc", "del", "dev", v.spaces[i], "root"},
		[]string{"tc", "-n", v.spaces[i], "qdisc", "del", "dev", outside, "root"},
	)
}

// discipline returns the commands that set the queueing discipline of both ends of the link of host i.
func (v *network) discipline(i int, how []string) [][]string {
	return [][]string{
		append([]string{"tc", "qdisc", "replace", "dev", v.spaces[i], "root"}, how...),
		append([]string{"tc", "-n", v.spaces[i], "qdisc", "replace", "dev", outside, "root"}, how...),
	}
}

// Dropped returns how many packets the queues of host i's link have dropped.
func (v *network) Dropped(ctx context.Context, i int) (dropped int64, err error) {
	for _, command := range [][]string{
		{"tc", "-s", "qdisc", "show", "dev", v.spaces[i]}, {"tc", "-n", v.spaces[i], "-s", "qdisc", "show", "dev", outside},
	} {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
		if m := droppedCount.FindSubmatch(out); m != nil {
			n, _ := strconv.ParseInt(string(m[1]), 10, 64)
			dropped += n
		}
	}
	return dropped, nil
}

var droppedCount = regexp.MustCompile(`dropped (\d+)`)

// Close ends the processes on the hosts and removes the network.
func (v *network) Close() error {
	return errors.Join(v.alive.Close(), v.remover.Wait())
}

// leftover matches the names of bridges and namespaces, with the id of the process that created them.
var leftover = regexp.MustCompile(`^` + prefix + `(\d+)(-\d+)?$`)

// removeLeftovers removes the networks of processes that have ended together with their removers.
func removeLeftovers(ctx context.Context) error {
	var commands [][]string
	for pattern, remove := range map[string][]string{
		"/sys/class/net/" + prefix + "*": {"ip", "link", "del"}, "/run/netns/" + prefix + "*": {"ip", "netns", "del"},
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range paths {
			name := filepath.Base(path)
			m := leftover.FindStringSubmatch(name)
			if m == nil {
				continue
			}
			if _, err := os.Stat("/proc/" + m[1]); errors.Is(err, os.ErrNotExist) {
				commands = append(commands, append(remove[:len(remove):len(remove)], name))
			}
		}
	}
	for _, command := range commands {
		_ = execute(ctx, command) // another run may be removing it, too
	}
	return nil
}

// execute runs commands, until one fails.
func execute(ctx context.Context, commands ...[]string) error {
	for _, command := range commands {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// mayCreate returns an error if this process may not create namespaces and links.
func mayCreate(ctx context.Context) error {
	v, err := newNetwork(ctx, 1)
	if err != nil {
		return err
	}
	return v.Close()
}
