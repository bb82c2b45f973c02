package bench

import (
	"bytes"
	"fmt"
	"io"
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
	fewCallers  = 8
	manyCallers = 256
	inBatch     = 1000
)

// BenchmarkCommands measures commands on the graph from request to answer, which is
// after the commit in Postgres. Its baselines, in turn with it, write the rows that
// the service wrote to the same engine with no service in between: in the same
// transactions, and each command's in one of its own.
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
	r.Say("undo and redo with a thousand nodes")
	g.times(r, "undo/small/", g.undoRedo(2000))
	r.Say("round trips, %d callers", fewCallers)
	g.times(r, "round-trip/", g.singles(fewCallers, 10_000))
	rows := t.newDirectRows()
	for turn := range turns {
		from := g.sequence()
		single := g.singles(manyCallers, 30_000)
		grouped, alone := rows.write(from), rows.writeAlone(from)
		r.Say("turn %d of %d: %.0f commands/s by %d callers, their rows alone %.0f/s, in a transaction each %.0f/s",
			turn+1, turns, single.perSecond(), manyCallers, grouped, alone)
		r.Add("single/service", "commands/s", single.perSecond())
		r.Add("single/rows", "commands/s", grouped)
		r.Add("single/rows-alone", "commands/s", alone)
		r.Add("single/of-rows", "ratio", single.perSecond()/grouped)
		r.Add("single/of-rows-alone", "ratio", single.perSecond()/alone)
		r.Add("single/together", "commands", rows.together(from))
	}
	for turn := range turns {
		from := g.sequence()
		batches := g.batches(4, 100)
		grouped := rows.write(from)
		r.Say(
			"turn %d of %d: %.0f commands/s in batches of %d, their rows alone %.0f/s", turn+1, turns, batches.perSecond(),
			inBatch, grouped*inBatch,
		)
		r.Add("batch/service", "commands/s", batches.perSecond())
		r.Add("batch/rows", "commands/s", grouped*inBatch)
		r.Add("batch/of-rows", "ratio", batches.perSecond()/(grouped*inBatch))
	}
	r.Say("beside the role embeddings")
	t.again(quiet)
	for range turns {
		r.Add("indexed/single", "commands/s", g.singles(manyCallers, 15_000).perSecond())
		r.Add("indexed/batch", "commands/s", g.batches(4, 30).perSecond())
	}
	g.times(r, "indexed/round-trip/", g.singles(fewCallers, 5000))
	t.again(slices.Concat(quiet, withoutSearch))
	const large = 1_000_000
	for have := rows.count("nodes"); have < large; have = rows.count("nodes") {
		r.Say("%d nodes of %d", have, large)
		g.batches(4, min(100, int(large-have+inBatch-1)/inBatch))
	}
	t.settlePostgres()
	r.Say("undo and redo with a million nodes")
	g.times(r, "undo/large/", g.undoRedo(2000))
	r.Say("a node with %d edges", hubEdges)
	g.hub(r)
	r.Save()
}

// quiet has requests not logged.
var quiet = []string{"--log-level", "warn"}

// again ends the server and starts it with other arguments, on the same data, and
// waits until Postgres has nothing to do any more.
func (t *target) again(args []string) {
	t.b.Helper()
	require.Zero(t.b, t.Stop())
	t.Args = args
	t.Start()
	t.settlePostgres()
}

// graphLoad sends commands.
type graphLoad struct {
	t    *target
	http *http.Client
	made atomic.Int64
}

// graphResult is what a run took.
type graphResult struct {
	commands int
	took     time.Duration
	each     []time.Duration // of each request, in order of length
}

func (g graphResult) perSecond() float64 { return float64(g.commands) / g.took.Seconds() }

// times adds percentiles of the requests' times.
func (g *graphLoad) times(r *record.Recorder, prefix string, result graphResult) {
	for _, p := range []struct {
		name string
		of   float64
	}{{"p50", 0.50}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}} {
		at := min(int(p.of*float64(len(result.each))), len(result.each)-1)
		r.Add(prefix+p.name, "ms", result.each[at].Seconds()*1000)
	}
}

// run makes n requests by some callers; body gives each one's path and body.
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
	request.Header.Set("Authorization", "Bearer "+g.t.First.AdminKey)
	request.Header.Set("X-Workspace-Id", g.t.First.WorkspaceID)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Prefer", "wait=30") // a deletion of many edges
	response, err := g.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %d %s", path, response.StatusCode, bytes.TrimSpace(answer[:min(len(answer), 300)]))
	}
	return err
}

// singles makes nodes, one a command.
func (g *graphLoad) singles(callers, n int) graphResult {
	g.t.b.Helper()
	return g.run(callers, n, 1, func() (string, string) { return "/api/commands/execute", g.createNode() })
}

// batches makes nodes, a thousand in an atomic batch.
func (g *graphLoad) batches(callers, n int) graphResult {
	g.t.b.Helper()
	return g.run(callers, n, inBatch, func() (string, string) {
		var body strings.Builder
		body.WriteString(`{"commands":[`)
		for i := range inBatch {
			if i > 0 {
				body.WriteByte(',')
			}
			body.WriteString(g.createNode())
		}
		body.WriteString("]}")
		return "/api/commands/batch", body.String()
	})
}

// undoRedo undoes the last command and redoes it, in turns, by one caller.
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
	n := g.made.Add(1)
	return fmt.Sprintf(`{"type":"CREATE_NODE","payload":{"id":%q,"name":"pump %d","entityType":"object",`+
		`"description":"a pump in hall %d that feeds the cooling circuit","properties":{"hall":%d,"serial":"P-%07d"}}}`,
		uuid.Must(uuid.NewV7()), n, n%40, n%40, n)
}

// sequence is that of the workspace's newest change.
func (g *graphLoad) sequence() int64 {
	g.t.b.Helper()
	return g.t.askPostgres("SELECT sequence FROM graph_heads WHERE workspace_id = $1", g.t.First.WorkspaceID)
}
