package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/bench/record"
)

// usage is CPU time, user and system, of all processes.
type usage struct {
	client       time.Duration // this process: the load generator, or the driver of the baseline
	service      time.Duration // the server including the embedded broker
	clickhouse   time.Duration
	otherEngines time.Duration // the other engines
}

func (u usage) since(before usage) usage {
	return usage{
		client: u.client - before.client, service: u.service - before.service,
		clickhouse: u.clickhouse - before.clickhouse, otherEngines: u.otherEngines - before.otherEngines,
	}
}

// total returns the CPU time of the service and the engines.
func (u usage) total() time.Duration { return u.service + u.clickhouse + u.otherEngines }

// usage returns the CPU time used so far. A running child's time is counted for the child, and after
// it ends for the parent that waited for it, so nothing is counted twice or lost. Children of the
// server are engines, which run as long as the server.
func (t *target) usage() usage {
	t.b.Helper()
	u := usage{client: record.CPU(t.b)}
	processes := readProcesses(t)
	server := t.PID()
	u.service = processes[server].self
	for pid, p := range processes {
		engine := engineOf(processes, pid, server)
		switch {
		case engine == 0:
		case strings.Contains(processes[engine].command, "clickhouse"):
			u.clickhouse += p.self + p.waited
		default:
			u.otherEngines += p.self + p.waited
		}
	}
	require.Positive(t.b, u.clickhouse, "no process of ClickHouse was found")
	return u
}

// engineOf returns the child of the server that a process is or descends from, or 0 if there is none.
func engineOf(processes map[int]process, pid, server int) int {
	for pid > 1 && pid != server {
		parent := processes[pid].parent
		if parent == server {
			return pid
		}
		pid = parent
	}
	return 0
}

// process is the data of /proc about a process.
type process struct {
	parent  int
	self    time.Duration // CPU time without children
	waited  time.Duration // CPU time of children that have ended
	command string
}

func readProcesses(t *target) map[int]process {
	t.b.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t.b, err)
	found := map[int]process{}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if p, ok := readProcess(pid); ok {
				found[pid] = p
			}
		}
	}
	return found
}

// tick is the unit of times in /proc: Linux always uses 100 per second.
const tick = time.Second / 100

// readProcess reads /proc/PID/stat (proc(5)). After the name in parentheses, field 1 is the parent and
// fields 11 to 14 are CPU times, counted from 0.
func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false // it has ended
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) < 15 {
		return process{}, false
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return n
	}
	return process{
		parent: int(number(1)), self: time.Duration(number(11)+number(12)) * tick,
		waited: time.Duration(number(13)+number(14)) * tick, command: string(command),
	}, true
}
