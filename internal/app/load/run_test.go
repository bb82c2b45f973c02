package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// fakeServer implements the part of the API that a load uses, and counts requests.
type fakeServer struct {
	mu      sync.Mutex
	sources map[string]bool
	points  int
	waits   []string // checkpoints that were waited for
	ingest  func(w http.ResponseWriter, number int) (handled bool)
	number  int // of ingests
}

func newFakeServer(t *testing.T) (*fakeServer, Target) {
	t.Helper()
	p := &fakeServer{sources: map[string]bool{}, ingest: func(http.ResponseWriter, int) bool { return false }}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/live-data/sources", p.createSource)
	mux.HandleFunc("DELETE /api/live-data/sources/{id}", p.deleteSource)
	mux.HandleFunc("POST /api/live-data/ingest", p.ingestPoints)
	mux.HandleFunc("GET /api/live-data/query", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waits = append(p.waits, r.URL.Query().Get("checkpoint"))
		answer(w, 200, `[]`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return p, Target{BaseURL: server.URL, Workspace: "w", Key: "k"}
}

func answer(w http.ResponseWriter, status int, data string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"success":true,"data":`+data+`}`)
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"success":false,"error":{"message":%q}}`, message)
}

func (p *fakeServer) createSource(w http.ResponseWriter, r *http.Request) {
	var s struct{ Name string }
	_ = json.NewDecoder(r.Body).Decode(&s)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sources["id of "+s.Name] = true
	answer(w, 201, fmt.Sprintf(`{"id":%q}`, "id of "+s.Name))
}

func (p *fakeServer) deleteSource(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sources, r.PathValue("id"))
	w.WriteHeader(http.StatusNoContent)
}

func (p *fakeServer) ingestPoints(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Series []struct{ Timestamps []int64 }
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	n := 0
	for _, s := range body.Series {
		n += len(s.Timestamps)
	}
	p.mu.Lock()
	number := p.number
	p.number++
	p.mu.Unlock()
	if p.ingest(w, number) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.points += n
	answer(w, 201, fmt.Sprintf(`{"accepted":%d,"rejected":0,"checkpoint":"c%d"}`, n, number))
}

func newTestFleet(t *testing.T, to Target, size Size) *Fleet {
	t.Helper()
	f, err := NewFleet(t.Context(), to, "bench", size)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f
}

func TestALoadIsMadeMeasuredAndRemoved(t *testing.T) {
	p, to := newFakeServer(t)
	f := newTestFleet(t, to, Size{Sources: 5, Series: 20})
	require.Len(t, p.sources, 5)
	require.Equal(t, 20, p.points, "each series is registered")
	for _, prepared := range []bool{false, true} {
		p.points, p.waits = 0, nil
		result, err := f.Run(t.Context(), Plan{Points: 1000, Batch: 40, Callers: 3, Prepared: prepared})
		require.NoError(t, err)
		require.Equal(t, 1000, p.points)
		require.EqualValues(t, 1000, result.Accepted)
		require.EqualValues(t, 1000, result.Visible)
		require.EqualValues(t, 25, result.Requests)
		require.EqualValues(t, 25, result.Latency.Count)
		require.LessOrEqual(t, result.AcceptedSeconds, result.VisibleSeconds)
		require.Contains(t, p.waits, fmt.Sprintf("c%d", p.number-1), "the last request's points are waited for")
		require.Empty(t, result.Refusals)
		require.NotZero(t, result.Freshness.Count)
	}
	require.NoError(t, f.Remove(t.Context()))
	require.Empty(t, p.sources)
}

// TestAFormatThatIsAnsweredByNothingIsSeenByPointsBehindIt checks the wait for visibility of
// a format without checkpoints: Run sends a last point of each series and waits for those.
func TestAFormatThatIsAnsweredByNothingIsSeenByPointsBehindIt(t *testing.T) {
	p, to := newFakeServer(t)
	f := newTestFleet(t, to, Size{Sources: 2, Series: 4})
	p.ingest = func(w http.ResponseWriter, number int) bool {
		if number == 1 || number == 2 { // 0 registered the series
			w.WriteHeader(http.StatusNoContent)
			return true
		}
		return false
	}
	result, err := f.Run(t.Context(), Plan{Points: 8, Batch: 4, Callers: 1, Format: FormatRemote})
	require.NoError(t, err)
	require.EqualValues(t, 8, result.Accepted)
	require.EqualValues(t, 8, result.Visible)
	require.Equal(t, []string{"c0", "c3"}, p.waits)
	require.Zero(t, result.Freshness.Count)
}

func TestNothingIsAskedBesideALoadThatIsNotWatched(t *testing.T) {
	p, to := newFakeServer(t)
	f := newTestFleet(t, to, Size{Sources: 2, Series: 4})
	p.waits = nil
	result, err := f.Run(t.Context(), Plan{Points: 400, Batch: 4, Callers: 1, SkipFreshness: true})
	require.NoError(t, err)
	require.EqualValues(t, 400, result.Visible)
	require.Equal(t, []string{"c100"}, p.waits, "the last request's points, which come after all others")
	require.Zero(t, result.Freshness.Count)
}

func TestARateIsKept(t *testing.T) {
	p, to := newFakeServer(t)
	f := newTestFleet(t, to, Size{Sources: 1, Series: 10})
	result, err := f.Run(t.Context(), Plan{Points: 200, Batch: 10, Callers: 4, Rate: 500})
	require.NoError(t, err)
	require.Equal(t, 210, p.points)
	require.GreaterOrEqual(t, result.AcceptedSeconds, 0.38, "the last of 20 requests is due after 19/50 s")
}

// TestAStallCountsForAllThatWereDue checks that at a rate the latency of a request counts
// from the time at which it was due, also if it had to wait for a caller.
func TestAStallCountsForAllThatWereDue(t *testing.T) {
	p, to := newFakeServer(t)
	f := newTestFleet(t, to, Size{Sources: 1, Series: 10})
	p.ingest = func(_ http.ResponseWriter, number int) bool {
		if number == 1 { // the first after the set-up
			time.Sleep(300 * time.Millisecond)
		}
		return false
	}
	result, err := f.Run(t.Context(), Plan{Points: 100, Batch: 10, Callers: 1, Rate: 1000})
	require.NoError(t, err)
	require.EqualValues(t, 10, result.Latency.Count)
	require.Greater(t, result.Latency.P50.Duration(), 150*time.Millisecond)
}

func TestRefusalsThatPassAreCountedAndOutwaited(t *testing.T) {
	p, to := newFakeServer(t)
	f := newTestFleet(t, to, Size{Sources: 1, Series: 10})
	p.ingest = func(w http.ResponseWriter, number int) bool {
		if number%2 == 1 {
			refuse(w, 503, "The log is full")
		}
		return number%2 == 1
	}
	result, err := f.Run(t.Context(), Plan{Points: 30, Batch: 10, Callers: 1})
	require.NoError(t, err)
	require.EqualValues(t, 30, result.Accepted)
	require.Equal(t, map[string]int64{"The log is full": 3}, result.Refusals)
}

func TestARefusalForGoodEndsTheLoadWithWhatItHas(t *testing.T) {
	p, to := newFakeServer(t)
	f := newTestFleet(t, to, Size{Sources: 1, Series: 10})
	p.ingest = func(w http.ResponseWriter, number int) bool {
		if number == 4 {
			refuse(w, 403, "Forbidden")
		}
		return number == 4
	}
	result, err := f.Run(t.Context(), Plan{Points: 1000, Batch: 10, Callers: 1})
	require.True(t, fault.Is(err, fault.Forbidden), err)
	require.EqualValues(t, 30, result.Accepted)
	require.False(t, result.Interrupted)
}

func TestAnInterruptedLoadReturnsItsResults(t *testing.T) {
	p, to := newFakeServer(t)
	f := newTestFleet(t, to, Size{Sources: 1, Series: 10})
	ctx, interrupt := context.WithCancel(t.Context())
	p.ingest = func(_ http.ResponseWriter, number int) bool {
		if number == 6 {
			interrupt()
		}
		return false
	}
	result, err := f.Run(ctx, Plan{Points: 100_000, Batch: 10, Callers: 1})
	require.NoError(t, err)
	require.True(t, result.Interrupted)
	require.EqualValues(t, p.points-10, result.Accepted, "the request in flight finished")
	require.Equal(t, result.Accepted, result.Visible)
	require.GreaterOrEqual(t, result.Accepted, int64(60))
	require.Less(t, result.Accepted, int64(100_000))
}

func TestAFleetThatCannotBeMadeLeavesNothing(t *testing.T) {
	p, to := newFakeServer(t)
	p.ingest = func(w http.ResponseWriter, _ int) bool {
		refuse(w, 422, "The series limit is reached")
		return true
	}
	_, err := NewFleet(t.Context(), to, "bench", Size{Sources: 5, Series: 10})
	require.ErrorContains(t, err, "The series limit is reached")
	require.Empty(t, p.sources)
}
