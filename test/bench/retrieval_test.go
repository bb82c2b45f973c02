package bench

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/bench/record"
	dataset "github.com/livegraph/livegraph/test/bench/retrieval"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/paraphrases"
)

const (
	// indexTimeout limits the time to embed the 6,119 passages on a busy machine.
	indexTimeout    = 40 * time.Minute
	retrievalRounds = 3   // how often each question is asked
	probes          = 30  // nodes whose indexing time is measured
	textsASecond    = 200 // of a few words
	pagesASecond    = 20  // of pageWords, about 120 tokens of the model
	pageWords       = 90
)

// BenchmarkRetrieval loads the data set through the API, asks its questions with each lane and with
// all of them, and measures the time until a written node is found. LIVEGRAPH_BENCH_EMBEDDERS lists
// other values of --embedder to measure.
func BenchmarkRetrieval(b *testing.B) {
	r := record.New(b)
	w := dataset.Read(b)
	models := []string{"static", "minilm"}
	if selected := strings.Fields(os.Getenv("LIVEGRAPH_BENCH_EMBEDDERS")); len(selected) > 0 {
		models = selected
	}
	for _, model := range models {
		t := &target{Server: harness.New(b, binary, "--log-level", "warn"), b: b}
		switch model {
		case "static":
		case "minilm":
			t.Env = append(t.Env, "LIVEGRAPH_EMBEDDER=")
		default:
			t.Env = append(t.Env, "LIVEGRAPH_EMBEDDER="+model)
		}
		t.Start()
		r.Engines(t.engines())
		r.Logf("%s: loading %d passages", model, len(w.Passages))
		began := time.Now()
		t.loadWiki(w)
		t.indexed(r)
		r.Add(model+"/load", "s", time.Since(began).Seconds())
		for _, lane := range []struct{ name, path, more string }{
			{"text", hybridPath, `,"hops":0,"weights":{"text":1,"vector":0,"graph":0}`},
			{"vector", hybridPath, `,"hops":0,"weights":{"text":0,"vector":1,"graph":0}`},
			{"search", searchPath, ``},
			{"hybrid", hybridPath, ``},
		} {
			r.Logf("%s: %s", model, lane.name)
			t.measureQuestions(r, w, model+"/"+lane.name, lane.path, lane.more)
		}
		r.Logf("%s: paraphrases", model)
		r.Add(model+"/paraphrases", "%", t.paraphrases(b))
		r.Logf("%s: freshness at %d commands/s", model, textsASecond)
		addTimes(r, model+"/fresh", t.freshness(textsASecond, func() string {
			return "Reads " + uuid.NewString() + " in the yard."
		}))
		r.Logf("%s: freshness at %d passages/s", model, pagesASecond)
		random := rand.New(rand.NewPCG(1, pageWords))
		addTimes(r, model+"/fresh-passages", t.freshness(pagesASecond, func() string {
			return someWords(random, w, pageWords)
		}))
		t.Stop()
	}
	r.Save()
}

const (
	searchPath = "/api/rag/search"
	hybridPath = "/api/rag/hybrid-search"
)

// command is a command of a batch.
type command struct {
	Type    string         `json:"type"`
	Payload map[string]any `json:"payload"`
}

func createNode(id uuid.UUID, name, description string) command {
	return command{"CREATE_NODE", map[string]any{
		"id": id, "name": name, "description": description, "entityType": "concept",
	}}
}

// loadWiki creates a node per passage and an edge per mention.
func (t *target) loadWiki(w *dataset.Set) {
	t.b.Helper()
	ids := make([]uuid.UUID, len(w.Passages))
	var commands []command
	for i, p := range w.Passages {
		ids[i] = uuid.New()
		commands = append(commands, createNode(ids[i], p.Title, p.Text))
	}
	for _, m := range w.Mentions {
		commands = append(commands, command{"CREATE_EDGE", map[string]any{
			"sourceId": ids[m[0]], "targetId": ids[m[1]], "relationType": "mentions",
		}})
	}
	for part := range slices.Chunk(commands, 500) {
		t.Do(http.MethodPost, "/api/commands/batch", map[string]any{"commands": part}, http.StatusOK, nil)
	}
}

// indexed waits until search finds everything that was written.
func (t *target) indexed(r *record.Recorder) {
	t.b.Helper()
	deadline := time.Now().Add(indexTimeout)
	for reported := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		var status struct {
			Status string
			Nodes  struct{ Total, Indexed, Pending int }
			Lag    struct{ Events int }
			Links  struct{ Pending int }
		}
		t.Do(http.MethodGet, "/api/rag/index/status", nil, http.StatusOK, &status)
		if status.Status == "ready" && status.Nodes.Pending == 0 && status.Lag.Events == 0 && status.Links.Pending == 0 {
			return
		}
		require.True(t.b, time.Now().Before(deadline), "%+v", status)
		if time.Since(reported) > 15*time.Second {
			reported = time.Now()
			r.Logf("%d of %d nodes are indexed", status.Nodes.Indexed, status.Nodes.Total)
		}
	}
}

// search runs a search and returns the names of the hits and the latency.
func (t *target) search(path, query, more string) (names []string, took time.Duration) {
	t.b.Helper()
	text, err := json.Marshal(query)
	require.NoError(t.b, err)
	body := `{"limit":5,"query":` + string(text) + more + `}`
	began := time.Now()
	a, err := t.Try(http.MethodPost, path, []byte(body))
	took = time.Since(began)
	require.NoError(t.b, err)
	require.Equal(t.b, http.StatusOK, a.Status, "%s: %+v", query, a.Error)
	var hits []struct {
		Node     struct{ Name string }
		Document *struct{ Title string }
	}
	require.NoError(t.b, json.Unmarshal(a.Data, &hits))
	for _, hit := range hits {
		if hit.Document != nil { // the node may be a passage
			hit.Node.Name = hit.Document.Title
		}
		names = append(names, hit.Node.Name)
	}
	return names, took
}

// measureQuestions asks all questions. The first round is not timed.
func (t *target) measureQuestions(r *record.Recorder, w *dataset.Set, name, path, more string) {
	t.b.Helper()
	var times []float64
	var two, five float64
	for round := range retrievalRounds + 1 {
		for i := range w.Questions {
			q := &w.Questions[i]
			found, took := t.search(path, q.Question, more)
			if round == 0 {
				two, five = two+recall(found, q.Gold, 2), five+recall(found, q.Gold, 5)
				continue
			}
			times = append(times, took.Seconds()*1000)
		}
	}
	slices.Sort(times)
	r.Logf("%s: R@2 %.1f, R@5 %.1f, p50 %.1f ms, p95 %.1f ms", name, 100*two/float64(len(w.Questions)),
		100*five/float64(len(w.Questions)), times[len(times)/2], times[len(times)*95/100])
	r.Add(name+"/R@2", "%", 100*two/float64(len(w.Questions)))
	r.Add(name+"/R@5", "%", 100*five/float64(len(w.Questions)))
	addTimes(r, name, times)
}

// recall returns the share of the gold titles among the first results.
func recall(found, gold []string, first int) float64 {
	hit := 0.0
	for _, title := range gold {
		if slices.Contains(found[:min(first, len(found))], title) {
			hit++
		}
	}
	return hit / float64(len(gold))
}

func addTimes(r *record.Recorder, prefix string, times []float64) {
	slices.Sort(times)
	r.Add(prefix+"/p50", "ms", times[len(times)/2])
	r.Add(prefix+"/p95", "ms", times[len(times)*95/100])
}

// paraphrases returns the percentage of pairs found among the first three results, in a workspace of
// its own.
func (t *target) paraphrases(b *testing.B) float64 {
	b.Helper()
	own := *t
	server := *t.Server
	own.Server = &server
	var created struct{ ID, Key string }
	require.NoError(b, json.Unmarshal(
		[]byte(t.CLI("workspaces", "create", "--name", "paraphrases", "--plan", "enterprise", "--json")), &created,
	))
	own.First.WorkspaceID = created.ID
	require.NoError(b, json.Unmarshal(
		[]byte(t.CLI("keys", "create", "--workspace", created.ID, "--name", "paraphrases", "--scope", "admin", "--json")),
		&created,
	))
	own.First.AdminKey = created.Key
	pairs, err := paraphrases.Pairs()
	require.NoError(b, err)
	var commands []command
	for _, p := range pairs {
		commands = append(commands, createNode(uuid.New(), p.Name, p.Description))
	}
	own.Do(http.MethodPost, "/api/commands/batch", map[string]any{"commands": commands}, http.StatusOK, nil)
	own.indexed(record.New(b))
	found := 0.0
	for _, p := range pairs {
		if names, _ := own.search(searchPath, p.Query, ""); slices.Contains(names[:min(3, len(names))], p.Name) {
			found++
		}
	}
	return 100 * found / float64(len(pairs))
}

// freshness writes nodes with texts at a fixed rate, and measures the time from an answer until search
// finds a node by a unique word.
func (t *target) freshness(perSecond int, text func() string) (times []float64) {
	t.b.Helper()
	stop := make(chan struct{})
	var load sync.WaitGroup
	var textMu sync.Mutex
	due := time.NewTicker(time.Second / time.Duration(perSecond))
	defer due.Stop()
	for range 16 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-due.C:
					textMu.Lock()
					payload, _ := json.Marshal(createNode(uuid.New(), "Meter", text()))
					textMu.Unlock()
					_, _ = t.Try(http.MethodPost, "/api/commands/execute", payload)
				}
			}
		})
	}
	for range probes {
		word := strings.ReplaceAll(uuid.NewString(), "-", "")
		t.Do(
			http.MethodPost, "/api/commands/execute", createNode(uuid.New(), "Probe "+word, "Is looked for."),
			http.StatusCreated, nil,
		)
		began := time.Now()
		for {
			// An empty result and an error of a busy engine mean that the node is not indexed yet.
			a, err := t.Try(http.MethodPost, searchPath, []byte(`{"query":"`+word+`"}`))
			if err == nil && strings.Contains(string(a.Data), "Probe "+word) {
				break
			}
			require.Less(t.b, time.Since(began), time.Minute, "the node is not found")
			time.Sleep(10 * time.Millisecond)
		}
		times = append(times, time.Since(began).Seconds()*1000)
		time.Sleep(300 * time.Millisecond)
	}
	close(stop)
	load.Wait()
	return times
}
