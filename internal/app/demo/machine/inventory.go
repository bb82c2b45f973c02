package machine

import (
	"context"
	"time"
)

// Inventory is what the machine is made of and what runs on it at one moment: the
// facts that change rarely. How busy it all is, the samples say.
//
// Names are fit to be shown. Arguments and environments of processes are never
// read: they may hold secrets.
type Inventory struct {
	Host       Host
	Cores      []Core
	Memory     uint64 // bytes; 0: unknown
	Swap       uint64 // bytes
	Disks      []Disk
	Partitions []Partition
	Mounts     []Mount
	Interfaces []Interface
	Processes  []Process
	// Unread names the parts (of PartCores and so on) that could not be read this
	// time, and about which the inventory says nothing therefore.
	Unread map[string]bool
}

// The parts of an inventory that are read each by itself.
const (
	PartCores      = "cores"
	PartDisks      = "disks" // and partitions
	PartMounts     = "mounts"
	PartInterfaces = "interfaces"
	PartProcesses  = "processes"
)

// Host is the machine itself.
type Host struct {
	Name           string // as in the sources' names
	System         string // linux, darwin, …
	Distribution   string // debian 12; "" if unknown
	Kernel         string
	Architecture   string
	Virtualization string // kvm, docker, …; "" for none or unknown
}

// Core is one logical processor.
type Core struct {
	Number int
	Model  string // "" if unknown
}

// Disk is a whole block device.
type Disk struct {
	Name       string // vda, nvme0n1
	Model      string // "" if unknown
	Bytes      uint64 // 0: unknown
	Rotational bool
	Removable  bool
}

// Partition is a part of a disk.
type Partition struct {
	Name  string // vda1
	Disk  string // vda
	Bytes uint64
}

// Mount is a file system that is mounted from a device of its own.
type Mount struct {
	Path   string
	Device string // a disk's or partition's name, or whatever else it is mounted from
	Type   string // ext4
	Bytes  uint64 // its size; 0: unknown
	// Used is how much of it is used, in percent. It is told anew when it has changed
	// by some percent.
	Used int
}

// Interface is a network interface.
type Interface struct {
	Name      string
	Hardware  string   // hardware address, "" for none
	Addresses []string // with their prefix lengths, sorted
	MTU       int
	Loopback  bool
	Up        bool
}

// Process is a running program.
type Process struct {
	PID int32
	// Birth tells apart processes that had one pid after the other: it is the same
	// at each reading, and at each start of the demo.
	Birth      string
	Parent     int32
	Name       string
	Program    string // the name that instances share, as in the samples' tag
	User       string // "" if unknown
	Executable string // path; "" if it may not be read
	Started    time.Time
	// What it is connected to, as far as the system shows it; it only grows.
	Network bool     // it is connected to other machines, or they can reach it
	Ports   []int    // at which it waits for connections
	Mounts  []string // paths of the file systems on which it has files open
}

// Surveyor makes inventories. It is used by one goroutine.
type Surveyor struct {
	host      Host
	models    map[int]string // of cores, read once
	processes *census
	used      map[string]int // percent of file systems, as they were told last
}

// NewSurveyor creates a surveyor for a host's name, see [HostName]. Processes count
// from the age settled on: what is gone within seconds would only come and go.
func NewSurveyor(host string, settled time.Duration) *Surveyor {
	return &Surveyor{host: Host{Name: host}, processes: newCensus(procRoot(), settled)}
}

// Survey reads what there is. It takes some milliseconds; a file system that is
// away may make it hang until ctx ends.
func (s *Surveyor) Survey(ctx context.Context) Inventory {
	if s.host.System == "" {
		s.host = readHost(ctx, s.host.Name)
		s.models = coreModels(ctx)
	}
	i := Inventory{Host: s.host, Unread: map[string]bool{}}
	i.Memory, i.Swap = memorySizes(ctx)
	read := func(part string, err error) {
		if err != nil {
			i.Unread[part] = true
		}
	}
	var err error
	i.Cores, err = readCores(ctx, s.models)
	read(PartCores, err)
	i.Disks, i.Partitions, err = readDisks(blockDevices)
	read(PartDisks, err)
	i.Mounts, err = readMounts(ctx)
	read(PartMounts, err)
	s.steady(i.Mounts)
	i.Interfaces, err = readInterfaces(ctx)
	read(PartInterfaces, err)
	i.Processes, err = s.processes.count(ctx, time.Now())
	read(PartProcesses, err)
	s.processes.look(i.Processes, i.Mounts, time.Now())
	return i
}

// usedStep is by how many percent the use of a file system has to change before it is
// told anew.
const usedStep = 3

// steady keeps what was told of how full file systems are while it is near the truth.
func (s *Surveyor) steady(mounts []Mount) {
	used := make(map[string]int, len(mounts))
	for i := range mounts {
		if told, known := s.used[mounts[i].Path]; known && max(told-mounts[i].Used, mounts[i].Used-told) < usedStep {
			mounts[i].Used = told
		}
		used[mounts[i].Path] = mounts[i].Used
	}
	s.used = used
}
