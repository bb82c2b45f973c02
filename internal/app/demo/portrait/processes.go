package portrait

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/demo/mirror"
)

const (
	// mostPrograms bounds the programs, which stay once they are in the graph.
	mostPrograms = 300
	mostUsers    = 64
)

// processes draws what runs: users and programs first, because processes point at
// them, then the processes, whose parents may come in any order.
func (d *drawing) processes(running []machine.Process, standing []string) {
	d.users(running)
	d.programs(running, standing)
	for i := range running {
		d.process(&running[i])
	}
	byPID := make(map[int32]string, len(running))
	for i := range running {
		byPID[running[i].PID] = processKey(&running[i])
	}
	for i := range running {
		p := &running[i]
		key := processKey(p)
		d.relate(key, runsOn, MachineKey)
		d.relate(key, instanceOf, programKey(p.Program))
		d.relate(key, runsAs, userKey(p.User))
		if p.Network {
			d.relate(key, talksOver, networkKey)
		}
		for _, path := range p.Mounts {
			d.relate(key, hasFilesOn, "file-system/"+path)
		}
		if parent, ok := byPID[p.Parent]; ok && p.Parent != p.PID {
			d.relate(key, startedBy, parent)
		}
	}
}

// A pid alone would give a process the node of another that had it before.
func processKey(p *machine.Process) string { return fmt.Sprintf("process/%d/%s", p.PID, p.Birth) }

func programKey(name string) string { return "program/" + name }

func userKey(name string) string { return "user/" + name }

func (d *drawing) users(running []machine.Process) {
	var names []string
	for i := range running {
		if name := running[i].User; name != "" && !slices.Contains(names, name) && len(names) < mostUsers {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		d.add(mirror.Node{
			Key: userKey(name), Kind: kindUser, Name: name, EntityType: actor,
			Description: "User account " + name + " of " + d.host + ", under which processes run.",
			Properties:  map[string]any{"user": name},
		})
		d.relate(userKey(name), hasAccountOn, MachineKey)
	}
}

func (d *drawing) programs(running []machine.Process, standing []string) {
	room := mostPrograms - len(standing)
	for i := range running {
		name := running[i].Program
		key := programKey(name)
		if d.keys[key] {
			continue
		}
		if !slices.Contains(standing, key) {
			if room <= 0 {
				continue
			}
			room--
		}
		d.add(mirror.Node{
			Key: key, Kind: KindProgram, Name: name, EntityType: concept,
			Description: sentence("Program "+name, whatItIs(name)) + " It was seen running on " + d.host + ".",
			Properties:  map[string]any{"program": name},
		})
		d.relate(key, installedOn, MachineKey)
	}
}

func (d *drawing) process(p *machine.Process) {
	text := fmt.Sprintf("Running process %d on %s, an instance of %s", p.PID, d.host, p.Program)
	if about := whatItIs(p.Program); about != "" {
		text += " (" + about + ")"
	}
	if p.User != "" {
		text += ", started by user " + p.User
	}
	if p.Executable != "" {
		text += " from " + p.Executable
	}
	var started any
	if !p.Started.IsZero() {
		started = p.Started.Format(time.RFC3339)
	}
	d.add(mirror.Node{
		Key: processKey(p), Kind: kindProcess, Name: p.Name + " " + strconv.Itoa(int(p.PID)), EntityType: process,
		Description: text + "." + contacts(p),
		Properties: map[string]any{
			"pid": p.PID, "program": p.Program, "user": orAbsent(p.User), "executable": orAbsent(p.Executable),
			"startedAt": started,
			"ports":     slices.Clip(p.Ports),
		},
		// It is computed from the clock, and differs by a second now and then.
		Fixed: []string{"startedAt"},
	})
}

// contacts reports what a process is connected to.
func contacts(p *machine.Process) (text string) {
	switch {
	case p.Network && len(p.Ports) > 0:
		text += " It talks over the network: other machines can connect to it at " + ports(p.Ports) + "."
	case p.Network:
		text += " It talks over the network with other machines."
	case len(p.Ports) > 0:
		text += " Other processes of this machine connect to it at " + ports(p.Ports) + "."
	}
	if len(p.Mounts) > 0 {
		text += " It has files open on " + strings.Join(p.Mounts, ", ") + "."
	}
	return text
}

func ports(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	if len(texts) == 1 {
		return "port " + texts[0]
	}
	return "ports " + strings.Join(texts, ", ")
}
