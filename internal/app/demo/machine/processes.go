package machine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

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
	live map[int32]tracked
	rank map[string]float64
	last time.Time
}

type tracked struct {
	name string
	cpu  float64 // seconds used so far
}

type usage struct {
	name                string
	cpu, rss, instances float64
	rank                float64
}

func newBusiest() *busiest { return &busiest{rank: map[string]float64{}} }

func (b *busiest) read(ctx context.Context, into *readings) error {
	pids, err := process.PidsWithContext(ctx)
	if err != nil {
		return err
	}
	now, live, byName := time.Now(), make(map[int32]tracked, len(pids)), map[string]*usage{}
	elapsed := now.Sub(b.last).Seconds()
	for _, pid := range pids {
		proc := &process.Process{Pid: pid}
		times, err := proc.TimesWithContext(ctx)
		if err != nil {
			continue // it ended, or may not be read
		}
		this := tracked{cpu: times.User + times.System}
		before, known := b.live[pid]
		if !known || this.cpu < before.cpu { // new, or another process with its pid
			command, err := proc.NameWithContext(ctx)
			if err != nil {
				continue
			}
			before = tracked{name: programName(command)}
		}
		this.name = before.name
		live[pid] = this
		u := byName[this.name]
		if u == nil {
			u = &usage{name: this.name}
			byName[this.name] = u
		}
		u.instances++
		u.cpu += (this.cpu - before.cpu) / elapsed * 100
		if memory, err := proc.MemoryInfoWithContext(ctx); err == nil && memory != nil {
			u.rss += float64(memory.RSS)
		}
	}
	first := b.last.IsZero()
	b.live, b.last = live, now
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
