package bench

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/bench/record"
)

const (
	refusalsPerSecond = 10_000
	refusalTick       = 500 * time.Microsecond
	refusalsMaxOpen   = 20_000 // further requests are not sent: an attacker has no more connections
	refusalTurns      = 5
	// refusalsMeasured requests of the other tenant are measured at a time: its p99 is that of the 100 slowest.
	refusalsMeasured = 10_000
	attackerAddress  = "203.0.113.66:4711"
)

// BenchmarkRefusals measures the cost of refused requests to other tenants: the latency of a tenant's
// requests alone, and while an attacker sends 10,000 requests per second that are refused, with
// invalid keys, or with a key of another workspace to unknown paths or to a workspace that it may not
// access. Sending so many requests uses the same processors, so the baseline sends them to a handler
// that refuses immediately.
func BenchmarkRefusals(b *testing.B) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(old)
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // as the service does while its heap is this small
	r := record.New(b)
	limit := int64(1 << 30)
	tenant := withAccessControl(b, &limit)
	attacker := tenant.otherWorkspace(b)
	attacks := map[string]func(*http.Request){
		"made-up-keys": func(q *http.Request) {
			q.Header.Set("Authorization", "Bearer "+apikey.Generate(apikey.Live).Reveal())
		},
		"unknown-paths":  func(q *http.Request) { q.URL.Path = "/api/nowhere" },
		"no-such-opened": func(q *http.Request) { q.Header.Set("X-Workspace-Id", tenant.workspace.String()) },
	}
	for range refusalTurns {
		alone := tenant.measureLatency(b, refusalsMeasured)
		tenant.settle(b)
		r.Add("alone/p50", "ms", alone.p50)
		r.Add("alone/p99", "ms", alone.p99)
		for name, change := range attacks {
			during := func(handler http.Handler) (p50, p99, sent float64) {
				stop := attacker.attack(b, handler, change)
				time.Sleep(2 * time.Second)
				under := tenant.measureLatency(b, refusalsMeasured)
				return under.p50, under.p99, stop()
			}
			_, atOnce, _ := during(http.HandlerFunc(refuse))
			p50, p99, sent := during(attacker.handler)
			r.Add(name+"/p50", "ms", p50)
			r.Add(name+"/p99", "ms", p99)
			r.Add(name+"/p99-at-once", "ms", atOnce)
			r.Add(name+"/sent", "requests/s", sent)
			r.Logf("%s: p99 %.3f ms, with immediate refusals %.3f ms, without attack %.3f ms, %.0f refusals/s",
				name, p99, atOnce, alone.p99, sent)
		}
	}
	r.Save()
}

// refuse answers 401 and does nothing else.
func refuse(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }

// attack sends refused requests until stop, which returns the answers per second.
func (e *endpoint) attack(
	b *testing.B, handler http.Handler, change func(*http.Request),
) (stop func() (perSecond float64)) {
	b.Helper()
	var waiting, answered, accepted atomic.Int64
	ended, began := make(chan struct{}), time.Now()
	var work sync.WaitGroup
	send := func() {
		defer waiting.Add(-1)
		q := httptest.NewRequest(http.MethodGet, emptyPath, nil)
		q.RemoteAddr = attackerAddress
		q.Header.Set("Authorization", "Bearer "+e.key)
		q.Header.Set("X-Workspace-Id", e.workspace.String())
		change(q)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, q)
		if answered.Add(1); w.Code < http.StatusBadRequest {
			accepted.Add(1)
		}
	}
	work.Go(func() {
		for sent := 0; ; {
			select {
			case <-ended:
				return
			case <-time.After(refusalTick):
			}
			for due := int(time.Since(began).Seconds() * refusalsPerSecond); sent < due; sent++ {
				if waiting.Add(1) > refusalsMaxOpen {
					waiting.Add(-1)
					continue
				}
				work.Go(send)
			}
		}
	})
	return func() float64 {
		close(ended)
		took := time.Since(began).Seconds()
		perSecond := float64(answered.Load()) / took
		work.Wait()
		require.Zero(b, accepted.Load(), "requests were accepted that must be refused")
		return perSecond
	}
}
