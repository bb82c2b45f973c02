package machine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

const (
	// busiest is how many names are reported in a round.
	busiest = 20
	// mostProcessNames bounds the names, and so the series, of a sampler's life.
	mostProcessNames = 300
	// smoothing is the weight of the newest round in a name's rank: about ten
	// rounds count, so that one busy second does not shuffle the list.
	smoothing = 0.2
	// sameStart is how far two readings of a process's start, in milliseconds,
	// may differ: they are computed from the clock.
	sameStart = 2000
)

// processes measures the busiest processes. Instances of a name are summed into
// one series under their common name, see processName: a pid in a tag would
// make a new series at every start of a program.
type processes struct {
	names *roster
	live  map[int32]*tracked
	rank  map[string]float64 // smoothed CPU percent by name
	last  time.Time
}

// tracked is what is remembered of a process from round to round.
type tracked struct {
	name    string
	started int64   // ms since the epoch
	cpu     float64 // seconds used so far
	seen    time.Time
}

// usage is what one name used in a round.
type usage struct {
	name      string
	cpu       float64 // percent, 100 being one core
	rss       float64 // bytes; what instances share is counted in each
	instances int
	rank      float64
}

func newProcesses() *processes {
	return &processes{
		names: newRoster(mostProcessNames), live: map[int32]*tracked{}, rank: map[string]float64{},
	}
}

func (*processes) describe() description {
	return description{
		kind: "processes", text: "The 20 busiest programs of this machine; processes of one name are summed",
		metrics: []Metric{
			{ProcessCPU, percentUnit, "Processor time, 100 being one core"},
			{ProcessRSS, "bytes", "Resident memory; what instances share counts for each"},
			{"instances", "", "Processes of this name"},
		},
	}
}

func (p *processes) collect(ctx context.Context, into *readings) {
	running, err := process.ProcessesWithContext(ctx)
	now := time.Now()
	if err != nil || len(running) == 0 {
		into.lacks("processes", reason(err, "the kernel lists none"))
		return
	}
	first := p.last.IsZero()
	byName := map[string]*usage{}
	for _, proc := range running {
		if ctx.Err() != nil {
			return
		}
		p.measure(ctx, proc, now, byName)
	}
	for pid, t := range p.live {
		if t.seen != now {
			delete(p.live, pid)
		}
	}
	p.last = now
	if first {
		return // no CPU shares yet, and the rank would be arbitrary
	}
	for _, u := range p.top(byName) {
		into.addTagged(ProcessCPU, "process", u.name, u.cpu)
		into.addTagged(ProcessRSS, "process", u.name, u.rss)
		into.addTagged("instances", "process", u.name, float64(u.instances))
	}
}

// measure adds one process to its name. A process that ended meanwhile, or that
// we may not look at, is left out.
func (p *processes) measure(ctx context.Context, proc *process.Process, now time.Time, byName map[string]*usage) {
	times, err := proc.TimesWithContext(ctx)
	if err != nil {
		return
	}
	used := times.User + times.System
	started, err := proc.CreateTimeWithContext(ctx)
	if err != nil {
		return
	}
	t, before := p.live[proc.Pid], 0.0
	switch {
	case t != nil && abs(t.started-started) <= sameStart && used >= t.cpu:
		before = t.cpu
	default: // new, or another process has its pid now
		command, err := proc.NameWithContext(ctx)
		if err != nil {
			return
		}
		t = &tracked{name: processName(command), started: started}
		p.live[proc.Pid] = t
		if started < p.last.UnixMilli()-sameStart {
			before = used // it ran before we looked: what it used then is not of this round
		}
	}
	t.cpu, t.seen = used, now
	u := byName[t.name]
	if u == nil {
		u = &usage{name: t.name}
		byName[t.name] = u
	}
	u.instances++
	if elapsed := now.Sub(p.last).Seconds(); !p.last.IsZero() && elapsed > 0 {
		u.cpu += (used - before) / elapsed * 100
	}
	if memory, err := proc.MemoryInfoWithContext(ctx); err == nil && memory != nil {
		u.rss += float64(memory.RSS)
	}
}

// top ranks the names and gives the busiest, those beyond the roster's bound
// summed as "other".
func (p *processes) top(byName map[string]*usage) []usage {
	all := make([]usage, 0, len(byName))
	for _, u := range byName {
		u.rank = smoothing*u.cpu + (1-smoothing)*p.rank[u.name]
		all = append(all, *u)
	}
	clear(p.rank)
	for _, u := range all {
		p.rank[u.name] = u.rank
	}
	slices.SortFunc(all, func(a, b usage) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.rss, a.rss), cmp.Compare(a.name, b.name))
	})
	if len(all) > busiest {
		all = all[:busiest]
	}
	kept, rest := all[:0], usage{name: other}
	for _, u := range all {
		if p.names.admit(u.name) != other {
			kept = append(kept, u)
			continue
		}
		rest.cpu += u.cpu
		rest.rss += u.rss
		rest.instances += u.instances
	}
	if rest.instances > 0 {
		kept = append(kept, rest)
	}
	return kept
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
