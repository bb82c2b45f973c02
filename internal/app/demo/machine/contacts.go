package machine

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// contactsEvery is how often a process is looked at for what it is connected to;
	// reading its open files costs more than all else that is read of it.
	contactsEvery = time.Minute
	mostOpen      = 512 // open files of a process that are looked at
	mostPorts     = 8   // that are told of a process
	// mostSockets bounds the sockets of the machine that are read.
	mostSockets = 100_000
)

// contacts are what a process is connected to. They only ever grow, so that what a
// process does now and then does not make the graph flicker.
type contacts struct {
	looked  time.Time
	network bool     // it has a connection to another machine, or waits for ones
	ports   []int    // it waits for connections at, sorted
	mounts  []string // file systems on which it has files open, sorted
}

// socket is an internet socket of the kernel's list.
type socket struct {
	port    int  // that it waits at; 0: it does not wait
	outside bool // it is connected to, or reachable from, other machines
}

// look brings up to date what the listed processes are connected to. A system that
// does not show it as files, or not to us, tells nothing.
func (c *census) look(processes []Process, mounts []Mount, now time.Time) {
	if c.proc == "" {
		return
	}
	var sockets map[string]socket
	for i := range processes {
		r := c.known[processes[i].PID]
		if r == nil {
			continue
		}
		if now.Sub(r.contacts.looked) >= contactsEvery {
			if sockets == nil {
				sockets = readSockets(c.proc)
			}
			r.contacts.looked = now
			r.contacts.add(filepath.Join(c.proc, strconv.Itoa(int(processes[i].PID)), "fd"), sockets, mounts)
		}
		processes[i].Network = r.contacts.network
		processes[i].Ports, processes[i].Mounts = slices.Clone(r.contacts.ports), slices.Clone(r.contacts.mounts)
	}
}

// add looks at a process's open files.
func (c *contacts) add(folder string, sockets map[string]socket, mounts []Mount) {
	open, err := os.Open(folder)
	if err != nil {
		return // it ended, or is somebody else's
	}
	defer func() { _ = open.Close() }()
	names, _ := open.Readdirnames(mostOpen)
	for _, name := range names {
		target, err := os.Readlink(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			s, known := sockets[strings.TrimSuffix(inode, "]")]
			c.network = c.network || known && s.outside
			if known && s.port != 0 && len(c.ports) < mostPorts {
				c.ports = insert(c.ports, s.port)
			}
		} else if path := mountOf(target, mounts); path != "" {
			c.mounts = insert(c.mounts, path)
		}
	}
}

// insert puts a value into a sorted list that has each once.
func insert[T cmp.Ordered](list []T, value T) []T {
	i, there := slices.BinarySearch(list, value)
	if there {
		return list
	}
	return slices.Insert(list, i, value)
}

// mountOf returns the path of the file system that a file is on; "" for what is no file
// of one, such as a pipe or a device.
func mountOf(file string, mounts []Mount) (path string) {
	for _, elsewhere := range []string{"/dev", "/proc", "/sys", "/memfd:"} {
		if !strings.HasPrefix(file, "/") || strings.HasPrefix(file, elsewhere) {
			return ""
		}
	}
	for i := range mounts {
		at := strings.TrimSuffix(mounts[i].Path, "/")
		if (file == at || strings.HasPrefix(file, at+"/")) && len(mounts[i].Path) > len(path) {
			path = mounts[i].Path
		}
	}
	return path
}

// readSockets reads the machine's internet sockets by inode.
func readSockets(proc string) map[string]socket {
	sockets := map[string]socket{}
	for _, protocol := range []string{"tcp", "tcp6"} {
		file, err := os.Open(filepath.Join(proc, "net", protocol))
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() && len(sockets) < mostSockets {
			if inode, s, ok := parseSocket(lines.Text()); ok {
				sockets[inode] = s
			}
		}
		_ = file.Close()
	}
	return sockets
}

// parseSocket reads a line of /proc/net/tcp, see proc_net(5): number, local address,
// remote address, state and so on, the inode as the tenth.
func parseSocket(line string) (inode string, s socket, ok bool) {
	const local, remote, state, node = 1, 2, 3, 9
	const established, listening = "01", "0A"
	fields := strings.Fields(line)
	if len(fields) <= node {
		return "", s, false
	}
	address, port, ok := strings.Cut(fields[local], ":")
	if !ok {
		return "", s, false
	}
	number, err := strconv.ParseInt(port, 16, 32)
	if err != nil {
		return "", s, false
	}
	switch fields[state] {
	case listening:
		s = socket{port: int(number), outside: !isLoopback(address)}
	case established:
		far, _, _ := strings.Cut(fields[remote], ":")
		s = socket{outside: !isLoopback(far)}
	default:
		return "", s, false
	}
	return fields[node], s, true
}

// isLoopback reads an address as the kernel writes it: 32-bit words in the machine's
// byte order, which is little-endian wherever this runs in practice; on another it
// tells only that loopback is a network.
func isLoopback(address string) bool {
	if len(address) == 8 {
		return strings.HasSuffix(address, "7F")
	}
	return address == "00000000000000000000000001000000" ||
		strings.HasPrefix(address, "0000000000000000FFFF0000") && strings.HasSuffix(address, "7F")
}
