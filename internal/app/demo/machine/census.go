package machine

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

const (
	// mostProcesses bounds the processes of an inventory. Those that were in one
	// stay in the next, and older ones go before younger ones.
	mostProcesses = 400
	// kernelThread is the kernel's flag for a process that is a part of itself.
	kernelThread = 0x00200000
)

// census lists the processes. What does not change while a process runs is read
// once.
type census struct {
	settled time.Duration
	proc    string // where the kernel shows the processes as files; "" if it does not
	boot    string // tells apart the times that the machine was started
	known   map[int32]*resident
}

// resident is a process that was seen before.
type resident struct {
	glance   glance
	process  Process
	listed   bool // in the last inventory
	seen     bool // in this round
	contacts contacts
}

// glance is what is read of each process in each round.
type glance struct {
	birth   string
	command string
	parent  int32
	idle    bool // not worth listing: a kernel thread, or dead and not yet buried
}

func newCensus(proc string, settled time.Duration) *census {
	c := &census{settled: settled, proc: proc, known: map[int32]*resident{}}
	if proc != "" {
		c.boot = fileText(proc, "sys", "kernel", "random", "boot_id")
	}
	return c
}

// procRoot returns the folder in which Linux shows the processes, "" elsewhere.
func procRoot() string {
	root := cmp.Or(os.Getenv("HOST_PROC"), "/proc")
	_, err := os.Stat(filepath.Join(root, "self", "stat")) //nolint:gosec // G703: this process gives the root of /proc
	if err != nil {
		return ""
	}
	return root
}

// count lists the processes of now, oldest first.
func (c *census) count(ctx context.Context, now time.Time) ([]Process, error) {
	pids, err := process.PidsWithContext(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range c.known {
		r.seen = false
	}
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.visit(ctx, pid)
	}
	var settledOnes []*resident
	for pid, r := range c.known {
		if !r.seen {
			delete(c.known, pid)
			continue
		}
		if r.listed || (!r.glance.idle && now.Sub(r.process.Started) >= c.settled) {
			settledOnes = append(settledOnes, r)
		}
	}
	return list(settledOnes), nil
}

// list takes the residents that there is room for: those listed before first.
func list(residents []*resident) []Process {
	slices.SortFunc(residents, func(a, b *resident) int {
		return cmp.Or(
			compareBool(b.listed, a.listed), a.process.Started.Compare(b.process.Started),
			cmp.Compare(a.process.PID, b.process.PID),
		)
	})
	for i, r := range residents {
		r.listed = i < mostProcesses
	}
	processes := make([]Process, 0, min(len(residents), mostProcesses))
	for _, r := range residents[:min(len(residents), mostProcesses)] {
		processes = append(processes, r.process)
	}
	slices.SortFunc(processes, func(a, b Process) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.PID, b.PID))
	})
	return processes
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// visit looks at one process. One that ended meanwhile, or that we may not look
// at, is left out.
func (c *census) visit(ctx context.Context, pid int32) {
	proc := &process.Process{Pid: pid}
	g, ok := c.glance(ctx, proc)
	if !ok {
		return
	}
	r := c.known[pid]
	if r == nil || r.glance.birth != g.birth || r.glance.command != g.command || r.glance.idle != g.idle {
		listed := r != nil && r.glance.birth == g.birth && r.listed && !g.idle // it runs another program now
		r = &resident{listed: listed}
		c.known[pid] = r
		if !g.idle {
			r.process = describe(ctx, proc, g)
		}
	}
	r.glance, r.seen, r.process.Parent = g, true, g.parent
}

// glance reads what is read in each round.
func (c *census) glance(ctx context.Context, proc *process.Process) (glance, bool) {
	if c.proc == "" {
		return portableGlance(ctx, proc)
	}
	text, err := os.ReadFile(filepath.Join(c.proc, strconv.Itoa(int(proc.Pid)), "stat"))
	if err != nil {
		return glance{}, false
	}
	stat, ok := parseStat(text)
	if !ok {
		return glance{}, false
	}
	return glance{
		birth: c.boot + ":" + stat.started, command: stat.command, parent: stat.parent,
		idle: stat.flags&kernelThread != 0 || stat.state == 'Z' || stat.state == 'X',
	}, true
}

func portableGlance(ctx context.Context, proc *process.Process) (glance, bool) {
	created, err := proc.CreateTimeWithContext(ctx)
	if err != nil {
		return glance{}, false
	}
	command, err := proc.NameWithContext(ctx)
	if err != nil {
		return glance{}, false
	}
	parent, _ := proc.PpidWithContext(ctx) // 0: unknown
	return glance{birth: strconv.FormatInt(created/1000, 10), command: command, parent: parent}, true
}

// describe reads what is read once.
func describe(ctx context.Context, proc *process.Process, g glance) Process {
	p := Process{PID: proc.Pid, Birth: g.birth}
	command, err := proc.NameWithContext(ctx)
	if err != nil {
		command = g.command
	}
	p.Name, p.Program = cleanName(command), processName(command)
	if created, err := proc.CreateTimeWithContext(ctx); err == nil {
		p.Started = time.UnixMilli(created).UTC().Truncate(time.Second)
	}
	if name, err := proc.UsernameWithContext(ctx); err == nil {
		p.User = known(name)
	}
	if path, err := proc.ExeWithContext(ctx); err == nil && path != "" {
		// The kernel says so of a program that was replaced while it runs.
		p.Executable = cleanText(strings.TrimSuffix(path, " (deleted)"), longestPath)
	}
	return p
}

// stat is what is used of the kernel's line on a process, see proc(5).
type stat struct {
	command string
	state   byte
	parent  int32
	flags   uint64
	started string // in clock ticks since the machine was started
}

// parseStat reads "1 (command) S 0 …". The command may hold anything, also
// parentheses and spaces: it ends at the last closing one.
func parseStat(text []byte) (stat, bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, false
	}
	// The third field of proc(5) is the first here.
	fields := bytes.Fields(text[end+1:])
	const state, parent, flags, started = 0, 1, 6, 19
	if len(fields) <= started || len(fields[state]) != 1 {
		return stat{}, false
	}
	ppid, err := strconv.ParseInt(string(fields[parent]), 10, 32)
	if err != nil {
		return stat{}, false
	}
	bits, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	if err != nil {
		return stat{}, false
	}
	return stat{
		command: string(text[open+1 : end]), state: fields[state][0], parent: int32(ppid), flags: bits,
		started: string(fields[started]),
	}, true
}
