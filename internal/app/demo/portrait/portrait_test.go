package portrait

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/mirror"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
)

func lathe() *machine.Inventory {
	started := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	return &machine.Inventory{
		Host: machine.Host{
			Name: "lathe-7", System: "linux", Distribution: "debian 12", Kernel: "6.1", Architecture: "x86_64",
			Virtualization: "kvm",
		},
		Cores:      []machine.Core{{Number: 0, Model: "Xeon"}, {Number: 1, Model: "Xeon"}},
		Memory:     25276510208,
		Disks:      []machine.Disk{{Name: "vda", Bytes: 256 << 30}},
		Partitions: []machine.Partition{{Name: "vda1", Disk: "vda", Bytes: 255 << 30}},
		Mounts: []machine.Mount{
			{Path: "/", Device: "vda1", Type: "ext4", Bytes: 250 << 30, Used: 81},
			{Path: "/mnt", Device: "server:/x", Type: "nfs", Bytes: 1},
		},
		Interfaces: []machine.Interface{
			{Name: "lo", Addresses: []string{"127.0.0.1/8"}, MTU: 65536, Loopback: true, Up: true},
		},
		Processes: []machine.Process{
			{
				PID: 1, Birth: "b:1", Name: "systemd", Program: "systemd", User: "root", Executable: "/sbin/init", Started: started,
			},
			{
				PID: 20, Birth: "b:9", Parent: 1, Name: "postgres", Program: "postgres", User: "postgres",
				Executable: "/usr/bin/postgres", Started: started,
				Network: true, Ports: []int{5432}, Mounts: []string{"/", "/gone"},
			},
			{PID: 21, Birth: "b:9", Parent: 20, Name: "postgres", Program: "postgres", User: "postgres", Started: started},
			{PID: 30, Birth: "b:11", Parent: 999, Name: "orphan", Program: "orphan"},
		},
		Unread: map[string]bool{},
	}
}

func find(t *testing.T, p mirror.Picture, key string) mirror.Node {
	t.Helper()
	i := slices.IndexFunc(p.Nodes, func(n mirror.Node) bool { return n.Key == key })
	require.GreaterOrEqual(t, i, 0, key)
	return p.Nodes[i]
}

func TestAMachineIsDrawnWithItsPartsAndWhatRunsOnIt(t *testing.T) {
	p := Machine(lathe(), nil)
	var edges []string
	for _, e := range p.Edges {
		edges = append(edges, fmt.Sprintf("%s %s %s", e.Source, e.Relation, e.Target))
	}
	require.Equal(t, strings.Split(`processor part_of machine
core/0 part_of processor
core/1 part_of processor
memory part_of machine
storage part_of machine
disk/vda part_of storage
partition/vda1 part_of disk/vda
file-system// part_of storage
file-system// stored_on partition/vda1
file-system//mnt part_of storage
network part_of machine
interface/lo part_of network
user/postgres has_account_on machine
user/root has_account_on machine
program/systemd installed_on machine
program/postgres installed_on machine
program/orphan installed_on machine
process/1/b:1 runs_on machine
process/1/b:1 instance_of program/systemd
process/1/b:1 runs_as user/root
process/20/b:9 runs_on machine
process/20/b:9 instance_of program/postgres
process/20/b:9 runs_as user/postgres
process/20/b:9 talks_over network
process/20/b:9 has_files_on file-system//
process/20/b:9 started_by process/1/b:1
process/21/b:9 runs_on machine
process/21/b:9 instance_of program/postgres
process/21/b:9 runs_as user/postgres
process/21/b:9 started_by process/20/b:9
process/30/b:11 runs_on machine
process/30/b:11 instance_of program/orphan`, "\n"), edges)

	require.Equal(
		t, "Computer lathe-7. It runs debian 12 on x86_64, kernel 6.1, with 2 processor cores and 23.5 GiB of memory. "+
			"It is a guest of kvm. It measures itself: load, processor, memory, disks, network and processes are live data of "+
			"this workspace.",
		find(t, p, MachineKey).Description,
	)
	require.Equal(t, "Running process 20 on lathe-7, an instance of postgres (PostgreSQL, a relational database server), "+
		"started by user postgres from /usr/bin/postgres. It talks over the network: other machines can connect to it at "+
		"port 5432. It has files open on /, /gone.", find(t, p, "process/20/b:9").Description)
	require.Equal(
		t,
		"File system mounted at / of lathe-7: ext4; 250 GiB. 81 % of its disk space is used: it fills up, and little free "+
			"space is left.",
		find(t, p, "file-system//").Description,
	)
	require.Equal(t, "Partition vda1 of disk vda of lathe-7: 255 GiB.", find(t, p, "partition/vda1").Description)
	require.Equal(t, "Program orphan. It was seen running on lathe-7.", find(t, p, "program/orphan").Description)
	types := map[string]bool{}
	for _, n := range p.Nodes {
		types[n.EntityType] = true
		require.NotEmpty(t, n.Name)
		require.NotEmpty(t, n.Description)
		require.NotEmpty(t, n.Kind)
	}
	require.Equal(t, map[string]bool{concept: true, object: true, process: true, actor: true}, types)
}

func TestEverySourceOfTheMachineHasANodeInItsPicture(t *testing.T) {
	p := Machine(lathe(), nil)
	sampler := machine.New("lathe-7", nil)
	defer sampler.Close()
	for _, source := range sampler.Sources() {
		find(t, p, KeyOfSource(source.Kind))
	}
}

func TestWhatCouldNotBeReadIsNotDrawnAsGone(t *testing.T) {
	i := lathe()
	require.True(t, Machine(i, nil).Whole[kindProcess])
	i.Unread[machine.PartProcesses] = true
	p := Machine(i, nil)
	require.False(t, p.Whole[kindProcess])
	require.True(t, p.Whole[kindDisk])
	require.False(t, p.Whole[KindProgram], "programs stay")
	require.False(t, p.Whole[kindUser])
}

func TestProgramsAreBoundedAndThoseThatStandStay(t *testing.T) {
	i := lathe()
	standing := []string{"program/systemd"}
	for n := range mostPrograms - 2 {
		standing = append(standing, fmt.Sprintf("program/old-%d", n))
	}
	p := Machine(i, standing)
	find(t, p, "program/systemd")
	find(t, p, "program/postgres")
	for _, n := range p.Nodes {
		require.NotEqual(t, "program/orphan", n.Key, "there was room for one more")
	}
	for _, e := range p.Edges {
		require.NotEqual(t, "program/orphan", e.Target)
	}
}

func TestADrawingOfABareMachineIsSound(t *testing.T) {
	p := Machine(&machine.Inventory{Host: machine.Host{Name: "x", System: "plan9", Architecture: "mips"}}, nil)
	keys := map[string]bool{}
	for _, n := range p.Nodes {
		keys[n.Key] = true
		require.NotContains(t, n.Description, "  ")
	}
	for _, e := range p.Edges {
		require.True(t, keys[e.Source] && keys[e.Target])
	}
}

func TestTheWeatherIsDrawnByStation(t *testing.T) {
	stations, err := weather.Stations()
	require.NoError(t, err)
	p := Weather(stations)
	require.Len(t, p.Nodes, 3)
	require.Len(t, p.Edges, 2)
	require.Equal(t, "Weather in Seattle", find(t, p, StationKey(&stations[0])).Name)
}

func TestAVersionInItsNameDoesNotHideAProgram(t *testing.T) {
	require.Equal(t, "Python interpreter", whatItIs("python3.11"))
	require.Empty(t, whatItIs("my-own-program"))
}

func TestSizesAreWrittenForPeople(t *testing.T) {
	for bytes, text := range map[uint64]string{
		0: "", 512: "512 B", 1536: "1.5 KiB", 1023 << 30: "1023 GiB", 25276510208: "23.5 GiB", 256 << 30: "256 GiB",
		1 << 60: "1024 PiB",
	} {
		require.Equal(t, text, size(bytes))
	}
}

func ExampleMachine() {
	p := Machine(&machine.Inventory{Host: machine.Host{Name: "lathe-7", System: "linux", Architecture: "arm64"}}, nil)
	fmt.Println(p.Nodes[0].Name, p.Nodes[0].EntityType)
	// Output: lathe-7 object
}
