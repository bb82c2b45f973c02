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

// usage is CPU time, user and system, of everything that takes part.
type usage struct {
	client     time.Duration // this process: the load generator, or the driver of the baseline
	service    time.Duration // the server with the embedded broker inside it
	clickhouse time.Duration
	others     time.Duration // the other engines
}

func (u usage) since(before usage) usage {
	return usage{
		client: u.client - before.client, service: u.service - before.service,
		clickhouse: u.clickhouse - before.clickhouse, others: u.others - before.others,
	}
}

// total is that of the service and the engines.
func (u usage) total() time.Duration { return u.service + u.clickhouse + u.others }

// usage returns the CPU time used so far. A child's time is counted with the child
// as long as it lives, and then with its parent, which has waited for it: nothing
// is counted twice and nothing is lost. Children of the server itself are engines,
// which live as long as it does.
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
			u.others += p.self + p.waited
		}
	}
	require.Positive(t.b, u.clickhouse, "no process of ClickHouse was found")
	return u
}

// engineOf returns the child of the server that a process is or descends from; 0 if
// it is no engine.
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

// process is what /proc says of one.
type process struct {
	parent  int
	self    time.Duration // CPU time of its own
	waited  time.Duration // CPU time of its children that have ended
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

// tick is the unit of times in /proc: Linux shows 100 a second everywhere.
const tick = time.Second / 100

// readProcess reads /proc/PID/stat (proc(5)): after the name in parentheses come
// the state, the parent as the second, and CPU times from the twelfth field on.
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
