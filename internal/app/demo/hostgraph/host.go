package hostgraph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/weather"
)

// Keys and kinds of nodes that other parts refer to.
const (
	MachineKey = "machine"
	Program    = "program"         // kind
	station    = "weather-station" // kind

	maxPrograms = 300 // programs are never deleted from the graph
	object      = "object"
	concept     = "concept"
	partOf      = "part_of"
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

func newStateBuilder(host string, complete map[string]bool) *stateBuilder {
	return &stateBuilder{host: host, keys: map[string]bool{}, state: State{Complete: complete}}
}

// add adds a node whose description is a sentence of the subject and the facts that are known, because search reads
// descriptions. The kind is the part of the key before the slash.
func (d *stateBuilder) add(key, name, entityType, subject string, facts []string, properties map[string]any) {
	facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == "" })
	if len(facts) > 0 {
		subject += ": " + strings.Join(facts, "; ")
	}
	for property, value := range properties {
		if value == "" {
			properties[property] = nil
		}
	}
	kind, _, _ := strings.Cut(key, "/")
	if kind == "station" {
		kind = station
	}
	d.keys[key] = true
	d.state.Nodes = append(d.state.Nodes, Node{
		Key: key, Kind: kind, Name: name, EntityType: entityType, Description: subject + ".", Properties: properties,
	})
}

// relate adds an edge if both ends exist.
func (d *stateBuilder) relate(source, relation, target string) {
	if d.keys[source] && d.keys[target] {
		d.state.Edges = append(d.state.Edges, Edge{source, target, relation})
	}
}

// Host returns the desired state of a machine. Programs and users stay in the graph when they have no processes.
// programs are the keys of the programs that exist already.
func Host(i *machine.Inventory, programs []string) State {
	d := newStateBuilder(i.Name, map[string]bool{
		"machine": true, "processor": true, "memory": true, "storage": true, "network": true,
		"core": !i.Unread[machine.PartCores], "disk": !i.Unread[machine.PartDevices],
		"partition": !i.Unread[machine.PartDevices], "file-system": !i.Unread[machine.PartMounts],
		"interface": !i.Unread[machine.PartInterfaces], "process": !i.Unread[machine.PartProcesses],
	})
	d.machine(i)
	d.storage(i)
	d.network(i)
	d.processes(i.Processes, programs)
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
		system, h.KernelArch, count(len(i.Cores), "processor core"), size(i.Memory) + " of memory", guest,
		"it measures itself: load, processor, memory, disks, network and processes are live data of this workspace",
	}, map[string]any{"system": h.OS, "distribution": system, "kernel": h.KernelVersion, "architecture": h.KernelArch})
	model := ""
	if len(i.Cores) > 0 {
		model = i.Cores[0].Model
	}
	d.add("processor", "Processor of "+d.host, object, "Processor (CPU) of "+d.host,
		[]string{model, count(len(i.Cores), "core")}, map[string]any{"model": model, "cores": len(i.Cores)})
	for _, c := range i.Cores {
		key := "core/" + c.Number
		d.add(key, "Core "+c.Number+" of "+d.host, object, "Processor core "+c.Number+" of "+d.host,
			[]string{c.Model}, map[string]any{"number": c.Number, "model": c.Model})
		d.relate(key, partOf, "processor")
	}
	d.add("memory", "Memory of "+d.host, object, "Main memory (RAM) of "+d.host, []string{size(i.Memory)},
		map[string]any{"bytes": i.Memory})
	d.add("storage", "Storage of "+d.host, object, "Storage of "+d.host+": its disks and file systems",
		[]string{count(len(i.Mounts), "file system")}, nil)
	d.add("network", "Network of "+d.host, object, "Network of "+d.host+": the interfaces it is connected through",
		[]string{count(len(i.Interfaces), "interface")}, nil)
	for _, part := range []string{"processor", "memory", "storage", "network"} {
		d.relate(part, partOf, MachineKey)
	}
}

func (d *stateBuilder) storage(i *machine.Inventory) {
	devices := map[string]string{} // key by name
	for _, device := range i.Devices {
		kind, parent, title := "disk", "storage", "Disk "
		if device.Disk != "" {
			kind, parent, title = "partition", "disk/"+device.Disk, "Partition "
		}
		key := kind + "/" + device.Name
		devices[device.Name] = key
		d.add(key, title+device.Name+" of "+d.host, object, title+device.Name+" of "+d.host, nil,
			map[string]any{"device": device.Name})
		d.relate(key, partOf, parent)
	}
	for _, m := range i.Mounts {
		key := "file-system/" + m.Path
		d.add(key, "File system "+m.Path+" of "+d.host, object, "File system mounted at "+m.Path+" of "+d.host,
			[]string{m.Type, size(m.Bytes), fullness(m.Used)},
			map[string]any{"path": m.Path, "type": m.Type, "device": m.Device, "bytes": m.Bytes, "usedPercent": m.Used})
		d.relate(key, partOf, "storage")
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
	for _, n := range i.Interfaces {
		title, state, key := "Network interface ", "up", "interface/"+n.Name
		if n.Loopback {
			title = "Loopback network interface "
		}
		if !n.Up {
			state = "down"
		}
		d.add(key, "Interface "+n.Name+" of "+d.host, object, title+n.Name+" of "+d.host,
			[]string{state, strings.Join(n.Addresses, ", ")},
			map[string]any{"interface": n.Name, "addresses": slices.Clip(n.Addresses), "up": n.Up})
		d.relate(key, partOf, "network")
	}
}

// processes adds users and programs first, because processes refer to them, and edges last.
func (d *stateBuilder) processes(running []machine.Process, programs []string) {
	free := maxPrograms - len(programs)
	byPID := make(map[int32]string, len(running))
	for _, p := range running {
		user, program := "user/"+p.User, "program/"+p.Program
		if p.User != "" && !d.keys[user] {
			d.add(user, p.User, "actor", "User account "+p.User+" of "+d.host+", under which processes run", nil,
				map[string]any{"user": p.User})
			d.relate(user, "has_account_on", MachineKey)
		}
		exists := slices.Contains(programs, program)
		if !d.keys[program] && (exists || free > 0) {
			if !exists {
				free--
			}
			d.add(program, p.Program, concept, "Program "+p.Program, []string{about(p.Program), "it was seen on " + d.host},
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

func processFacts(p machine.Process) []string {
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
	d := newStateBuilder("", map[string]bool{station: true, "dataset": true})
	d.add("dataset/weather", "Daily weather, 2012 to 2015", concept, "Four years of daily weather measurements by NOAA "+
		"(GHCN-Daily, public domain): precipitation, highest and lowest temperature, wind, and the day in a word", nil,
		map[string]any{"source": weather.Package, "licence": "public domain"})
	for _, s := range stations {
		d.add(StationKey(s), "Weather in "+s.Place, object, "Weather measured in "+s.Place+", day by day: rain and snow, "+
			"temperature, wind", nil, map[string]any{"place": s.Place, "days": len(s.Days)})
		d.relate(StationKey(s), partOf, "dataset/weather")
	}
	return d.state
}

// StationKey returns the key of the node that a station's source belongs to.
func StationKey(s weather.Station) string { return "station/" + s.Slug }

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// size returns bytes with a binary prefix.
func size(bytes uint64) string {
	value, unit := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	return fmt.Sprintf("%.4g %s", value, unit)
}

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
