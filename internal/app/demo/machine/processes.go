package machine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/shirou/gopsutil/v4/process"
)

const (
	maxBusiest = 20
	// rankWeight is the weight of the newest round in a program's rank: one busy second does not reorder the list.
	rankWeight = 0.2
)

// busiest measures the busiest programs. Instances of a name are summed: a pid in a tag would create a series at every
// start of a program.
type busiest struct {
	running map[int32]*process.Process // nil before the first round
	rank    map[string]float64
}

type usage struct {
	name                      string
	cpu, rss, instances, rank float64
}

func (b *busiest) read(ctx context.Context, into *readings) error {
	pids, err := process.PidsWithContext(ctx)
	if err != nil {
		return err
	}
	first, running, byName := b.running == nil, make(map[int32]*process.Process, len(pids)), map[string]*usage{}
	for _, pid := range pids {
		proc := b.running[pid]
		if proc == nil {
			proc = &process.Process{Pid: pid}
		}
		cpu, cpuErr := proc.PercentWithContext(ctx, 0) // since the last round
		command, nameErr := proc.NameWithContext(ctx)
		memory, memoryErr := proc.MemoryInfoWithContext(ctx)
		if errors.Join(cpuErr, nameErr, memoryErr) != nil {
			continue // it ended, or may not be read
		}
		running[pid] = proc
		name := programName(command)
		if byName[name] == nil {
			byName[name] = &usage{name: name}
		}
		u := byName[name]
		u.cpu, u.rss, u.instances = u.cpu+cpu, u.rss+float64(memory.RSS), u.instances+1
	}
	b.running = running
	if first {
		return nil // there are no CPU times to compare with
	}
	for _, u := range b.top(byName) {
		into.add(ProcessCPU, "process", u.name, u.cpu)
		into.add(ProcessRSS, "process", u.name, u.rss)
		into.add("instances", "process", u.name, u.instances)
	}
	return nil
}

// top returns the programs of the highest rank.
func (b *busiest) top(byName map[string]*usage) []*usage {
	rank := make(map[string]float64, len(byName))
	for name, u := range byName {
		u.rank = rankWeight*u.cpu + (1-rankWeight)*b.rank[name]
		rank[name] = u.rank
	}
	b.rank = rank
	all := slices.SortedFunc(maps.Values(byName), func(x, y *usage) int {
		return cmp.Or(cmp.Compare(y.rank, x.rank), cmp.Compare(y.rss, x.rss), cmp.Compare(x.name, y.name))
	})
	return all[:min(len(all), maxBusiest)]
}
