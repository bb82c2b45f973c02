package bench

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	accessTurns    = 11
	accessRequests = 2000      // of the empty route, in sequence, per turn
	accessPoints   = 2_000_000 // of ingest, per turn
	accessCallers  = 4         // of ingest
	ingestPath     = "/api/live-data/ingest"
	emptyPath      = "/api/nothing"
	publicPrefix   = "/bare" // prefix of the same routes without a key
)

// endpoint is the handlers with key, limit and audit, or without them.
type endpoint struct {
	handler        http.Handler
	prefix         string
	key            string
	workspace      uuid.UUID
	source         string
	pending        func() int64               // bytes of audit records that are not in Kafka yet; nil: there are none
	otherWorkspace func(*testing.B) *endpoint // returns the same handlers in another workspace
}

// settle waits until the background work of requests is done, so that later measurements exclude it.
func (e *endpoint) settle(b *testing.B) {
	b.Helper()
	deadline := time.Now().Add(settleLimit)
	for e.pending != nil && e.pending() > 0 {
		require.True(b, time.Now().Before(deadline), "audit records are not sent to Kafka")
		time.Sleep(10 * time.Millisecond)
	}
}

// BenchmarkAccess measures the total cost of authentication, the plan's limit and the audit log per
// request: the API's handlers with all three, on the engines that they need, in turn with the same
// handlers without them. Points are also measured in a workspace without limits, where requests are
// not counted, because only such a workspace accepts as many requests.
func BenchmarkAccess(b *testing.B) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(old)
	r := record.New(b)
	limit := int64(1 << 30)
	limited, unlimited, without := withAccessControl(b, &limit), withAccessControl(b, nil), withoutAccessControl(b)
	for turn := range accessTurns + 1 { // the first warms up and is not counted
		asked := inTurn(turn, []*endpoint{limited, without}, func(e *endpoint) requestCost { return e.measureRequests(b) })
		if turn > 0 {
			r.Add("request/with-p50", "ms", asked[0].p50)
			r.Add("request/without-p50", "ms", asked[1].p50)
			r.Add("request/costs-p50", "ms", asked[0].p50-asked[1].p50)
			r.Add("request/with-p99", "ms", asked[0].p99)
			r.Add("request/cpu", "ms", asked[0].cpu-asked[1].cpu)
		}
		for _, points := range []int{1_000, 10_000, 100_000} {
			took := inTurn(turn, []*endpoint{unlimited, limited, without}, func(e *endpoint) ingestCost {
				return e.ingest(b, points)
			})
			if turn == 0 {
				continue
			}
			name, plain := fmt.Sprintf("ingest/points=%d/", points), took[2]
			r.Add(name+"without", "points/s", plain.perSecond)
			for i, plan := range []string{"unlimited", "limited"} {
				r.Add(name+plan, "points/s", took[i].perSecond)
				r.Add(name+plan+"-costs", "%", 100*(1-took[i].perSecond/plain.perSecond))
				r.Add(name+plan+"-cpu", "cpu-ns/point", 1e9*(took[i].cpu-plain.cpu))
			}
		}
		r.Logf(
			"turn %d of %d: empty route %.3f ms, without key, limit and audit %.3f ms", turn, accessTurns, asked[0].p50,
			asked[1].p50,
		)
	}
	r.Save()
}

// inTurn measures endpoints one after the other, starting with a different one in each turn, and
// returns the results in their order.
func inTurn[T any](turn int, endpoints []*endpoint, measure func(*endpoint) T) []T {
	took := make([]T, len(endpoints))
	for n := range endpoints {
		i := (turn + n) % len(endpoints)
		took[i] = measure(endpoints[i])
	}
	return took
}

// withAccessControl returns the production handlers in a workspace with a limit of requests per minute
// and day; nil: no limit.
func withAccessControl(b *testing.B, limit *int64) *endpoint {
	b.Helper()
	live, audit := &contract.LiveData{}, &contract.Audit{LogOnly: true}
	cfg := contract.Config()
	cfg.RefusalsPerSecond, cfg.AuthFailuresPerMinute = 10, 1200 // the defaults
	s := contract.StartWith(b, cfg, contract.WithRedisLimits(testenv.Redis(b)), audit.Group, live.Group, emptyRoute)
	w, err := s.DB.CreateWorkspace(b.Context(), access.Workspace{
		Name: "limited", Plan: "enterprise", Mode: apikey.Live, PerMinute: limit, PerDay: limit,
	})
	require.NoError(b, err)
	e := &endpoint{
		handler: s.API.Handler(), workspace: w.ID, key: s.NewKey(b, []uuid.UUID{w.ID}, request.Admin),
		pending: audit.Spool.Pending,
	}
	e.otherWorkspace = func(b *testing.B) *endpoint {
		b.Helper()
		return &endpoint{handler: e.handler, workspace: s.Workspace, key: s.NewKey(
			b, []uuid.UUID{s.Workspace}, request.ReadLiveData,
		)}
	}
	e.newSource(b)
	return e
}

// withoutAccessControl returns the handlers without key, limit and audit. Production has no such handlers.
func withoutAccessControl(b *testing.B) *endpoint {
	b.Helper()
	live := &contract.LiveData{}
	s := contract.Start(b, func(t testing.TB, s *contract.Server) []route.Route {
		routes := append(live.Group(t, s), emptyRoute(t, s)...)
		for _, rt := range slices.Clone(routes) {
			if rt.Pattern == ingestPath || rt.Pattern == emptyPath {
				routes = append(routes, publicRoute(rt, s.Workspace))
			}
		}
		return routes
	})
	e := &endpoint{handler: s.API.Handler(), workspace: s.Workspace, key: s.Admin}
	e.newSource(b)
	e.prefix, e.key = publicPrefix, ""
	return e
}

func publicRoute(rt route.Route, workspace uuid.UUID) route.Route {
	handle := rt.Handle
	principal := &request.Principal{
		KeyID: uuid.New(), ActorID: uuid.New(), Scopes: []request.Scope{request.Admin}, Workspace: workspace,
	}
	return route.Route{Method: rt.Method, Pattern: publicPrefix + rt.Pattern, Access: route.Public, Handle: func(
		w http.ResponseWriter, r *http.Request,
	) error {
		return handle(w, r.WithContext(request.WithPrincipal(r.Context(), principal)))
	}}
}

// emptyRoute is a route whose handler does nothing.
func emptyRoute(testing.TB, *contract.Server) []route.Route {
	return []route.Route{{Method: http.MethodGet, Pattern: emptyPath, Scopes: []request.Scope{request.ReadLiveData},
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			reply.Data(w, r, http.StatusOK, "nothing")
			return nil
		}}}
}

// newSource creates the source for the points.
func (e *endpoint) newSource(b *testing.B) {
	b.Helper()
	w, _ := e.send(http.MethodPost, "/api/live-data/sources", `{"name":"pump"}`)
	require.Equal(b, http.StatusCreated, w.Code, "%s", w.Body)
	var answer struct{ Data struct{ ID string } }
	require.NoError(b, json.Unmarshal(w.Body.Bytes(), &answer))
	e.source = answer.Data.ID
}

// send sends a request and returns the answer and its latency.
func (e *endpoint) send(method, path, body string) (*httptest.ResponseRecorder, time.Duration) {
	r := httptest.NewRequest(method, e.prefix+path, strings.NewReader(body))
	if e.key != "" {
		r.Header.Set("Authorization", "Bearer "+e.key)
		r.Header.Set("X-Workspace-Id", e.workspace.String())
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	began := time.Now()
	e.handler.ServeHTTP(w, r)
	return w, time.Since(began)
}

// requestCost is the cost per request in ms.
type requestCost struct{ p50, p99, cpu float64 }

func (e *endpoint) measureRequests(b *testing.B) requestCost {
	b.Helper()
	before := record.CPU(b)
	cost := e.measureLatency(b, accessRequests)
	e.settle(b)
	used := record.CPU(b) - before
	cost.cpu = float64(used) / float64(time.Millisecond) / accessRequests
	return cost
}

// measureLatency sends requests in sequence. It does not wait for background work.
func (e *endpoint) measureLatency(b *testing.B, requests int) requestCost {
	b.Helper()
	took := make([]float64, requests)
	for i := range took {
		w, d := e.send(http.MethodGet, emptyPath, "")
		require.Equal(b, http.StatusOK, w.Code)
		took[i] = float64(d) / float64(time.Millisecond)
	}
	slices.Sort(took)
	return requestCost{p50: took[len(took)/2], p99: took[len(took)*99/100]}
}

// ingestCost is the result of ingest: points per second, and CPU seconds per point.
type ingestCost struct{ perSecond, cpu float64 }

func (e *endpoint) ingest(b *testing.B, points int) ingestCost {
	b.Helper()
	body := e.points(points)
	var left atomic.Int64
	left.Store(int64(accessPoints / points))
	before, began := record.CPU(b), time.Now()
	var work sync.WaitGroup
	for range accessCallers {
		work.Go(func() {
			for left.Add(-1) >= 0 {
				if w, _ := e.send(http.MethodPost, ingestPath, body); w.Code != http.StatusCreated {
					b.Errorf("ingest was answered %d: %s", w.Code, w.Body)
					return
				}
			}
		})
	}
	work.Wait()
	took := time.Since(began)
	e.settle(b)
	used := record.CPU(b) - before
	return ingestCost{perSecond: accessPoints / took.Seconds(), cpu: used.Seconds() / accessPoints}
}

// points returns a body with the given number of points in ten series.
func (e *endpoint) points(count int) string {
	const series = 10
	var body strings.Builder
	fmt.Fprintf(&body, `{"sourceId":%q,"series":[`, e.source)
	for s := range series {
		if s > 0 {
			body.WriteByte(',')
		}
		var times, values []string
		for n := range count / series {
			times, values = append(times, fmt.Sprint(1_700_000_000_000+n)), append(values, fmt.Sprintf("%d.%d", n%97, n%10))
		}
		fmt.Fprintf(
			&body, `{"metric":"m%d","timestamps":[%s],"values":[%s]}`, s, strings.Join(times, ","), strings.Join(values, ","),
		)
	}
	body.WriteString("]}")
	return body.String()
}
