package bench

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	refusalsWaiting   = 20_000 // beyond, an attacker sends no more: it has no more connections
	refusalTurns      = 3
	attackerAddress   = "203.0.113.66:4711"
)

// BenchmarkRefusals is what requests that are refused cost others: the time of a good
// tenant's requests alone, and while an attacker sends 10,000 a second that are refused:
// with keys that were made up, and with a key of another workspace to paths that there are
// not, or to a workspace that it does not open. To make and send so many takes time on the same
// processors: the baseline in the middle sends the same to a handler that refuses at once.
func BenchmarkRefusals(b *testing.B) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(old)
	r := record.New(b)
	many := int64(1 << 30)
	good := guarded(b, &many)
	evil := good.neighbour(b)
	attacks := map[string]func(*http.Request){
		"made-up-keys": func(q *http.Request) {
			q.Header.Set("Authorization", "Bearer "+apikey.Generate(apikey.Live).Reveal())
		},
		"unknown-paths":  func(q *http.Request) { q.URL.Path = "/api/nowhere" },
		"no-such-opened": func(q *http.Request) { q.Header.Set("X-Workspace-Id", good.workspace.String()) },
	}
	for range refusalTurns {
		alone := good.nothing(b)
		r.Add("alone/p50", "ms", alone.p50)
		r.Add("alone/p99", "ms", alone.p99)
		for name, change := range attacks {
			during := func(handler http.Handler) (p50, p99, sent float64) {
				stop := evil.attack(b, handler, change)
				time.Sleep(2 * time.Second)
				under := good.nothingYet(b)
				return under.p50, under.p99, stop()
			}
			_, atOnce, _ := during(http.HandlerFunc(refuse))
			p50, p99, sent := during(evil.handler)
			r.Add(name+"/p50", "ms", p50)
			r.Add(name+"/p99", "ms", p99)
			r.Add(name+"/p99-at-once", "ms", atOnce)
			r.Add(name+"/sent", "requests/s", sent)
			r.Say("%s: p99 %.3f ms, refused by nothing %.3f ms, alone %.3f ms, %.0f refused a second",
				name, p99, atOnce, alone.p99, sent)
		}
	}
	r.Save()
}

// refuse answers 401 and does nothing else.
func refuse(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }

// attack sends what is refused until stop, which reports how many a second were answered.
func (e *entrance) attack(
	b *testing.B, handler http.Handler, change func(*http.Request),
) (stop func() (perSecond float64)) {
	b.Helper()
	var waiting, answered, odd atomic.Int64
	ended, began := make(chan struct{}), time.Now()
	var work sync.WaitGroup
	one := func() {
		defer waiting.Add(-1)
		q := httptest.NewRequest(http.MethodGet, nothingPath, nil)
		q.RemoteAddr = attackerAddress
		q.Header.Set("Authorization", "Bearer "+e.key)
		q.Header.Set("X-Workspace-Id", e.workspace.String())
		change(q)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, q)
		if answered.Add(1); w.Code < http.StatusBadRequest {
			odd.Add(1)
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
				if waiting.Add(1) > refusalsWaiting {
					waiting.Add(-1)
					continue
				}
				work.Go(one)
			}
		}
	})
	return func() float64 {
		close(ended)
		took := time.Since(began).Seconds()
		perSecond := float64(answered.Load()) / took
		work.Wait()
		require.Zero(b, odd.Load(), "what was to be refused was not")
		return perSecond
	}
}
