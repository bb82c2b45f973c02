package hostgraph

import (
	_ "embed" // the programs
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/bytesize"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

const (
	// MachineKey is the key of the machine's node.
	MachineKey = "machine"
	maxText    = 400 // characters of a name or a path
)

// programs describes well-known programs, a kind on each line, with words that users may search for.
//
//go:embed programs.txt
var programs string

// stateBuilder builds a state.
type stateBuilder struct {
	host string
	State
}

// add adds a node. Its description is a sentence of the subject and the known facts, because search reads it. A fact
// that ends with a space has no value. The kind of the node is the part of the key before the slash.
func (d *stateBuilder) add(key, name, entityType, subject string, facts []string, properties map[string]any) {
	key = output.Printable(key)
	facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == "" || strings.HasSuffix(fact, " ") })
	if len(facts) > 0 {
		subject += ": " + strings.Join(facts, "; ")
	}
	subject = output.Printable(subject) + "."
	kind, _, _ := strings.Cut(key, "/")
	encoded := client.Properties{"kind": encode(kind)}
	for property, value := range properties {
		if text, ok := value.(string); ok {
			value = machine.CleanText(text, maxText)
		}
		if value == "" {
			value = nil
		}
		encoded[property] = encode(value)
	}
	d.Nodes[key] = client.NewNode{
		Name: machine.CleanText(name, maxText), EntityType: entityType, Description: &subject, Properties: encoded,
	}
}

// relate adds an edge if both ends exist.
func (d *stateBuilder) relate(source, relation, target string) {
	if source, target = output.Printable(source), output.Printable(target); has(d.Nodes, source) && has(d.Nodes, target) {
		d.Edges[Edge{source, target, relation}] = true
	}
}

// part adds a part of the machine.
func (d *stateBuilder) part(key, parent, name, title string, facts []string, properties map[string]any) {
	d.add(key, name+" of "+d.host, "object", title+" of "+d.host, facts, properties)
	d.relate(key, "part_of", parent)
}

// Host returns the desired state of a machine.
func Host(host string, i *machine.Inventory) State {
	d := &stateBuilder{host, State{map[string]client.NewNode{}, map[Edge]bool{}}}
	d.machine(i)
	d.storage(i)
	d.network(i)
	d.processes(i.Processes)
	return d.State
}

func (d *stateBuilder) machine(i *machine.Inventory) {
	h := i.Host
	system := strings.TrimSpace(h.Platform + " " + h.PlatformVersion)
	d.add(MachineKey, d.host, "object", "Computer "+d.host, []string{
		system, h.KernelArch, plural.Count(len(i.Cores), "processor core"), bytesize.Format(int64(i.Memory)) + " of memory",
		map[bool]string{true: "a guest of " + h.VirtualizationSystem}[h.VirtualizationRole == "guest"],
		"it measures itself: load, processor, memory, disks, network and processes are live data of this workspace",
	}, map[string]any{"system": h.OS, "distribution": system, "kernel": h.KernelVersion, "architecture": h.KernelArch})
	model := ""
	if len(i.Cores) > 0 {
		model = i.Cores[0].ModelName
	}
	d.part("processor", MachineKey, "Processor", "Processor (CPU)", []string{model, plural.Count(len(i.Cores), "core")},
		map[string]any{"model": model, "cores": len(i.Cores)})
	for _, c := range i.Cores {
		number := strconv.Itoa(int(c.CPU)) // as in the tag of its series
		d.part("core/"+number, "processor", "Core "+number, "Processor core "+number, []string{c.ModelName},
			map[string]any{"number": number, "model": c.ModelName})
	}
	d.part("memory", MachineKey, "Memory", "Main memory (RAM)", []string{bytesize.Format(int64(i.Memory))},
		map[string]any{"bytes": i.Memory})
}

func (d *stateBuilder) storage(i *machine.Inventory) {
	d.part("storage", MachineKey, "Storage", "Disks and file systems",
		[]string{plural.Count(len(i.Mounts), "file system")}, nil)
	for _, name := range slices.Sorted(maps.Keys(i.Devices)) {
		if i.Devices[name] == name { // not a partition
			d.part("disk/"+name, "storage", "Disk "+name, "Disk "+name, nil, map[string]any{"device": name})
		}
	}
	for _, m := range i.Mounts {
		key, used := "file-system/"+m.Path, int(m.UsedPercent)
		d.part(key, "storage", "File system "+m.Path, "File system mounted at "+m.Path,
			[]string{m.Fstype, bytesize.Format(int64(m.Total)), fullness(used)},
			map[string]any{"path": m.Path, "type": m.Fstype, "device": m.Device, "bytes": m.Total, "usedPercent": used})
		d.relate(key, "stored_on", "disk/"+i.Devices[m.Device])
	}
}

func fullness(percent int) string {
	used := strconv.Itoa(percent) + " % of its disk space is used"
	switch {
	case percent >= 92:
		return used + ": it is almost full and runs out of free space"
	case percent >= 75:
		return used + ": it fills up, and little free space is left"
	}
	return used + ", there is free space"
}

func (d *stateBuilder) network(i *machine.Inventory) {
	d.part("network", MachineKey, "Network", "Network interfaces",
		[]string{plural.Count(len(i.Interfaces), "interface")}, nil)
	for _, n := range i.Interfaces {
		addresses := make([]string, len(n.Addrs))
		for i, a := range n.Addrs {
			addresses[i] = a.Addr
		}
		slices.Sort(addresses)
		d.part("interface/"+n.Name, "network", "Interface "+n.Name, "Network interface "+n.Name,
			[]string{strings.Join(n.Flags, ", "), strings.Join(addresses, ", ")},
			map[string]any{"interface": n.Name, "addresses": addresses, "up": slices.Contains(n.Flags, "up")})
	}
}

// processes adds edges last, because they are only added between nodes that exist.
func (d *stateBuilder) processes(running []*machine.Process) {
	byPID := make(map[int32]string, len(running))
	for _, p := range running {
		user, program := "user/"+p.User, "program/"+p.Program
		if p.User != "" {
			d.add(user, p.User, "actor", "User account "+p.User+" of "+d.host+", under which processes run", nil,
				map[string]any{"user": p.User})
			d.relate(user, "has_account_on", MachineKey)
		}
		d.add(program, p.Program, "concept", "Program "+p.Program, []string{about(p.Program), "it runs on " + d.host},
			map[string]any{"program": p.Program})
		d.relate(program, "installed_on", MachineKey)
		// The pid alone is not unique: an earlier process may have had it.
		byPID[p.PID] = fmt.Sprintf("process/%d/%d", p.PID, p.Started.Unix())
		d.add(byPID[p.PID], fmt.Sprintf("%s %d", p.Name, p.PID), "process",
			fmt.Sprintf("Running process %d on %s, an instance of %s", p.PID, d.host, p.Program), []string{
				about(p.Program), "started by user " + p.User,
				map[bool]string{true: "it talks over the network with other machines"}[p.Network],
				"it waits for connections at port " + strings.Trim(fmt.Sprint(p.Ports), "[]"),
			}, map[string]any{
				"pid": p.PID, "program": p.Program, "user": p.User, "executable": p.Executable, "ports": p.Ports,
				"startedAt": p.Started.Format(time.RFC3339),
			})
	}
	for _, p := range running {
		key := byPID[p.PID]
		d.relate(key, "runs_on", MachineKey)
		d.relate(key, "instance_of", "program/"+p.Program)
		d.relate(key, "runs_as", "user/"+p.User)
		if p.Network {
			d.relate(key, "talks_over", "network")
		}
		if p.Parent != p.PID {
			d.relate(key, "started_by", byPID[p.Parent])
		}
	}
}

// Weather returns the desired state of the weather stations.
func Weather(stations []weather.Station) State {
	d := &stateBuilder{"", State{map[string]client.NewNode{}, map[Edge]bool{}}}
	d.add("dataset/weather", "Daily weather, 2012 to 2015", "concept", "Four years of daily weather measurements by NOAA "+
		"(GHCN-Daily, public domain): precipitation, highest and lowest temperature, wind, and the day in a word", nil,
		map[string]any{"source": weather.Package, "licence": "public domain"})
	for _, s := range stations {
		d.add(s.Source.NodeID, "Weather in "+s.Place, "object", "Weather measured in "+s.Place+", day by day: rain and "+
			"snow, temperature, wind", nil, map[string]any{"place": s.Place, "days": len(s.Days)})
		d.relate(s.Source.NodeID, "part_of", "dataset/weather")
	}
	return d.State
}

// about returns the description of a well-known program, or "". It ignores a version at the end, as in python3.11.
func about(program string) string {
	program = strings.TrimRight(program, "0123456789.-*")
	for line := range strings.Lines(programs) {
		if names, text, _ := strings.Cut(line, ": "); slices.Contains(strings.Fields(names), program) {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
