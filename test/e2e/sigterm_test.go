package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

// shutdownLimit is the maximum time for a shutdown of the process and its engines.
const shutdownLimit = 10 * time.Second

// TestTheProcessEndsInOrderUnderEverythingAtOnce sends SIGTERM under load by clients of every kind:
// ingest, commands, queries, searches, and readers of both streams. The process ends with 0 in time.
// Every answer is a success or 502, 503 or 504 with Retry-After, and none is truncated. Everything
// acknowledged exists once after the next start.
func TestTheProcessEndsInOrderUnderEverythingAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	load := newShutdownLoad(s)
	load.start()
	load.waitUntilBusy()

	began := time.Now()
	load.terminating.Store(true)
	code := s.Stop()
	took := time.Since(began)
	load.end()
	require.Zero(t, code)
	require.Less(t, took, shutdownLimit)
	load.report(took)

	s.Start()
	load.requireKept()
}

// requestKinds are the kinds of requests, in addition to the commands of graphLoad.
var requestKinds = []string{"ingest", "query", "nodes", "search", "points stream", "events stream"}

// shutdownLoad is clients of every kind and the answers that they received.
type shutdownLoad struct {
	s           *server
	source      string
	graph       *graphLoad
	terminating atomic.Bool // SIGTERM was sent
	stopped     atomic.Bool
	work        sync.WaitGroup
	batches     atomic.Int64 // numbers of the next batches

	mu           sync.Mutex
	acknowledged []int          // batches that were answered 201
	answered     map[string]int // answers that were successes, by kind
	refused      map[int]int    // 502, 503 and 504 after SIGTERM
	broken       map[string]int // requests without an answer after SIGTERM, by connection error
	failures     []string       // violations
	streams      map[string]int // started streams, by kind
}

func newShutdownLoad(s *server) *shutdownLoad {
	r := &shutdownLoad{s: s, source: s.createSource("rush"), graph: newGraphLoad(s, 7),
		answered: map[string]int{}, refused: map[int]int{}, broken: map[string]int{}, streams: map[string]int{}}
	r.graph.check = func(path string, a harness.Answer, err error) { r.check(path, a, err) }
	return r
}

// start starts three clients of each kind, and those of graphLoad.
func (r *shutdownLoad) start() {
	r.graph.start()
	for _, kind := range requestKinds {
		for range 3 {
			r.work.Go(func() {
				for !r.stopped.Load() {
					r.send(kind)
				}
			})
		}
	}
}

// send sends one request of a kind.
func (r *shutdownLoad) send(kind string) {
	var a harness.Answer
	var err error
	times := "&from=" + url.QueryEscape(epoch.Format(time.RFC3339)) + "&to=" + url.QueryEscape(
		epoch.AddDate(0, 2, 0).Format(time.RFC3339),
	)
	switch kind {
	case "ingest":
		n := int(r.batches.Add(1)) - 1
		a, err = r.s.Try(http.MethodPost, "/api/live-data/ingest", batch{n}.body(r.source))
		if err == nil && a.Status == http.StatusCreated {
			r.mu.Lock()
			r.acknowledged = append(r.acknowledged, n)
			r.mu.Unlock()
		}
	case "query":
		a, err = r.s.Try(
			http.MethodGet, "/api/live-data/query?aggregation=avg&interval=1m&metric=m1&sourceId="+r.source+times, nil,
		)
	case "nodes":
		a, err = r.s.Try(http.MethodGet, "/api/queries/nodes?limit=50&sort=-updatedAt", nil)
	case "search":
		a, err = r.s.Try(http.MethodPost, "/api/rag/hybrid-search", []byte(`{"query":"pump that moves water","hops":2}`))
	default:
		r.stream(kind)
		return
	}
	r.check(kind, a, err)
}

// check classifies an answer, or the error if there is none.
func (r *shutdownLoad) check(kind string, a harness.Answer, err error) {
	r.mu.Lock()
	ending := r.terminating.Load()
	switch {
	case err != nil && !ending:
		r.failures = append(r.failures, fmt.Sprintf("%s: no answer before the end: %v", kind, err))
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.failures = append(r.failures, fmt.Sprintf("%s: an answer broke off", kind))
	case err != nil:
		r.broken[connectionError(err)]++
	case a.Status == http.StatusBadGateway || a.Status == http.StatusServiceUnavailable ||
		a.Status == http.StatusGatewayTimeout:
		r.refused[a.Status]++
		if a.Header.Get("Retry-After") == "" {
			r.failures = append(r.failures, fmt.Sprintf("%s: %d without Retry-After: %+v", kind, a.Status, a.Error))
		}
	case a.Status >= 500:
		r.failures = append(r.failures, fmt.Sprintf("%s: %d: %+v", kind, a.Status, a.Error))
	default:
		r.answered[kind]++
	}
	r.mu.Unlock()
	if err != nil {
		time.Sleep(10 * time.Millisecond) // the listener is closed
	}
}

// connectionError distinguishes a refused connection from one that ended before an answer.
func connectionError(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "refused"
	}
	return "ended before an answer"
}

// stream opens a stream and reads it to its end.
func (r *shutdownLoad) stream(kind string) {
	path := "/api/queries/events"
	if kind == "points stream" {
		path = "/api/live-data/stream?sourceId=" + r.source
	}
	request, err := http.NewRequest(http.MethodGet, r.s.URL()+path, nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.s.First.AdminKey)
	request.Header.Set("X-Workspace-Id", r.s.First.WorkspaceID)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.check(kind, harness.Answer{}, err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		r.mu.Lock()
		r.streams[kind]++
		r.mu.Unlock()
	}
	_, err = io.Copy(io.Discard, response.Body)
	r.check(kind, harness.Answer{Status: response.StatusCode, Header: response.Header}, err)
}

// waitUntilBusy waits until clients of every kind have received answers.
func (r *shutdownLoad) waitUntilBusy() {
	r.s.t.Helper()
	require.Eventually(r.s.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, kind := range []string{"ingest", "query", "nodes", "search", "/api/commands/execute", "/api/commands/batch"} {
			if r.answered[kind] < 20 {
				return false
			}
		}
		return r.streams["points stream"] == 3 && r.streams["events stream"] == 3
	}, time.Minute, 20*time.Millisecond)
}

func (r *shutdownLoad) end() {
	r.stopped.Store(true)
	r.graph.stop()
	r.work.Wait()
}

func (r *shutdownLoad) report(took time.Duration) {
	t := r.s.t
	t.Helper()
	t.Logf(
		"ended in %s; answered %v, refused while it ended %v, without an answer %v", took.Round(time.Millisecond), r.answered,
		r.refused, r.broken,
	)
	require.Empty(t, r.failures[:min(len(r.failures), 10)])
}

// requireKept requires that everything acknowledged exists once.
func (r *shutdownLoad) requireKept() {
	t := r.s.t
	t.Helper()
	r.s.waitConsumed(r.source)
	var groups []struct{ Points [][]cell }
	r.s.Do(http.MethodGet, "/api/live-data/query?"+url.Values{ // a batch spans a hundred seconds
		"sourceId": {r.source}, "aggregation": {"count,sum"}, "groupBy": {"none"}, "interval": {"100s"},
		"pointsLimit": {"100000"},
		"from":        {epoch.Format(time.RFC3339)},
		"to":          {epoch.Add(time.Duration(r.batches.Load()*pointsInSeries) * time.Second).Format(time.RFC3339)},
	}.Encode(), nil, http.StatusOK, &groups)
	require.Len(t, groups, 1)
	found := map[string][2]float64{}
	for _, row := range groups[0].Points {
		found[row[0].text] = [2]float64{row[1].number, row[2].number}
	}
	require.NotEmpty(t, r.acknowledged)
	for _, n := range r.acknowledged {
		at := epoch.Add(time.Duration(n*pointsInSeries) * time.Second).Format(time.RFC3339)
		require.Equal(t, [2]float64{pointsInBatch, batch{n}.sum()}, found[at], "batch %d at %s", n, at)
	}
	reader := readEvents(r.s)
	defer reader.stop()
	last := r.graph.mustWrite(t)
	reader.waitFor(t, last.Sequence)
	require.Empty(t, reader.violations())
	reader.compareAnswers(t, r.graph.answered())
	compareGraphs(t, reader.fold(), listGraph(r.s))
}
