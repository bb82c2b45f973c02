// Package portrait says how a machine looks as a graph: its parts, the programs
// and processes that run on it, who runs them, and how all that hangs together.
// It turns an inventory into a picture and does nothing else.
//
// Descriptions are sentences, because search reads them.
package portrait

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/mirror"
)

// The kinds of node, as their property kind has them.
const (
	kindMachine    = "machine"
	kindProcessor  = "processor"
	kindCore       = "core"
	kindMemory     = "memory"
	kindStorage    = "storage"
	kindDisk       = "disk"
	kindPartition  = "partition"
	kindFileSystem = "file-system"
	kindNetwork    = "network"
	kindInterface  = "interface"
	kindProcess    = "process"
	KindProgram    = "program"
	kindUser       = "user"
	kindStation    = "weather-station"
	kindDataset    = "dataset"
)

// The relations, each read from its source to its target.
const (
	partOf       = "part_of"
	storedOn     = "stored_on"
	runsOn       = "runs_on"
	startedBy    = "started_by"
	instanceOf   = "instance_of"
	runsAs       = "runs_as"
	installedOn  = "installed_on"
	hasAccountOn = "has_account_on"
	hasFilesOn   = "has_files_on"
	talksOver    = "talks_over"
)

// Keys of the nodes that there is one of.
const (
	MachineKey   = "machine"
	processorKey = "processor"
	memoryKey    = "memory"
	storageKey   = "storage"
	networkKey   = "network"
)

// The interface's entity types.
const (
	concept = "concept"
	object  = "object"
	process = "process"
	actor   = "actor"
)

// Owner is the name under which a machine's part of a graph is found again.
func Owner(host string) string { return "livegraph-demo " + host }

// KeyOfSource returns the node that a source of the machine belongs to, by the
// source's kind.
func KeyOfSource(kind string) string {
	switch kind {
	case "cpu":
		return processorKey
	case "memory":
		return memoryKey
	case "disk":
		return storageKey
	case "network":
		return networkKey
	}
	return MachineKey // load, temperatures, processes
}

// Machine returns the picture of an inventory. Programs and users stay in the graph
// when they do not run or are not seen; standing are the programs that are there
// from before, as [mirror.Known.Keys] gives them for [KindProgram].
func Machine(i *machine.Inventory, standing []string) mirror.Picture {
	d := &drawing{host: i.Host.Name, keys: map[string]bool{}, picture: mirror.Picture{Whole: map[string]bool{
		kindMachine: true, kindProcessor: true, kindMemory: true, kindStorage: true, kindNetwork: true,
	}}}
	d.machine(i)
	d.processor(i)
	d.storage(i)
	d.network(i)
	d.processes(i.Processes, standing)
	for part, kinds := range map[string][]string{
		machine.PartCores: {kindCore}, machine.PartDisks: {kindDisk, kindPartition}, machine.PartMounts: {kindFileSystem},
		machine.PartInterfaces: {kindInterface}, machine.PartProcesses: {kindProcess},
	} {
		for _, kind := range kinds {
			d.picture.Whole[kind] = !i.Unread[part]
		}
	}
	return d.picture
}

// drawing is a picture in the making.
type drawing struct {
	host    string
	keys    map[string]bool
	picture mirror.Picture
}

func (d *drawing) add(n mirror.Node) {
	d.keys[n.Key] = true
	d.picture.Nodes = append(d.picture.Nodes, n)
}

// relate adds an edge if both ends are in the picture.
func (d *drawing) relate(source, relation, target string) {
	if d.keys[source] && d.keys[target] {
		d.picture.Edges = append(d.picture.Edges, mirror.Edge{Source: source, Relation: relation, Target: target})
	}
}

func (d *drawing) machine(i *machine.Inventory) {
	h := i.Host
	system := h.System
	if h.Distribution != "" {
		system = h.Distribution
	}
	text := fmt.Sprintf("Computer %s. It runs %s on %s", h.Name, system, h.Architecture)
	if h.Kernel != "" {
		text += ", kernel " + h.Kernel
	}
	if n := len(i.Cores); n > 0 {
		text += ", with " + count(n, "processor core")
	}
	if i.Memory > 0 {
		text += " and " + size(i.Memory) + " of memory"
	}
	text += "."
	if h.Virtualization != "" {
		text += " It is a guest of " + h.Virtualization + "."
	}
	text += " It measures itself: load, processor, memory, disks, network and processes are live data of this workspace."
	d.add(mirror.Node{
		Key: MachineKey, Kind: kindMachine, Name: h.Name, EntityType: object, Description: text,
		Properties: map[string]any{
			"system": h.System, "distribution": orAbsent(h.Distribution), "kernel": orAbsent(h.Kernel),
			"architecture": h.Architecture, "virtualization": orAbsent(h.Virtualization),
		},
	})
}

func (d *drawing) processor(i *machine.Inventory) {
	model := ""
	if len(i.Cores) > 0 {
		model = i.Cores[0].Model
	}
	d.add(mirror.Node{
		Key: processorKey, Kind: kindProcessor, Name: "Processor of " + d.host, EntityType: object,
		Description: sentence("Processor (CPU) of "+d.host, model, count(len(i.Cores), "core")),
		Properties:  map[string]any{"model": orAbsent(model), "cores": len(i.Cores)},
	})
	d.relate(processorKey, partOf, MachineKey)
	for _, c := range i.Cores {
		key := "core/" + strconv.Itoa(c.Number)
		d.add(mirror.Node{
			Key: key, Kind: kindCore, Name: fmt.Sprintf("Core %d of %s", c.Number, d.host), EntityType: object,
			Description: sentence(fmt.Sprintf("Processor core %d of %s", c.Number, d.host), c.Model),
			Properties:  map[string]any{"number": c.Number, "model": orAbsent(c.Model)},
		})
		d.relate(key, partOf, processorKey)
	}
	swap := ""
	if i.Swap > 0 {
		swap = size(i.Swap) + " of swap space"
	}
	d.add(mirror.Node{
		Key: memoryKey, Kind: kindMemory, Name: "Memory of " + d.host, EntityType: object,
		Description: sentence("Main memory (RAM) of "+d.host, size(i.Memory), swap),
		Properties:  map[string]any{"bytes": orUnknown(i.Memory), "swapBytes": i.Swap},
	})
	d.relate(memoryKey, partOf, MachineKey)
}

func (d *drawing) storage(i *machine.Inventory) {
	d.add(mirror.Node{
		Key: storageKey, Kind: kindStorage, Name: "Storage of " + d.host, EntityType: object,
		Description: sentence(
			"Storage of "+d.host+": its disks and file systems", count(len(i.Disks), "disk"),
			count(len(i.Mounts), "file system"),
		),
	})
	d.relate(storageKey, partOf, MachineKey)
	devices := map[string]string{} // key by device name
	for _, disk := range i.Disks {
		devices[disk.Name] = "disk/" + disk.Name
		sort := "Disk"
		if !disk.Rotational {
			sort = "Solid-state disk"
		}
		d.add(mirror.Node{
			Key: devices[disk.Name], Kind: kindDisk, Name: "Disk " + disk.Name + " of " + d.host, EntityType: object,
			Description: sentence(sort+" "+disk.Name+" of "+d.host, disk.Model, size(disk.Bytes)),
			Properties: map[string]any{
				"device": disk.Name, "model": orAbsent(disk.Model), "bytes": orUnknown(disk.Bytes),
				"rotational": disk.Rotational, "removable": disk.Removable,
			},
		})
		d.relate(devices[disk.Name], partOf, storageKey)
	}
	for _, part := range i.Partitions {
		devices[part.Name] = "partition/" + part.Name
		d.add(mirror.Node{
			Key: devices[part.Name], Kind: kindPartition, Name: "Partition " + part.Name + " of " + d.host, EntityType: object,
			Description: sentence("Partition "+part.Name+" of disk "+part.Disk+" of "+d.host, size(part.Bytes)),
			Properties:  map[string]any{"device": part.Name, "bytes": orUnknown(part.Bytes)},
		})
		d.relate(devices[part.Name], partOf, devices[part.Disk])
	}
	for _, m := range i.Mounts {
		key := "file-system/" + m.Path
		d.add(mirror.Node{
			Key: key, Kind: kindFileSystem, Name: "File system " + m.Path + " of " + d.host, EntityType: object,
			Description: sentence("File system mounted at "+m.Path+" of "+d.host, m.Type, size(m.Bytes)) + " " +
				fullness(m.Used),
			Properties: map[string]any{
				"path": m.Path, "type": orAbsent(m.Type), "device": orAbsent(m.Device), "bytes": orUnknown(m.Bytes),
				"usedPercent": m.Used,
			},
		})
		d.relate(key, partOf, storageKey)
		if device, ok := devices[m.Device]; ok {
			d.relate(key, storedOn, device)
		}
	}
}

func (d *drawing) network(i *machine.Inventory) {
	d.add(mirror.Node{
		Key: networkKey, Kind: kindNetwork, Name: "Network of " + d.host, EntityType: object,
		Description: sentence(
			"Network of "+d.host+": the interfaces it is connected through", count(len(i.Interfaces), "interface"),
		),
	})
	d.relate(networkKey, partOf, MachineKey)
	for _, n := range i.Interfaces {
		key := "interface/" + n.Name
		sort, state := "Network interface", "up"
		if n.Loopback {
			sort = "Loopback network interface"
		}
		if !n.Up {
			state = "down"
		}
		d.add(mirror.Node{
			Key: key, Kind: kindInterface, Name: "Interface " + n.Name + " of " + d.host, EntityType: object,
			Description: sentence(sort+" "+n.Name+" of "+d.host, state, strings.Join(n.Addresses, ", ")),
			Properties: map[string]any{
				"interface": n.Name, "hardwareAddress": orAbsent(n.Hardware), "addresses": slices.Clip(n.Addresses),
				"mtu": n.MTU, "loopback": n.Loopback, "up": n.Up,
			},
		})
		d.relate(key, partOf, networkKey)
	}
}

// From these percentages on a file system is said to fill up, and to be almost full.
const (
	fillsUp    = 75
	almostFull = 92
)

// fullness says in words how full a disk is.
func fullness(percent int) string {
	used := strconv.Itoa(percent) + " % of its disk space is used"
	switch {
	case percent >= almostFull:
		return used + ": it is almost full and runs out of free space."
	case percent >= fillsUp:
		return used + ": it fills up, and little free space is left."
	}
	return used + "; there is free space."
}

// orAbsent is a property that is not there when the text is empty.
func orAbsent(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func orUnknown(number uint64) any {
	if number == 0 {
		return nil
	}
	return number
}

// sentence joins a subject and what is known of it.
func sentence(subject string, facts ...string) string {
	facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == "" })
	if len(facts) == 0 {
		return subject + "."
	}
	return subject + ": " + strings.Join(facts, "; ") + "."
}

func count(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// size writes bytes for people; "" for none.
func size(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	value, unit := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	digits := 0
	if value < 100 && value != math.Trunc(value) {
		digits = 1
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + " " + unit
}
