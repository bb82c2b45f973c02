package hostgraph

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
)

func lathe() *machine.Inventory {
	started := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	return &machine.Inventory{
		Host: host.InfoStat{
			OS: "linux", Platform: "debian", PlatformVersion: "12", KernelVersion: "6.1", KernelArch: "x86_64",
			VirtualizationSystem: "kvm", VirtualizationRole: "guest",
		},
		Cores:   []cpu.InfoStat{{CPU: 0, ModelName: "Xeon"}, {CPU: 1, ModelName: "Xeon"}},
		Memory:  25276510208,
		Devices: map[string]string{"vda": "vda", "vda1": "vda", "loop0": ""},
		Mounts: []machine.Mount{
			{UsageStat: disk.UsageStat{Path: "/", Fstype: "ext4", Total: 250 << 30, UsedPercent: 81.3}, Device: "vda1"},
			{UsageStat: disk.UsageStat{Path: "/mnt", Fstype: "nfs", Total: 1}, Device: "server:/x"},
		},
		Interfaces: []net.InterfaceStat{
			{Name: "lo", Addrs: []net.InterfaceAddr{{Addr: "127.0.0.1/8"}}, Flags: []string{"up", "loopback"}},
		},
		Processes: []*machine.Process{
			{
				PID: 1, Name: "systemd", Program: "systemd", User: "root", Executable: "/sbin/init", Started: started,
			},
			{
				PID: 20, Parent: 1, Name: "postgres", Program: "postgres", User: "postgres",
				Executable: "/usr/bin/postgres", Started: started,
				Network: true, Ports: []uint32{5432},
			},
			{PID: 21, Parent: 20, Name: "postgres", Program: "postgres", User: "postgres", Started: started},
			{PID: 30, Parent: 999, Name: "orphan", Program: "orphan"},
		},
	}
}

func find(t *testing.T, p State, key string) client.NewNode {
	t.Helper()
	require.Contains(t, p.Nodes, key)
	return p.Nodes[key]
}

func TestAMachineIsDrawnWithItsPartsAndWhatRunsOnIt(t *testing.T) {
	p := Host("lathe-7", lathe())
	var edges []string
	for e := range p.Edges {
		edges = append(edges, fmt.Sprintf("%s %s %s", e.Source, e.Relation, e.Target))
	}
	require.ElementsMatch(t, strings.Split(`processor part_of machine
core/0 part_of processor
core/1 part_of processor
memory part_of machine
storage part_of machine
disk/vda part_of storage
file-system// part_of storage
file-system// stored_on disk/vda
file-system//mnt part_of storage
network part_of machine
interface/lo part_of network
user/postgres has_account_on machine
user/root has_account_on machine
program/systemd installed_on machine
program/postgres installed_on machine
program/orphan installed_on machine
process/1/1795244400 runs_on machine
process/1/1795244400 instance_of program/systemd
process/1/1795244400 runs_as user/root
process/20/1795244400 runs_on machine
process/20/1795244400 instance_of program/postgres
process/20/1795244400 runs_as user/postgres
process/20/1795244400 talks_over network
process/20/1795244400 started_by process/1/1795244400
process/21/1795244400 runs_on machine
process/21/1795244400 instance_of program/postgres
process/21/1795244400 runs_as user/postgres
process/21/1795244400 started_by process/20/1795244400
process/30/-62135596800 runs_on machine
process/30/-62135596800 instance_of program/orphan`, "\n"), edges)

	require.Equal(t, "Computer lathe-7: debian 12; x86_64; 2 processor cores; 23.5 GiB of memory; a guest of kvm; it "+
		"measures itself: load, processor, memory, disks, network and processes are live data of this workspace.",
		*find(t, p, MachineKey).Description)
	require.Equal(t, "Running process 20 on lathe-7, an instance of postgres: "+
		"PostgreSQL, a relational database server; started by user postgres; it talks over the network with other "+
		"machines; it waits for connections at port 5432.",
		*find(t, p, "process/20/1795244400").Description)
	require.Equal(t, "File system mounted at / of lathe-7: ext4; 250.0 GiB; 81 % of its disk space is used: it fills up, "+
		"and little free space is left.", *find(t, p, "file-system//").Description)
	require.Equal(t, "Program orphan: it runs on lathe-7.", *find(t, p, "program/orphan").Description)
	types := map[string]bool{}
	for _, n := range p.Nodes {
		types[n.EntityType] = true
		require.NotEmpty(t, n.Name)
		require.NotEmpty(t, n.Description)
		require.NotEmpty(t, n.Properties["kind"])
	}
	require.Equal(t, map[string]bool{"concept": true, "object": true, "process": true, "actor": true}, types)
}

func TestEverySourceOfTheMachineHasANodeInItsState(t *testing.T) {
	p := Host("lathe-7", lathe())
	sampler := machine.NewSampler("lathe-7", nil)
	for _, source := range sampler.Sources() {
		find(t, p, source.NodeID)
	}
}

func TestWellKnownProgramsAreDescribedWhateverTheirVersion(t *testing.T) {
	require.Equal(t, "Python interpreter", about("python3.11"))
	require.Empty(t, about("my-own-program"))
	for line := range strings.Lines(programs) {
		require.Regexp(t, `^[a-z][a-z -]*: \S.*\S\n$`, line)
	}
}

func TestOddNamesAreMadePrintable(t *testing.T) {
	p := Host("lathe-7", &machine.Inventory{
		Mounts: []machine.Mount{{UsageStat: disk.UsageStat{Path: "/odd\xff"}}},
		Processes: []*machine.Process{
			{PID: 1, Name: "bad\x1b\xff", Program: "bad", User: "\xfe", Executable: "/bad\x00"},
			{PID: 2, Program: "bad", User: "\xfe"},
		},
	})
	n := find(t, p, "process/1/-62135596800")
	require.Equal(t, "bad�� 1", n.Name)
	require.Equal(t, "/bad�", textOf(n.Properties["executable"]))
	require.NotContains(t, *n.Description, "\xfe")
	for key, n := range p.Nodes {
		require.True(t, utf8.ValidString(key))
		encode(n.Properties)
	}
	find(t, p, "file-system//odd�")
	require.Contains(t, p.Edges, Edge{"process/1/-62135596800", "user/�", "runs_as"})
}

func TestADrawingOfABareMachineIsSound(t *testing.T) {
	p := Host("x", &machine.Inventory{Host: host.InfoStat{OS: "plan9", KernelArch: "mips"}})
	for _, n := range p.Nodes {
		require.NotContains(t, *n.Description, "  ")
	}
	for e := range p.Edges {
		require.Contains(t, p.Nodes, e.Source)
		require.Contains(t, p.Nodes, e.Target)
	}
}

func TestTheWeatherIsDrawnByStation(t *testing.T) {
	stations, err := weather.Stations()
	require.NoError(t, err)
	p := Weather(stations)
	require.Len(t, p.Nodes, 3)
	require.Len(t, p.Edges, 2)
	require.Equal(t, "Weather in Seattle", find(t, p, stations[0].Source.NodeID).Name)
}

func ExampleHost() {
	p := Host("lathe-7", &machine.Inventory{Host: host.InfoStat{OS: "linux"}})
	fmt.Println(p.Nodes[MachineKey].Name, p.Nodes[MachineKey].EntityType)
	// Output: lathe-7 object
}
