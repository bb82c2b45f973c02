package machine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

const (
	maxProcesses = 400
	maxPorts     = 8 // of a process
	// partsInterval is the time between two readings of the machine's parts and of the processes' connections, which are
	// expensive.
	partsInterval = 30 * time.Second
)

// Inventory lists the parts of a machine and its processes. What was never readable is absent.
type Inventory struct {
	Host       host.InfoStat
	Cores      []cpu.InfoStat
	Memory     uint64            // bytes; 0: unknown
	Devices    map[string]string // the disk of a partition, by the partition's name; "" for a disk
	Mounts     []Mount
	Interfaces []net.InterfaceStat // without those of container engines
	Processes  []*Process          // oldest first; a later survey changes them
}

// Process is a running program.
type Process struct {
	PID        int32
	Parent     int32
	Name       string
	Program    string // the name that instances share, as in the samples' tag
	User       string // "" if unknown
	Executable string // path; "" if it may not be read
	Started    time.Time
	// The connections of the process, as far as the system shows them. They are never removed.
	Network bool     // with other machines
	Ports   []uint32 // at which it waits for connections, sorted
	Mounts  []string // paths of the file systems on which it has files open, sorted
}

// Surveyor creates inventories. It is not safe for concurrent use.
type Surveyor struct {
	minAge      time.Duration
	mounts      mountReader
	parts       Inventory // without processes
	partsReadAt time.Time
	known       map[int32]*Process
}

// NewSurveyor creates a surveyor whose inventories list processes from the age minAge on.
func NewSurveyor(minAge time.Duration) *Surveyor { return &Surveyor{minAge: minAge} }

// Survey creates an inventory, in some milliseconds. It returns an error if the processes cannot be read.
func (s *Surveyor) Survey(ctx context.Context) (Inventory, error) {
	listed, err := s.processes(ctx)
	if err != nil {
		return Inventory{}, err
	}
	if time.Since(s.partsReadAt) >= partsInterval {
		s.readParts(ctx)
		s.readConnections(ctx, listed)
		s.partsReadAt = time.Now()
	}
	i := s.parts
	i.Processes = listed
	return i, nil
}

// readParts reads the parts of the machine. Those that cannot be read stay as they were read last.
func (s *Surveyor) readParts(ctx context.Context) {
	if info, err := host.InfoWithContext(ctx); err == nil {
		s.parts.Host = *info
	}
	if memory, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		s.parts.Memory = memory.Total
	}
	if cores, err := cpu.InfoWithContext(ctx); err == nil {
		s.parts.Cores = cores
	}
	if mounts, err := s.mounts.read(ctx); err == nil {
		s.parts.Mounts = mounts
	}
	if counters, err := disk.IOCountersWithContext(ctx); err == nil {
		s.parts.Devices = map[string]string{}
		for name := range counters {
			if parent := parentDisk(name, counters); parent != name {
				s.parts.Devices[name] = parent
			}
		}
	}
	if interfaces, err := net.InterfacesWithContext(ctx); err == nil {
		s.parts.Interfaces = slices.DeleteFunc(interfaces, func(n net.InterfaceStat) bool {
			unused := len(n.Addrs) == 0 && !slices.Contains(n.Flags, "up")
			return unused || strings.HasSuffix(interfaceName(n.Name), "*")
		})
	}
}

// processes lists the processes from the age minAge on, at most maxProcesses: those that started later are left out.
func (s *Surveyor) processes(ctx context.Context) (listed []*Process, err error) {
	pids, err := process.PidsWithContext(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[int32]*Process, len(pids))
	for _, pid := range pids {
		p := s.readProcess(ctx, &process.Process{Pid: pid})
		if p == nil {
			continue
		}
		known[pid] = p
		if time.Since(p.Started) >= s.minAge {
			listed = append(listed, p)
		}
	}
	s.known = known
	return oldest(listed), ctx.Err()
}

// oldest returns at most maxProcesses processes.
func oldest(all []*Process) []*Process {
	slices.SortFunc(all, func(a, b *Process) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.PID, b.PID))
	})
	return all[:min(len(all), maxProcesses)]
}

// readProcess reads a process. It reads what does not change while the process runs only once. It returns nil for a
// process that ended, that may not be read, or that has no command line: a kernel thread or a zombie.
func (s *Surveyor) readProcess(ctx context.Context, proc *process.Process) *Process {
	line, err := proc.CmdlineWithContext(ctx)
	if err != nil || line == "" {
		return nil
	}
	created, err := proc.CreateTimeWithContext(ctx)
	if err != nil {
		return nil
	}
	name, err := proc.NameWithContext(ctx)
	if err != nil {
		return nil
	}
	started := time.UnixMilli(created).UTC().Truncate(time.Second)
	p := s.known[proc.Pid]
	// Otherwise it is another process with this pid, or another program in this process. The start is computed from the
	// clock and may differ by a second.
	if p == nil || p.Name != name || started.Sub(p.Started).Abs() > 2*time.Second {
		p = &Process{PID: proc.Pid, Name: name, Program: programName(name), Started: started}
		p.User, _ = proc.UsernameWithContext(ctx) // unknown, like the program's path
		path, _ := proc.ExeWithContext(ctx)
		p.Executable = strings.TrimSuffix(path, " (deleted)")
	}
	p.Parent, _ = proc.PpidWithContext(ctx) // 0: unknown
	return p
}

// readConnections reads the sockets and open files of the listed processes, as far as the system shows them.
func (s *Surveyor) readConnections(ctx context.Context, listed []*Process) {
	sockets, _ := net.ConnectionsWithContext(ctx, "tcp")
	for _, c := range sockets {
		p := s.known[c.Pid]
		if p == nil {
			continue
		}
		switch c.Status {
		case "LISTEN":
			p.Network = p.Network || !loopback(c.Laddr.IP)
			if len(p.Ports) < maxPorts {
				p.Ports = insert(p.Ports, c.Laddr.Port)
			}
		case "ESTABLISHED":
			p.Network = p.Network || !loopback(c.Raddr.IP)
		}
	}
	for _, p := range listed {
		files, _ := (&process.Process{Pid: p.PID}).OpenFilesWithContext(ctx)
		for _, file := range files {
			if path := mountOf(file.Path, s.parts.Mounts); path != "" {
				p.Mounts = insert(p.Mounts, path)
			}
		}
	}
}

// insert returns a sorted list with the value.
func insert[T cmp.Ordered](sorted []T, value T) []T {
	i, found := slices.BinarySearch(sorted, value)
	if found {
		return sorted
	}
	return slices.Insert(sorted, i, value)
}

func loopback(address string) bool {
	return strings.HasPrefix(address, "127.") || address == "::1" || strings.HasPrefix(address, "::ffff:127.")
}

// mountOf returns the path of the file system that a file is on; "" for a pipe, a socket or a device.
func mountOf(file string, mounts []Mount) (path string) {
	for _, prefix := range []string{"/dev/", "/proc/", "/sys/", "/memfd:"} {
		if !strings.HasPrefix(file, "/") || strings.HasPrefix(file, prefix) {
			return ""
		}
	}
	for _, m := range mounts {
		if folder := strings.TrimSuffix(m.Path, "/") + "/"; strings.HasPrefix(file+"/", folder) && len(m.Path) > len(path) {
			path = m.Path
		}
	}
	return path
}
