package machine

import (
	"cmp"
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sync/singleflight"
)

const (
	maxProcesses = 400
	maxPorts     = 8 // of a process
	// mountTimeout bounds the wait for the file systems: one that does not answer blocks its reader in the kernel.
	mountTimeout = 500 * time.Millisecond
)

// Inventory lists the parts of a machine and its processes. What was never readable is absent.
type Inventory struct {
	Host       host.InfoStat
	Cores      []cpu.InfoStat
	Memory     uint64            // bytes; 0: unknown
	Devices    map[string]string // the disk of each device, itself for a disk; "": a virtual disk
	Mounts     []Mount
	Interfaces []net.InterfaceStat // without those of container engines
	Processes  []*Process          // oldest first; a later survey changes them
}

// Process is a running program.
type Process struct {
	PID, Parent int32
	Name        string
	Program     string // the name that instances share, as in the samples' tag
	User        string // "" if unknown
	Executable  string // path; "" if it may not be read
	Started     time.Time
	// The connections of the process, as far as the system shows them. They are never removed.
	Network bool     // with other machines
	Ports   []uint32 // at which it waits for connections, sorted
}

// Surveyor creates inventories. It is not safe for concurrent use.
type Surveyor struct {
	MinAge time.Duration // from which a process is listed
	parts  Inventory     // of the last survey
	known  map[int32]*Process
}

// Survey creates an inventory, in a tenth of a second. It returns an error if the processes cannot be read.
func (s *Surveyor) Survey(ctx context.Context) (Inventory, error) {
	pids, err := process.PidsWithContext(ctx)
	if err != nil {
		return Inventory{}, err
	}
	var listed []*Process
	known := make(map[int32]*Process, len(pids))
	for _, pid := range pids {
		if p := s.readProcess(ctx, &process.Process{Pid: pid}); p != nil {
			known[pid] = p
			if time.Since(p.Started) >= s.MinAge {
				listed = append(listed, p)
			}
		}
	}
	s.known, s.parts.Processes = known, oldest(listed)
	s.readParts(ctx)
	s.readConnections(ctx)
	return s.parts, ctx.Err()
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
	if mounts, err := readMounts(ctx); err == nil {
		s.parts.Mounts = mounts
	}
	if counters, err := disk.IOCountersWithContext(ctx); err == nil {
		s.parts.Devices = map[string]string{}
		for name := range counters {
			s.parts.Devices[name] = diskOf(name, counters)
		}
	}
	if interfaces, err := net.InterfacesWithContext(ctx); err == nil {
		s.parts.Interfaces = slices.DeleteFunc(interfaces, func(n net.InterfaceStat) bool {
			unused := len(n.Addrs) == 0 && !slices.Contains(n.Flags, "up")
			return unused || strings.HasSuffix(interfaceName(n.Name), "*")
		})
	}
}

// oldest returns at most maxProcesses processes: those that started later are left out.
func oldest(all []*Process) []*Process {
	slices.SortFunc(all, func(a, b *Process) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.PID, b.PID))
	})
	return all[:min(len(all), maxProcesses)]
}

// readProcess reads a process, what does not change only once. It returns nil for a process that ended, that may not be
// read, or that has no command line: a kernel thread or a zombie.
func (s *Surveyor) readProcess(ctx context.Context, proc *process.Process) *Process {
	line, lineErr := proc.CmdlineWithContext(ctx)
	created, createdErr := proc.CreateTimeWithContext(ctx)
	name, nameErr := proc.NameWithContext(ctx)
	if line == "" || errors.Join(lineErr, createdErr, nameErr) != nil {
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

// readConnections reads the sockets of the processes, as far as the system shows them.
func (s *Surveyor) readConnections(ctx context.Context) {
	sockets, _ := net.ConnectionsWithContext(ctx, "tcp")
	for _, c := range sockets {
		switch p := s.known[c.Pid]; {
		case p != nil && c.Status == "LISTEN":
			p.Network = p.Network || !loopback.MatchString(c.Laddr.IP)
			if len(p.Ports) < maxPorts && !slices.Contains(p.Ports, c.Laddr.Port) {
				p.Ports = append(p.Ports, c.Laddr.Port)
				slices.Sort(p.Ports)
			}
		case p != nil && c.Status == "ESTABLISHED":
			p.Network = p.Network || !loopback.MatchString(c.Raddr.IP)
		}
	}
}

// Mount is a mounted file system and how full it is.
type Mount struct {
	disk.UsageStat
	Device string
}

// mountReadings is the reading of the file systems that is in progress.
var mountReadings singleflight.Group

// readMounts reads the mounted file systems without being blocked by them: it waits at most mountTimeout, and does not
// start another reading before the last one ended.
func readMounts(ctx context.Context) ([]Mount, error) {
	select {
	case result := <-mountReadings.DoChan("", func() (any, error) { return awaitMounts(context.WithoutCancel(ctx)) }):
		mounts, _ := result.Val.([]Mount)
		return mounts, result.Err
	case <-time.After(mountTimeout):
		return nil, errors.New("a file system does not answer")
	}
}

// awaitMounts returns the root and one mount for each other device. It omits files that container engines mount, and
// images, which are always full.
func awaitMounts(ctx context.Context) (mounts []Mount, err error) {
	partitions, err := disk.PartitionsWithContext(ctx, false)
	if !slices.ContainsFunc(partitions, func(p disk.PartitionStat) bool { return p.Mountpoint == "/" }) {
		partitions = append(partitions, disk.PartitionStat{Mountpoint: "/", Device: "/"})
	}
	slices.SortStableFunc(partitions, func(a, b disk.PartitionStat) int {
		return cmp.Or(cmp.Compare(len(a.Mountpoint), len(b.Mountpoint)), cmp.Compare(a.Mountpoint, b.Mountpoint))
	})
	devices := map[string]bool{}
	for _, p := range partitions {
		info, statErr := os.Stat(p.Mountpoint)
		image := p.Fstype == "squashfs" || p.Fstype == "iso9660"
		if devices[p.Device] || image || statErr != nil || !info.IsDir() {
			continue
		}
		if usage, err := disk.UsageWithContext(ctx, p.Mountpoint); err == nil && usage.Total > 0 {
			devices[p.Device] = true
			usage.Fstype = cmp.Or(p.Fstype, usage.Fstype)
			mounts = append(mounts, Mount{*usage, strings.TrimPrefix(p.Device, "/dev/")})
		}
	}
	return mounts, err
}

var (
	loopback    = regexp.MustCompile(`^(127\.|::1$|::ffff:127\.)`)
	virtualDisk = regexp.MustCompile(`^(loop|ram|zram|sr|fd)`)
	partition   = regexp.MustCompile(`^(.*?)p?[0-9]+$`) // after the name of its disk: sda1, nvme0n1p1
)

// diskOf returns the disk of a partition, the device itself if it is a disk, or "" for a virtual disk.
func diskOf[T any](device string, all map[string]T) string {
	if virtualDisk.MatchString(device) {
		return ""
	}
	disk := partition.ReplaceAllString(device, "$1")
	if _, ok := all[disk]; ok {
		return disk
	}
	return device
}
