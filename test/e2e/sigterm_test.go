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

// endLimit is how long the whole process, engines included, may take to end.
const endLimit = 10 * time.Second

// TestTheProcessEndsInOrderUnderEverythingAtOnce sends SIGTERM while clients of every
// kind are busy: ingest, commands, queries, searches, and readers of both streams. The
// process ends with 0 in time; who was answered was told the truth, by a success or by
// 502, 503 or 504 with Retry-After; no answer broke off; and what was acknowledged is
// there after the next start, once.
func TestTheProcessEndsInOrderUnderEverythingAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	rush := newRush(s)
	rush.start()
	rush.waitUntilBusy()

	began := time.Now()
	rush.ending.Store(true)
	code := s.Stop()
	took := time.Since(began)
	rush.end()
	require.Zero(t, code)
	require.Less(t, took, endLimit)
	rush.report(took)

	s.Start()
	rush.requireKept()
}

// kinds of requests of a rush, with how many clients each has beside those that write
// the graph.
var rushKinds = []string{"ingest", "query", "nodes", "search", "points stream", "events stream"}

// rush is clients of every kind.
type rush struct {
	s       *server
	source  string
	fleet   *graphFleet
	ending  atomic.Bool // SIGTERM was sent
	stopped atomic.Bool
	work    sync.WaitGroup
	batches atomic.Int64 // numbers given out

	mu       sync.Mutex
	kept     []int          // batches that were answered 201
	answered map[string]int // answers that were successes, by kind
	refused  map[int]int    // 502, 503 and 504 after SIGTERM
	broken   map[string]int // requests without an answer after SIGTERM, by what the connection said
	wrong    []string       // what must not be
	streams  map[string]int // streams that began
}

func newRush(s *server) *rush {
	r := &rush{s: s, source: s.createSource("rush"), fleet: newGraphFleet(s, 7),
		answered: map[string]int{}, refused: map[int]int{}, broken: map[string]int{}, streams: map[string]int{}}
	r.fleet.judge = func(path string, a harness.Answer, err error) { r.judge(path, a, err) }
	return r
}

// start starts three clients of each kind, and those that write the graph.
func (r *rush) start() {
	r.fleet.start()
	for _, kind := range rushKinds {
		for range 3 {
			r.work.Go(func() {
				for !r.stopped.Load() {
					r.once(kind)
				}
			})
		}
	}
}

// once creates one request of a kind.
func (r *rush) once(kind string) {
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
			r.kept = append(r.kept, n)
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
	r.judge(kind, a, err)
}

// judge looks at an answer, or at why there is none.
func (r *rush) judge(kind string, a harness.Answer, err error) {
	r.mu.Lock()
	ending := r.ending.Load()
	switch {
	case err != nil && !ending:
		r.wrong = append(r.wrong, fmt.Sprintf("%s: no answer before the end: %v", kind, err))
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.wrong = append(r.wrong, fmt.Sprintf("%s: an answer broke off", kind))
	case err != nil:
		r.broken[whyBroken(err)]++
	case a.Status == http.StatusBadGateway || a.Status == http.StatusServiceUnavailable ||
		a.Status == http.StatusGatewayTimeout:
		r.refused[a.Status]++
		if a.Header.Get("Retry-After") == "" {
			r.wrong = append(r.wrong, fmt.Sprintf("%s: %d without Retry-After: %+v", kind, a.Status, a.Error))
		}
	case a.Status >= 500:
		r.wrong = append(r.wrong, fmt.Sprintf("%s: %d: %+v", kind, a.Status, a.Error))
	default:
		r.answered[kind]++
	}
	r.mu.Unlock()
	if err != nil {
		time.Sleep(10 * time.Millisecond) // nobody listens any more
	}
}

// whyBroken tells a door that is closed from a connection that ended.
func whyBroken(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "refused"
	}
	return "ended before an answer"
}

// stream opens a stream and reads it to its end.
func (r *rush) stream(kind string) {
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
		r.judge(kind, harness.Answer{}, err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		r.mu.Lock()
		r.streams[kind]++
		r.mu.Unlock()
	}
	_, err = io.Copy(io.Discard, response.Body)
	r.judge(kind, harness.Answer{Status: response.StatusCode, Header: response.Header}, err)
}

// waitUntilBusy waits until clients of every kind got something done.
func (r *rush) waitUntilBusy() {
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
	}, 60*time.Second, 20*time.Millisecond)
}

func (r *rush) end() {
	r.stopped.Store(true)
	r.fleet.stop()
	r.work.Wait()
}

func (r *rush) report(took time.Duration) {
	t := r.s.t
	t.Helper()
	t.Logf(
		"ended in %s; answered %v, refused while it ended %v, without an answer %v", took.Round(time.Millisecond), r.answered,
		r.refused, r.broken,
	)
	require.Empty(t, r.wrong[:min(len(r.wrong), 10)])
}

// requireKept requires that everything acknowledged is there, and nothing twice.
func (r *rush) requireKept() {
	t := r.s.t
	t.Helper()
	r.s.waitConsumed(r.source)
	var groups []struct{ Points [][]float64Or }
	r.s.Do(http.MethodGet, "/api/live-data/query?"+url.Values{ // a batch is a hundred seconds
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
	require.NotEmpty(t, r.kept)
	for _, n := range r.kept {
		at := epoch.Add(time.Duration(n*pointsInSeries) * time.Second).Format(time.RFC3339)
		require.Equal(t, [2]float64{pointsInBatch, batch{n}.sum()}, found[at], "batch %d at %s", n, at)
	}
	reader := readEvents(r.s)
	defer reader.stop()
	last := r.fleet.mustWrite(t)
	reader.waitFor(t, last.Sequence)
	require.Empty(t, reader.violations())
	reader.compareAnswers(t, r.fleet.answered())
	compareGraphs(t, reader.fold(), listGraph(r.s))
}
