package hostgraph

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

const (
	// MachineKey is the key of the machine's node.
	MachineKey = "machine"

	object  = "object"
	concept = "concept"
	partOf  = "part_of"
	maxText = 400 // characters of a name or a path
)

// HostOwner returns the owner of a machine's part of a graph.
func HostOwner(host string) string { return "livegraph-demo " + host }

// WeatherOwner is the owner of the weather stations. It is the same for all machines.
const WeatherOwner = "livegraph-demo weather"

// KeyOfSource returns the key of the node that a source of the machine belongs to, by the source's kind.
func KeyOfSource(kind string) string {
	switch kind {
	case "cpu":
		return "processor"
	case "memory", "network":
		return kind
	case "disk":
		return "storage"
	}
	return MachineKey // load, temperatures, processes
}

// stateBuilder builds a state.
type stateBuilder struct {
	host  string
	keys  map[string]bool
	state State
}

// add adds a node. Its description is a sentence of the subject and the facts that are known, because search reads
// descriptions. The kind is the part of the key before the slash.
func (d *stateBuilder) add(key, name, entityType, subject string, facts []string, properties map[string]any) {
	key = output.Printable(key)
	d.keys[key] = true
	facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == "" })
	if len(facts) > 0 {
		subject += ": " + strings.Join(facts, "; ")
	}
	n := Node{
		Key: key, Name: machine.CleanText(name, maxText), EntityType: entityType,
		Description: output.Printable(subject) + ".", Properties: map[string]any{},
	}
	for property, value := range properties {
		if text, ok := value.(string); ok {
			value = machine.CleanText(text, maxText)
		}
		if value == "" {
			value = nil
		}
		n.Properties[property] = value
	}
	n.Properties["kind"], _, _ = strings.Cut(key, "/")
	d.state.Nodes = append(d.state.Nodes, n)
}

// relate adds an edge if both ends exist.
func (d *stateBuilder) relate(source, relation, target string) {
	source, target = output.Printable(source), output.Printable(target)
	if d.keys[source] && d.keys[target] {
		d.state.Edges = append(d.state.Edges, Edge{source, target, relation})
	}
}

// part adds a part of the machine.
func (d *stateBuilder) part(key, parent, name, title string, facts []string, properties map[string]any) {
	d.add(key, name+" of "+d.host, object, title+" of "+d.host, facts, properties)
	d.relate(key, partOf, parent)
}

// Host returns the desired state of a machine.
func Host(host string, i *machine.Inventory) State {
	d := &stateBuilder{host: host, keys: map[string]bool{}}
	d.machine(i)
	d.storage(i)
	d.network(i)
	d.processes(i.Processes)
	return d.state
}

func (d *stateBuilder) machine(i *machine.Inventory) {
	h := i.Host
	system := strings.TrimSpace(h.Platform + " " + h.PlatformVersion)
	guest := ""
	if h.VirtualizationRole == "guest" && h.VirtualizationSystem != "" {
		guest = "a guest of " + h.VirtualizationSystem
	}
	d.add(MachineKey, d.host, object, "Computer "+d.host, []string{
		system, h.KernelArch, plural.Count(len(i.Cores), "processor core"), machine.Size(i.Memory) + " of memory", guest,
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
	d.part("memory", MachineKey, "Memory", "Main memory (RAM)", []string{machine.Size(i.Memory)},
		map[string]any{"bytes": i.Memory})
}

func (d *stateBuilder) storage(i *machine.Inventory) {
	count := plural.Count(len(i.Mounts), "file system")
	d.part("storage", MachineKey, "Storage", "Disks and file systems", []string{count}, nil)
	devices := map[string]string{}                             // key by name
	for _, name := range slices.Sorted(maps.Keys(i.Devices)) { // a disk precedes its partitions
		kind, parent, title := "disk", "storage", "Disk "
		if disk := i.Devices[name]; disk != "" {
			kind, parent, title = "partition", devices[disk], "Partition "
		}
		devices[name] = kind + "/" + name
		d.part(devices[name], parent, title+name, title+name, nil, map[string]any{"device": name})
	}
	for _, m := range i.Mounts {
		key, used := "file-system/"+m.Path, int(m.UsedPercent)
		d.part(key, "storage", "File system "+m.Path, "File system mounted at "+m.Path,
			[]string{m.Fstype, machine.Size(m.Total), fullness(used)},
			map[string]any{"path": m.Path, "type": m.Fstype, "device": m.Device, "bytes": m.Total, "usedPercent": used})
		d.relate(key, "stored_on", devices[m.Device])
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
	count := plural.Count(len(i.Interfaces), "interface")
	d.part("network", MachineKey, "Network", "Network interfaces", []string{count}, nil)
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

// processes adds users and programs first, because processes refer to them, and edges last.
func (d *stateBuilder) processes(running []*machine.Process) {
	byPID := make(map[int32]string, len(running))
	for _, p := range running {
		user, program := "user/"+output.Printable(p.User), "program/"+p.Program
		if p.User != "" && !d.keys[user] {
			d.add(user, p.User, "actor", "User account "+p.User+" of "+d.host+", under which processes run", nil,
				map[string]any{"user": p.User})
			d.relate(user, "has_account_on", MachineKey)
		}
		if !d.keys[program] {
			d.add(program, p.Program, concept, "Program "+p.Program, []string{about(p.Program), "it runs on " + d.host},
				map[string]any{"program": p.Program})
			d.relate(program, "installed_on", MachineKey)
		}
		// The pid alone is not unique: an earlier process may have had it.
		byPID[p.PID] = fmt.Sprintf("process/%d/%d", p.PID, p.Started.Unix())
		d.add(byPID[p.PID], fmt.Sprintf("%s %d", p.Name, p.PID), "process",
			fmt.Sprintf("Running process %d on %s, an instance of %s", p.PID, d.host, p.Program), processFacts(p),
			map[string]any{
				"pid": p.PID, "program": p.Program, "user": p.User, "executable": p.Executable, "ports": slices.Clip(p.Ports),
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
		for _, path := range p.Mounts {
			d.relate(key, "has_files_on", "file-system/"+path)
		}
		if p.Parent != p.PID {
			d.relate(key, "started_by", byPID[p.Parent])
		}
	}
}

func processFacts(p *machine.Process) []string {
	facts := []string{about(p.Program)}
	if p.User != "" {
		facts = append(facts, "started by user "+p.User)
	}
	if p.Network {
		facts = append(facts, "it talks over the network with other machines")
	}
	if len(p.Ports) > 0 {
		facts = append(facts, "it waits for connections at port "+strings.Trim(fmt.Sprint(p.Ports), "[]"))
	}
	if len(p.Mounts) > 0 {
		facts = append(facts, "it has files open on "+strings.Join(p.Mounts, ", "))
	}
	return facts
}

// Weather returns the desired state of the weather stations.
func Weather(stations []weather.Station) State {
	d := &stateBuilder{keys: map[string]bool{}}
	d.add("dataset/weather", "Daily weather, 2012 to 2015", concept, "Four years of daily weather measurements by NOAA "+
		"(GHCN-Daily, public domain): precipitation, highest and lowest temperature, wind, and the day in a word", nil,
		map[string]any{"source": weather.Package, "licence": "public domain"})
	for _, s := range stations {
		d.add(StationKey(s.Place), "Weather in "+s.Place, object, "Weather measured in "+s.Place+", day by day: rain and "+
			"snow, temperature, wind", nil, map[string]any{"place": s.Place, "days": len(s.Days)})
		d.relate(StationKey(s.Place), partOf, "dataset/weather")
	}
	return d.state
}

// StationKey returns the key of the node that the source of a weather station belongs to.
func StationKey(place string) string { return "weather-station/" + place }
