package contract_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/testenv"
)

// BenchmarkAccess measures the cost of a request without the work of its route: without a
// key (the probe), with a key of a workspace without limits, and with one that has limits.
func BenchmarkAccess(b *testing.B) {
	s := contract.Start(b, contract.WithRedisLimits(testenv.Redis(b)), testRoutes)
	many := int64(1 << 30)
	w, err := s.DB.CreateWorkspace(b.Context(), access.Workspace{
		Name: "limited", Plan: "enterprise", Mode: apikey.Live, PerMinute: &many,
	})
	require.NoError(b, err)
	limited := s.NewKey(b, []uuid.UUID{w.ID}, request.ReadLiveData)
	for _, c := range []struct{ name, path, key, workspace string }{
		{"probe", "/healthz", "", ""}, {"unlimited", "/api/test/items", s.Admin, s.Workspace.String()},
		{"limited", "/api/test/items", limited, w.ID.String()},
	} {
		b.Run(c.name, func(b *testing.B) {
			measure(b, s.API.Handler(), http.StatusOK, func() *http.Request {
				r := httptest.NewRequest(http.MethodGet, c.path, nil)
				r.Header.Set("Authorization", "Bearer "+c.key)
				r.Header.Set("x-workspace-id", c.workspace)
				return r
			})
		})
	}
}

// BenchmarkIngestLimited measures an ingest of a thousand points, with and without limits.
func BenchmarkIngestLimited(b *testing.B) {
	live := contract.LiveData{}
	s := contract.Start(b, contract.WithRedisLimits(testenv.Redis(b)), live.Group)
	many := int64(1 << 30)
	for _, c := range []struct {
		name  string
		limit *int64
	}{{"unlimited", nil}, {"limited", &many}} {
		w, err := s.DB.CreateWorkspace(b.Context(), access.Workspace{
			Name: c.name, Plan: "enterprise", Mode: apikey.Live, PerMinute: c.limit,
		})
		require.NoError(b, err)
		key := s.NewKey(b, []uuid.UUID{w.ID}, request.WriteLiveData)
		var body strings.Builder
		for n := range 1000 {
			_, _ = fmt.Fprintf(&body, "cpu,core=%d usage=%d %d\n", n%10, n, 1_790_000_000_000_000_000+int64(n)*1_000_000)
		}
		b.Run(c.name, func(b *testing.B) {
			measure(b, s.API.Handler(), http.StatusNoContent, func() *http.Request {
				r := httptest.NewRequest(http.MethodPost, "/api/v2/write?bucket="+w.ID.String(), strings.NewReader(body.String()))
				r.Header.Set("Authorization", "Token "+key)
				return r
			})
		})
	}
}

func measure(b *testing.B, handler http.Handler, status int, ask func() *http.Request) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		r, w := ask(), httptest.NewRecorder()
		began := time.Now()
		handler.ServeHTTP(w, r)
		took = append(took, time.Since(began))
		if w.Code != status {
			b.Fatalf("%d: %s", w.Code, w.Body)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
