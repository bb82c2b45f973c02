package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/test/bench/record"
	dataset "github.com/livegraph/livegraph/test/bench/retrieval"
	"github.com/livegraph/livegraph/test/engines/milvusstandalone"
	"github.com/livegraph/livegraph/test/harness"
)

const (
	largeNodes = 100_000
	largeEdges = 1_000_000
	largeWords = 40 // of a description
)

// BenchmarkRetrievalLarge asks the questions of the Wikipedia data set in a graph of 100,000 nodes and
// a million edges, on Milvus standalone. The texts are random word sequences from the passages. Half
// of the edges lead to the first hundredth of the nodes, the others to any node.
func BenchmarkRetrievalLarge(b *testing.B) {
	r := record.New(b)
	w := dataset.Read(b)
	dir := b.TempDir()
	milvus, err := milvusstandalone.Start(b.Context(), engine.Options{Dir: dir})
	require.NoError(b, err)
	b.Cleanup(func() { _ = milvus.Stop(b.Context()) })
	t := &target{Server: harness.New(b, binary, "--log-level", "warn"), b: b}
	t.Env = append(t.Env, "LIVEGRAPH_MILVUS_ADDRESS="+milvus.Address())
	t.Start()
	r.Engines(t.engines())
	r.Logf("loading %d nodes and %d edges", largeNodes, largeEdges)
	began := time.Now()
	t.loadLarge(r, w)
	r.Add("load", "s", time.Since(began).Seconds())
	t.indexed(r)
	r.Add("indexed", "s", time.Since(began).Seconds())
	t.settlePostgres()
	waitUntilIdle(b)
	for _, lane := range []struct{ name, path, more string }{
		{"search", searchPath, ``},
		{"hybrid", hybridPath, ``},
		{"hybrid-3-hops", hybridPath, `,"hops":3`},
		{"hybrid-filtered", hybridPath, `,"properties":{"line":7}`},
	} {
		times := t.askQuestions(w, lane.path, lane.more)
		addTimes(r, lane.name, times)
		r.Logf("%s: p50 %.1f ms, p95 %.1f ms", lane.name, times[len(times)/2], times[len(times)*95/100])
	}
	t.Stop()
	r.Save()
}

// waitUntilIdle waits until the background work of engines after a load is done: until the machine was
// almost idle for some seconds.
func waitUntilIdle(b *testing.B) {
	b.Helper()
	const interval, maxBusy = 5 * time.Second, 0.1
	deadline := time.Now().Add(settleLimit)
	for busy, all := machineTime(b); ; {
		time.Sleep(interval)
		busyNow, allNow := machineTime(b)
		if float64(busyNow-busy) < maxBusy*float64(allNow-all) {
			return
		}
		require.True(b, time.Now().Before(deadline), "the machine does not become idle")
		busy, all = busyNow, allNow
	}
}

// machineTime returns the busy time and the total time of all processors, in ticks (proc_stat(5)).
func machineTime(b *testing.B) (busy, all int64) {
	b.Helper()
	text, err := os.ReadFile("/proc/stat")
	require.NoError(b, err)
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(b, err)
		const idle, ioWait = 3, 4
		if all += n; i != idle && i != ioWait {
			busy += n
		}
	}
	return busy, all
}

// loadLarge creates the large graph.
func (t *target) loadLarge(r *record.Recorder, w *dataset.Set) {
	t.b.Helper()
	random := rand.New(rand.NewPCG(1, largeNodes))
	ids := make([]uuid.UUID, largeNodes)
	for i := range ids {
		ids[i] = uuid.New()
	}
	var batch []command
	send := func(done, all int) {
		t.Do(http.MethodPost, "/api/commands/batch", map[string]any{"commands": batch}, http.StatusOK, nil)
		if batch = batch[:0]; done%100_000 == 0 {
			r.Logf("wrote %d of %d", done, all)
		}
	}
	for i, id := range ids {
		node := createNode(id, fmt.Sprintf("Unit %d", i), someWords(random, w, largeWords))
		node.Payload["properties"] = map[string]any{"line": i % 1000}
		if batch = append(batch, node); len(batch) == 1000 {
			send(i+1, largeNodes)
		}
	}
	for i := range largeEdges {
		to := random.IntN(largeNodes)
		if i%2 == 0 {
			to = random.IntN(largeNodes / 100)
		}
		from := random.IntN(largeNodes - 1)
		if from >= to {
			from++
		}
		batch = append(batch, command{"CREATE_EDGE", map[string]any{
			"sourceId": ids[from], "targetId": ids[to], "relationType": "feeds",
		}})
		if len(batch) == 1000 {
			send(i+1, largeEdges)
		}
	}
}

// someWords returns word sequences from random passages.
func someWords(random *rand.Rand, w *dataset.Set, count int) string {
	var text []string
	for len(text) < count {
		words := strings.Fields(w.Passages[random.IntN(len(w.Passages))].Text)
		from := random.IntN(len(words))
		text = append(text, words[from:min(from+count/2, len(words))]...)
	}
	return strings.Join(text[:count], " ")
}

// askQuestions asks all questions, with an untimed first round, and returns the latencies in ms.
func (t *target) askQuestions(w *dataset.Set, path, more string) (times []float64) {
	t.b.Helper()
	for round := range retrievalRounds + 1 {
		for i := range w.Questions {
			if _, took := t.search(path, w.Questions[i].Question, more); round > 0 {
				times = append(times, took.Seconds()*1000)
			}
		}
	}
	slices.Sort(times)
	return times
}
