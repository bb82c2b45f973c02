package traffic

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// against makes traffic to a server that answers as it is told, and a second address
// where nobody listens.
func against(t *testing.T, answer http.HandlerFunc) *Traffic {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/admin/api/session":
			w.Header().Set("Set-Cookie", "session=s; HttpOnly")
		case strings.HasSuffix(r.URL.Path, "/sources"):
			_, _ = io.WriteString(w, `{"data":{"id":"source"}}`)
		default:
			answer(w, r)
		}
	}))
	t.Cleanup(server.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	f, err := New(t.Context(), Target{APIs: []string{server.URL, gone.URL}, Key: "key", Workspace: "w"})
	require.NoError(t, err)
	return f
}

func TestEveryKindOfRequestCanBeRead(t *testing.T) {
	var mu sync.Mutex
	paths := map[string]bool{}
	f := against(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Header.Get("Content-Type") == "application/json" {
			if err := json.Unmarshal(body, new(any)); err != nil {
				t.Errorf("%s: %v: %s", r.URL, err, body)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		paths[r.URL.Path] = true
	})
	wanted := []string{
		"/api/live-data/ingest", "/api/live-data/query", "/api/commands/execute", "/api/commands/batch", "/api/queries/nodes",
		"/api/rag/search",
		"/api/rag/hybrid-search", "/api/admin/audit", "/admin/api/topics",
	}
	all := func() bool {
		mu.Lock()
		defer mu.Unlock()
		kinds := f.Kinds()
		return !slices.ContainsFunc(wanted, func(path string) bool { return !paths[path] }) &&
			!slices.ContainsFunc(kinds[:len(kinds)-1], func(name string) bool { return f.ByKind()[name] == nil })
	}
	for n := 0; n < 600 || !all(); n++ { // kinds are drawn, some of them seldom
		require.Less(t, n, 20_000, "%v", paths)
		f.one(t.Context())
	}
}

func TestAnswersAreCountedByTheirStatusAndWhoIsAwayIsPassedOver(t *testing.T) {
	var n atomic.Int64
	f := against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/commands/batch" && n.Load() == 0 {
			return // the first nodes
		}
		switch n.Add(1) % 3 {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 1: // it breaks off, when some of it is there
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	n.Store(1)
	f.Latest()
	for range 30 {
		f.one(t.Context())
	}
	counts := f.Latest()
	require.Equal(t, map[int]int{0: 10, 200: 10, 503: 10}, counts.ByStatus)
	require.Equal(t, 10, counts.Accepted())
	require.Equal(t, 30, counts.Sent())
	require.Positive(t, counts.Took(0.5))
	require.Empty(t, f.Latest().ByStatus)
}

func TestCapacityIsWhereMoreCallersHaveNoMoreAnswered(t *testing.T) {
	turn := make(chan struct{}, 1) // one at a time: more callers have no more
	f := against(t, func(http.ResponseWriter, *http.Request) {
		turn <- struct{}{}
		time.Sleep(2 * time.Millisecond)
		<-turn
	})
	require.NoError(t, f.Warm(t.Context(), 50*time.Millisecond))
	require.Empty(t, f.ByKind(), "what warms up does not count")
	caught := 0
	best, steps, err := f.Capacity(t.Context(), 300*time.Millisecond, func(context.Context) error { caught++; return nil })
	require.NoError(t, err)
	require.Positive(t, best)
	require.GreaterOrEqual(t, len(steps), 2)
	require.Equal(t, len(steps), caught)
	require.Empty(t, f.ByKind(), "it counts anew")
}

func TestWhatIsDueIsSentWhetherItIsAnsweredOrNotUpToABound(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var came atomic.Int64
	stuck := make(chan struct{})
	var ready atomic.Bool
	f := against(t, func(_ http.ResponseWriter, r *http.Request) {
		if !ready.Load() || strings.HasSuffix(r.URL.Path, "/stream") || strings.HasSuffix(r.URL.Path, "/events") {
			return
		}
		came.Add(1)
		<-stuck
	})
	f.t.MostOpen = 20
	ready.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx, 1000)
	}()
	require.Eventually(t, func() bool { return came.Load() == 20 }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		f.tally.mu.Lock()
		defer f.tally.mu.Unlock()
		return f.tally.latest.Unsent > 0
	}, time.Minute, time.Millisecond)
	stop()
	close(stuck)
	<-done
	require.Equal(t, int64(20), came.Load())
}

func TestANodeIsInOneRequestAtATime(t *testing.T) {
	s := newShelf()
	s.put("a")
	id, back := s.borrow()
	require.Equal(t, "a", id)
	other, _ := s.borrow()
	require.Empty(t, other)
	back()
	id, _ = s.borrow()
	require.Equal(t, "a", id)
	require.False(t, s.full())
}
