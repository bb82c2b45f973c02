package bench

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/test/bench/record"
)

const (
	fewCallers       = 8
	manyCallers      = 256
	commandsPerBatch = 1000
)

// BenchmarkCommands measures commands on the graph from request to answer, which follows the commit in
// Postgres. Its baselines, in turn, write the rows that the service wrote to the same engine directly:
// in the same transactions, and in one transaction per command.
func BenchmarkCommands(b *testing.B) {
	const turns = 3
	r := record.New(b)
	t := start(b, slices.Concat(quiet, withoutSearch)...)
	r.Engines(t.engines())
	g := &graphLoad{t: t, http: &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: manyCallers, DisableCompression: true},
	}}
	g.singles(fewCallers, 1000) // warms up
	t.settlePostgres()
	r.Logf("undo and redo with a thousand nodes")
	g.addPercentiles(r, "undo/small/", g.undoRedo(2000))
	r.Logf("round trips, %d callers", fewCallers)
	g.addPercentiles(r, "round-trip/", g.singles(fewCallers, 10_000))
	rows := t.newDirectRows()
	for turn := range turns {
		from := g.sequence()
		single := g.singles(manyCallers, 30_000)
		grouped, alone := rows.write(from), rows.writeEach(from)
		r.Logf("turn %d of %d: %.0f commands/s by %d callers, rows only %.0f/s, one transaction per command %.0f/s",
			turn+1, turns, single.perSecond(), manyCallers, grouped, alone)
		r.Add("single/service", "commands/s", single.perSecond())
		r.Add("single/rows", "commands/s", grouped)
		r.Add("single/rows-alone", "commands/s", alone)
		r.Add("single/of-rows", "ratio", single.perSecond()/grouped)
		r.Add("single/of-rows-alone", "ratio", single.perSecond()/alone)
		r.Add("single/together", "commands", rows.commandsPerTransaction(from))
	}
	for turn := range turns {
		from := g.sequence()
		batches := g.batches(4, 100)
		grouped := rows.write(from)
		r.Logf(
			"turn %d of %d: %.0f commands/s in batches of %d, rows only %.0f/s", turn+1, turns, batches.perSecond(),
			commandsPerBatch, grouped*commandsPerBatch,
		)
		r.Add("batch/service", "commands/s", batches.perSecond())
		r.Add("batch/rows", "commands/s", grouped*commandsPerBatch)
		r.Add("batch/of-rows", "ratio", batches.perSecond()/(grouped*commandsPerBatch))
	}
	r.Logf("with the role embeddings")
	t.restart(quiet)
	for range turns {
		r.Add("indexed/single", "commands/s", g.singles(manyCallers, 15_000).perSecond())
		r.Add("indexed/batch", "commands/s", g.batches(4, 30).perSecond())
	}
	g.addPercentiles(r, "indexed/round-trip/", g.singles(fewCallers, 5000))
	t.restart(slices.Concat(quiet, withoutSearch))
	const large = 1_000_000
	for have := rows.count("nodes"); have < large; have = rows.count("nodes") {
		r.Logf("%d of %d nodes", have, large)
		g.batches(4, min(100, int(large-have+commandsPerBatch-1)/commandsPerBatch))
	}
	t.settlePostgres()
	r.Logf("undo and redo with a million nodes")
	g.addPercentiles(r, "undo/large/", g.undoRedo(2000))
	r.Logf("delete and undo of a node with %d edges", hubEdges)
	g.hub(r)
	r.Save()
}

// quiet disables the request log.
var quiet = []string{"--log-level", "warn"}

// restart restarts the server with other arguments and the same data, and waits until Postgres is
// idle.
func (t *target) restart(args []string) {
	t.b.Helper()
	require.Zero(t.b, t.Stop())
	t.Args = args
	t.Start()
	t.settlePostgres()
}

// graphLoad sends commands.
type graphLoad struct {
	t       *target
	http    *http.Client
	created atomic.Int64
	tenants []graphTenant // whose commands are sent in turn; empty: the workspace of the first run
	sent    atomic.Int64
}

// graphTenant is a workspace with a key.
type graphTenant struct{ workspace, key string }

// tenant returns the workspace of the next request.
func (g *graphLoad) tenant() graphTenant {
	if len(g.tenants) == 0 {
		return graphTenant{workspace: g.t.First.WorkspaceID, key: g.t.First.AdminKey}
	}
	return g.tenants[int(g.sent.Add(1))%len(g.tenants)]
}

// graphResult is the result of a run.
type graphResult struct {
	commands int
	took     time.Duration
	each     []time.Duration // of each request, sorted
}

func (g graphResult) perSecond() float64 { return float64(g.commands) / g.took.Seconds() }

// addPercentiles records percentiles of the requests' latencies.
func (g *graphLoad) addPercentiles(r *record.Recorder, prefix string, result graphResult) {
	for _, p := range []struct {
		name  string
		share float64
	}{{"p50", 0.50}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}} {
		index := min(int(p.share*float64(len(result.each))), len(result.each)-1)
		r.Add(prefix+p.name, "ms", result.each[index].Seconds()*1000)
	}
}

// run sends n requests from concurrent callers. body returns the path and the body of the next request.
func (g *graphLoad) run(callers, n, commandsEach int, body func() (path, body string)) graphResult {
	g.t.b.Helper()
	times := make([]time.Duration, n)
	var next atomic.Int64
	var work errgroup.Group
	began := time.Now()
	for range callers {
		work.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				path, payload := body()
				sent := time.Now()
				if err := g.post(path, payload); err != nil {
					return err
				}
				times[i] = time.Since(sent)
			}
		})
	}
	require.NoError(g.t.b, work.Wait())
	took := time.Since(began)
	slices.Sort(times)
	return graphResult{commands: n * commandsEach, took: took, each: times}
}

func (g *graphLoad) post(path, body string) error {
	request, err := http.NewRequest(http.MethodPost, "http://"+g.t.Listen+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	tenant := g.tenant()
	request.Header.Set("Authorization", "Bearer "+tenant.key)
	request.Header.Set("X-Workspace-Id", tenant.workspace)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Prefer", "wait=30") // for the deletion of many edges
	_, _, err = exchange(g.http, request)
	return err
}

// singles creates nodes, one per command.
func (g *graphLoad) singles(callers, n int) graphResult {
	g.t.b.Helper()
	return g.run(callers, n, 1, func() (string, string) { return "/api/commands/execute", g.createNode() })
}

// batches creates nodes in atomic batches of a thousand.
func (g *graphLoad) batches(callers, n int) graphResult {
	g.t.b.Helper()
	return g.run(callers, n, commandsPerBatch, func() (string, string) {
		var body strings.Builder
		body.WriteString(`{"commands":[`)
		for i := range commandsPerBatch {
			if i > 0 {
				body.WriteByte(',')
			}
			body.WriteString(g.createNode())
		}
		body.WriteString("]}")
		return "/api/commands/batch", body.String()
	})
}

// undoRedo undoes and redoes the last command alternately, from one caller.
func (g *graphLoad) undoRedo(n int) graphResult {
	g.t.b.Helper()
	if err := g.post("/api/commands/execute", g.createNode()); err != nil {
		g.t.b.Fatal(err)
	}
	undo := false
	return g.run(1, n, 1, func() (string, string) {
		if undo = !undo; undo {
			return "/api/commands/execute", `{"type":"UNDO"}`
		}
		return "/api/commands/execute", `{"type":"REDO"}`
	})
}

func (g *graphLoad) createNode() string {
	n := g.created.Add(1)
	return fmt.Sprintf(`{"type":"CREATE_NODE","payload":{"id":%q,"name":"pump %d","entityType":"object",`+
		`"description":"a pump in hall %d that feeds the cooling circuit","properties":{"hall":%d,"serial":"P-%07d"}}}`,
		uuid.Must(uuid.NewV7()), n, n%40, n%40, n)
}

// sequence returns the sequence of the workspace's newest change.
func (g *graphLoad) sequence() int64 {
	g.t.b.Helper()
	return g.t.askPostgres("SELECT sequence FROM graph_heads WHERE workspace_id = $1", g.t.First.WorkspaceID)
}
