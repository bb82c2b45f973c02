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
	hubEnds   = 100 // nodes that the hub's edges lead to
	hubRounds = 3
)

// hub measures the deletion of a node with a hundred thousand edges and its undo,
// each one command: how long, and how much memory the processes had at most.
func (g *graphLoad) hub(r *record.Recorder) {
	g.t.b.Helper()
	hub := g.makeHub(r)
	g.t.settlePostgres()
	for round := range hubRounds {
		for _, step := range []struct{ name, body string }{
			{"delete", fmt.Sprintf(`{"type":"DELETE_NODE","payload":{"id":%q}}`, hub)},
			{"undo", `{"type":"UNDO"}`},
		} {
			backends := g.t.postgresProcesses()
			g.t.resetPeak()
			for _, pid := range backends {
				_ = resetPeakOf(pid) // it may have ended
			}
			before, began := g.t.peak(), time.Now()
			require.NoError(g.t.b, g.post("/api/commands/execute", step.body))
			took := time.Since(began)
			backend := 0.0
			for _, pid := range backends {
				if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
					backend = max(backend, peakOf(g.t, pid))
				}
			}
			r.Say("round %d of %d: %s in %s", round+1, hubRounds, step.name, took.Round(time.Millisecond))
			r.Add("hub/"+step.name+"/took", "s", took.Seconds())
			r.Add("hub/"+step.name+"/memory", "MiB", g.t.peak())
			r.Add("hub/"+step.name+"/more", "MiB", g.t.peak()-before)
			r.Add("hub/"+step.name+"/postgres", "MiB", backend)
			standing := g.t.askPostgres("SELECT count(*) FROM edges WHERE source_id = $1 AND NOT deleted", hub)
			require.Equal(g.t.b, map[string]int64{"delete": 0, "undo": hubEdges}[step.name], standing)
			g.t.settlePostgres()
		}
	}
}

// makeHub creates the node with its edges, in atomic batches, and gives its id. How many
// edges are made a second is recorded.
func (g *graphLoad) makeHub(r *record.Recorder) uuid.UUID {
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
	made := g.run(4, hubEdges/inBatch, inBatch, func() (string, string) {
		edges := make([]string, inBatch)
		for i := range edges {
			edges[i] = fmt.Sprintf(
				`{"type":"CREATE_EDGE","payload":{"id":%q,"sourceId":%q,"targetId":%q,"relationType":"feeds",
					"properties":{"weight":%d}}}`,
				uuid.Must(uuid.NewV7()), ids[0], ids[1+i%hubEnds], i,
			)
		}
		return "/api/commands/batch", `{"commands":[` + strings.Join(edges, ",") + `]}`
	})
	r.Say("%.0f edges/s in batches of %d", made.perSecond(), inBatch)
	r.Add("batch/edges", "commands/s", made.perSecond())
	return ids[0]
}

// postgresProcesses are the processes of the server's Postgres.
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
