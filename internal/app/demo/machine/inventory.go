package machine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
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
	// connectionsInterval is the time between two readings of the processes' connections, which are expensive.
	connectionsInterval = 30 * time.Second
	// usedStep is the change of a file system's usage, in percent, from which it is reported again.
	usedStep = 3
)

// Inventory lists the parts of a machine and its processes.
type Inventory struct {
	Name       string // of the host, as in the sources' names
	Host       host.InfoStat
	Cores      []Core
	Memory     uint64 // bytes; 0: unknown
	Devices    []Device
	Mounts     []Mount
	Interfaces []Interface
	Processes  []Process // oldest first
	Unread     map[string]bool
}

// The parts of an inventory that may be in Unread: they could not be read.
const (
	PartCores      = "cores"
	PartDevices    = "devices"
	PartMounts     = "mounts"
	PartInterfaces = "interfaces"
	PartProcesses  = "processes"
)

// Core is one logical processor.
type Core struct {
	Number string // as in the tag of its series
	Model  string // "" if unknown
}

// Device is a disk, or a partition of one.
type Device struct {
	Name string // vda, vda1
	Disk string // of which it is a partition; "" for a disk
}

// Mount is a mounted file system.
type Mount struct {
	Path, Device, Type string
	Bytes              uint64
	Used               int // percent; updated when it has changed by at least usedStep
}

// Interface is a network interface.
type Interface struct {
	Name      string
	Addresses []string // with their prefix lengths, sorted
	Loopback  bool
	Up        bool
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
	Ports   []int    // at which it waits for connections
	Mounts  []string // paths of the file systems on which it has files open
}

// Surveyor creates inventories. It is not safe for concurrent use.
type Surveyor struct {
	name              string
	minAge            time.Duration
	host              host.InfoStat
	models            map[string]string
	known             map[int32]*Process
	listed            map[int32]bool
	used              map[string]int
	connectionsReadAt time.Time
}

// NewSurveyor creates a surveyor for a host's name. Inventories list processes from the age minAge on.
func NewSurveyor(name string, minAge time.Duration) *Surveyor {
	return &Surveyor{name: name, minAge: minAge, known: map[int32]*Process{}, used: map[string]int{}}
}

// Survey creates an inventory, in some milliseconds. A file system that does not answer may block it until ctx ends.
func (s *Surveyor) Survey(ctx context.Context) Inventory {
	if s.models == nil {
		s.readOnce(ctx)
	}
	i := Inventory{Name: s.name, Host: s.host, Unread: map[string]bool{}}
	if memory, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		i.Memory = memory.Total
	}
	for part, read := range map[string]func(context.Context, *Inventory) error{
		PartCores: s.cores, PartDevices: devices, PartMounts: s.mounts, PartInterfaces: interfaces,
		PartProcesses: s.processes,
	} {
		i.Unread[part] = read(ctx, &i) != nil
	}
	if now := time.Now(); now.Sub(s.connectionsReadAt) >= connectionsInterval || s.connectionsReadAt.IsZero() {
		s.connectionsReadAt = now
		s.readConnections(ctx, i.Mounts)
	}
	for n := range i.Processes {
		i.Processes[n] = *s.known[i.Processes[n].PID]
	}
	return i
}

func (s *Surveyor) readOnce(ctx context.Context) {
	if info, err := host.InfoWithContext(ctx); err == nil {
		s.host = *info
	}
	s.models = map[string]string{}
	infos, _ := cpu.InfoWithContext(ctx) // without them the models are unknown
	for _, info := range infos {
		s.models[strconv.Itoa(int(info.CPU))] = cleanText(info.ModelName, maxName)
	}
}

func (s *Surveyor) cores(ctx context.Context, i *Inventory) error {
	times, err := cpu.TimesWithContext(ctx, true)
	for n, t := range times {
		number := coreNumber(t, n)
		i.Cores = append(i.Cores, Core{Number: number, Model: cmp.Or(s.models[number], s.models["0"])})
	}
	return err
}

func devices(ctx context.Context, i *Inventory) error {
	counters, err := disk.IOCountersWithContext(ctx)
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		if parent := parentDisk(name, counters); parent != name && len(i.Devices) < maxKeys {
			i.Devices = append(i.Devices, Device{Name: cleanName(name), Disk: parent})
		}
	}
	return err
}

func (s *Surveyor) mounts(ctx context.Context, i *Inventory) error {
	mounts, err := readMounts(ctx)
	for _, m := range mounts {
		used := int(m.UsedPercent)
		if last, ok := s.used[m.Path]; ok && max(last-used, used-last) < usedStep {
			used = last
		}
		s.used[m.Path] = used
		i.Mounts = append(i.Mounts, Mount{
			Path: cleanText(m.Path, maxPath), Device: cleanText(strings.TrimPrefix(m.device, "/dev/"), maxName),
			Type: cleanText(m.Fstype, maxName), Bytes: m.Total, Used: used,
		})
	}
	return err
}

// interfaces lists the network interfaces that are up or have an address, without those of container engines.
func interfaces(ctx context.Context, i *Inventory) error {
	found, err := net.InterfacesWithContext(ctx)
	for _, f := range found {
		n := Interface{
			Name: interfaceName(f.Name), Loopback: slices.Contains(f.Flags, "loopback"), Up: slices.Contains(f.Flags, "up"),
		}
		if strings.HasSuffix(n.Name, "*") || (!n.Up && len(f.Addrs) == 0) {
			continue
		}
		for _, a := range f.Addrs {
			n.Addresses = append(n.Addresses, cleanName(a.Addr))
		}
		slices.Sort(n.Addresses)
		i.Interfaces = append(i.Interfaces, n)
	}
	return err
}

// processes lists the processes from the age minAge on. Processes that were listed before take precedence, then older
// ones.
func (s *Surveyor) processes(ctx context.Context, i *Inventory) error {
	pids, err := process.PidsWithContext(ctx)
	if err != nil {
		return err
	}
	known := make(map[int32]*Process, len(pids))
	var all []Process
	for _, pid := range pids {
		p := s.readProcess(ctx, &process.Process{Pid: pid})
		if p == nil {
			continue
		}
		known[pid] = p
		if s.listed[pid] || time.Since(p.Started) >= s.minAge {
			all = append(all, *p)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.known = known
	i.Processes = s.list(all)
	return nil
}

// list returns at most maxProcesses processes.
func (s *Surveyor) list(all []Process) []Process {
	age := func(a, b Process) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.PID, b.PID)) }
	rank := func(p Process) int {
		if s.listed[p.PID] {
			return 0
		}
		return 1
	}
	slices.SortFunc(all, func(a, b Process) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), age(a, b)) })
	all = all[:min(len(all), maxProcesses)]
	slices.SortFunc(all, age)
	s.listed = make(map[int32]bool, len(all))
	for _, p := range all {
		s.listed[p.PID] = true
	}
	return all
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
	command, err := proc.NameWithContext(ctx)
	if err != nil {
		return nil
	}
	started := time.UnixMilli(created).UTC().Truncate(time.Second)
	p := s.known[proc.Pid]
	// The start is computed from the clock and may differ by a second.
	if p == nil || p.Name != cleanName(command) || started.Sub(p.Started).Abs() > 2*time.Second {
		if p != nil {
			delete(s.listed, proc.Pid) // another process with this pid, or another program in this process
		}
		p = &Process{PID: proc.Pid, Name: cleanName(command), Program: programName(command), Started: started}
		user, _ := proc.UsernameWithContext(ctx) // unknown, like the program's path
		path, _ := proc.ExeWithContext(ctx)
		p.User, p.Executable = cleanText(user, maxName), cleanText(strings.TrimSuffix(path, " (deleted)"), maxPath)
	}
	p.Parent, _ = proc.PpidWithContext(ctx) // 0: unknown
	return p
}

// readConnections reads the sockets and open files of the listed processes, as far as the system shows them.
func (s *Surveyor) readConnections(ctx context.Context, mounts []Mount) {
	sockets, _ := net.ConnectionsWithContext(ctx, "tcp")
	for _, c := range sockets {
		p := s.known[c.Pid]
		if p == nil {
			continue
		}
		switch c.Status {
		case "LISTEN":
			p.Network = p.Network || !loopback(c.Laddr.IP)
			if port := int(c.Laddr.Port); !slices.Contains(p.Ports, port) && len(p.Ports) < maxPorts {
				p.Ports = slices.Sorted(slices.Values(append(slices.Clone(p.Ports), port)))
			}
		case "ESTABLISHED":
			p.Network = p.Network || !loopback(c.Raddr.IP)
		}
	}
	for pid := range s.listed {
		files, _ := (&process.Process{Pid: pid}).OpenFilesWithContext(ctx)
		p := s.known[pid]
		for _, file := range files {
			if path := mountOf(file.Path, mounts); path != "" && !slices.Contains(p.Mounts, path) {
				p.Mounts = slices.Sorted(slices.Values(append(slices.Clone(p.Mounts), path)))
			}
		}
	}
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
