package bench

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/bench/record"
)

const (
	hubEdges  = 100_000
	hubEnds   = 100 // nodes at the other end of the hub's edges
	hubRounds = 3
)

// hub measures the deletion of a node with a hundred thousand edges and its undo, one command each:
// the time, and the peak memory of the processes.
func (g *graphLoad) hub(r *record.Recorder) {
	g.t.b.Helper()
	hub := g.createHub(r)
	g.t.settlePostgres()
	for round := range hubRounds {
		for _, step := range []struct{ name, body string }{
			{"delete", fmt.Sprintf(`{"type":"DELETE_NODE","payload":{"id":%q}}`, hub)},
			{"undo", `{"type":"UNDO"}`},
		} {
			backends := g.t.postgresProcesses()
			g.t.resetPeak()
			for _, pid := range backends {
				_ = resetProcessPeak(pid) // it may have ended
			}
			before, began := g.t.peak(), time.Now()
			require.NoError(g.t.b, g.post("/api/commands/execute", step.body))
			took := time.Since(began)
			backend := 0.0
			for _, pid := range backends {
				if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
					backend = max(backend, record.PeakMemory(g.t.b, pid))
				}
			}
			r.Logf("round %d of %d: %s in %s", round+1, hubRounds, step.name, took.Round(time.Millisecond))
			r.Add("hub/"+step.name+"/took", "s", took.Seconds())
			r.Add("hub/"+step.name+"/memory", "MiB", g.t.peak())
			r.Add("hub/"+step.name+"/more", "MiB", g.t.peak()-before)
			r.Add("hub/"+step.name+"/postgres", "MiB", backend)
			remaining := g.t.askPostgres("SELECT count(*) FROM edges WHERE source_id = $1 AND NOT deleted", hub)
			require.Equal(g.t.b, map[string]int64{"delete": 0, "undo": hubEdges}[step.name], remaining)
			g.t.settlePostgres()
		}
	}
}

// createHub creates the node and its edges in atomic batches and returns its id. It records the
// created edges per second.
func (g *graphLoad) createHub(r *record.Recorder) uuid.UUID {
	g.t.b.Helper()
	ids := make([]uuid.UUID, hubEnds+1)
	var nodes []string
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
		nodes = append(nodes, fmt.Sprintf(
			`{"type":"CREATE_NODE","payload":{"id":%q,"name":"hub and ends %d","entityType":"object"}}`, ids[i], i,
		))
	}
	require.NoError(g.t.b, g.post("/api/commands/batch", `{"commands":[`+strings.Join(nodes, ",")+`]}`))
	made := g.run(4, hubEdges/commandsPerBatch, commandsPerBatch, func() (string, string) {
		edges := make([]string, commandsPerBatch)
		for i := range edges {
			edges[i] = fmt.Sprintf(
				`{"type":"CREATE_EDGE","payload":{"id":%q,"sourceId":%q,"targetId":%q,"relationType":"feeds",
					"properties":{"weight":%d}}}`,
				uuid.Must(uuid.NewV7()), ids[0], ids[1+i%hubEnds], i,
			)
		}
		return "/api/commands/batch", `{"commands":[` + strings.Join(edges, ",") + `]}`
	})
	r.Logf("%.0f edges/s in batches of %d", made.perSecond(), commandsPerBatch)
	r.Add("batch/edges", "commands/s", made.perSecond())
	return ids[0]
}

// postgresProcesses returns the processes of the server's Postgres.
func (t *target) postgresProcesses() (found []int) {
	t.b.Helper()
	processes := readProcesses(t)
	for pid := range processes {
		if engine := engineOf(processes, pid, t.PID()); engine != 0 &&
			strings.Contains(processes[engine].command, "postgres") {
			found = append(found, pid)
		}
	}
	return found
}
