package hostgraph

import (
	"cmp"
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

// KeyOfSource returns the key of the node that a source of the machine belongs to, by the source's kind. Load,
// temperatures and processes belong to the machine.
func KeyOfSource(kind string) string {
	parts := map[string]string{"cpu": "processor", "memory": "memory", "network": "network", "disk": "storage"}
	return cmp.Or(parts[kind], MachineKey)
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
	if facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == "" }); len(facts) > 0 {
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
		if n.Properties[property] = value; value == "" {
			n.Properties[property] = nil
		}
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

// fact returns a fact about a value, "" if the value is not known.
func fact(text, value string) string {
	if value == "" {
		return ""
	}
	return text + value
}

func (d *stateBuilder) machine(i *machine.Inventory) {
	h, guestOf := i.Host, ""
	system := strings.TrimSpace(h.Platform + " " + h.PlatformVersion)
	if h.VirtualizationRole == "guest" {
		guestOf = h.VirtualizationSystem
	}
	d.add(MachineKey, d.host, object, "Computer "+d.host, []string{
		system, h.KernelArch, plural.Count(len(i.Cores), "processor core"), machine.Size(i.Memory) + " of memory",
		fact("a guest of ", guestOf),
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
	d.part("storage", MachineKey, "Storage", "Disks and file systems",
		[]string{plural.Count(len(i.Mounts), "file system")}, nil)
	for _, name := range slices.Sorted(maps.Keys(i.Devices)) { // a disk precedes its partitions
		kind, parent, title := "disk", "storage", "Disk "
		if disk := i.Devices[name]; disk != "" {
			kind, parent, title = "partition", "disk/"+disk, "Partition "
		}
		d.part(kind+"/"+name, parent, title+name, title+name, nil, map[string]any{"device": name})
	}
	for _, m := range i.Mounts {
		key, used := "file-system/"+m.Path, int(m.UsedPercent)
		d.part(key, "storage", "File system "+m.Path, "File system mounted at "+m.Path,
			[]string{m.Fstype, machine.Size(m.Total), fullness(used)},
			map[string]any{"path": m.Path, "type": m.Fstype, "device": m.Device, "bytes": m.Total, "usedPercent": used})
		d.relate(key, "stored_on", "disk/"+m.Device)
		d.relate(key, "stored_on", "partition/"+m.Device) // it is one of the two
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
			fmt.Sprintf("Running process %d on %s, an instance of %s", p.PID, d.host, p.Program), []string{
				about(p.Program), fact("started by user ", p.User),
				map[bool]string{true: "it talks over the network with other machines"}[p.Network],
				fact("it waits for connections at port ", strings.Trim(fmt.Sprint(p.Ports), "[]")),
				fact("it has files open on ", strings.Join(p.Mounts, ", ")),
			}, map[string]any{
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

// about returns a description of a well-known program with words that users may search for, or "". It ignores a version
// at the end of the name: python3.11 is python.
func about(program string) string {
	program = strings.TrimRight(program, "0123456789.-*")
	for _, line := range wellKnown {
		if names, text, _ := strings.Cut(line, ": "); slices.Contains(strings.Fields(names), program) {
			return text
		}
	}
	return ""
}

var wellKnown = []string{
	"apache httpd caddy nginx: web server",
	"haproxy envoy traefik: load balancer and reverse proxy",
	"postgres: PostgreSQL, a relational database server",
	"mysqld mariadbd: relational database server",
	"clickhouse clickhouse-serv: ClickHouse, an analytical database server",
	"redis-server valkey-server: in-memory key-value store that speaks Redis' protocol",
	"milvus milvus-lite: Milvus, a vector database",
	"etcd: distributed key-value store",
	"prometheus influxd: time series database",
	"livegraph: Livegraph, a graph and live-data service with search",
	"java: Java virtual machine", "node deno bun: JavaScript runtime",
	"python: Python interpreter", "ruby perl php: interpreter",
	"go gopls compile link: Go toolchain", "gcc cc rustc cargo make: compiler or build tool",
	"bash sh dash zsh fish: command shell", "tmux screen: terminal multiplexer", "vim nvim emacs code: text editor",
	"ssh sshd: secure remote login",
	"systemd init launchd: system and service manager", "cron crond: scheduler of recurring jobs",
	"dockerd containerd containerd-shim podman runc: container engine", "kubelet: Kubernetes node agent",
	"firefox chrome chromium safari: web browser", "git: version control", "kafka: Apache Kafka, a distributed log",
}
