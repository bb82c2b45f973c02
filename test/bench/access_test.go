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
	accessRequests = 2000      // of nothing, one after the other, in each turn
	accessPoints   = 2_000_000 // of ingest, in each turn
	accessCallers  = 4         // of ingest
	ingestPath     = "/api/live-data/ingest"
	nothingPath    = "/api/nothing"
	barePrefix     = "/bare" // before a path: the same without a key
)

// entrance is a way to the same handlers: with key, limit and audit, or with none.
type entrance struct {
	handler   http.Handler
	prefix    string
	key       string
	workspace uuid.UUID
	source    string
	pending   func() int64               // bytes of uses that are not in Kafka yet; nil: none are kept
	neighbour func(*testing.B) *entrance // the way of another workspace
}

// settle waits until what requests left to do in the background is done, so that it is
// counted with them and with nothing else.
func (e *entrance) settle(b *testing.B) {
	b.Helper()
	deadline := time.Now().Add(settleLimit)
	for e.pending != nil && e.pending() > 0 {
		require.True(b, time.Now().Before(deadline), "the uses of keys are not sent on")
		time.Sleep(10 * time.Millisecond)
	}
}

// BenchmarkAccess is what authentication, the plan's limit and the audit log cost a
// request together: the handlers of the interface with all three, on the engines that
// they need, beside the same handlers with none. They take turns. Points are also
// measured in a workspace without limits, where nothing is counted: no other lets so
// many requests in.
func BenchmarkAccess(b *testing.B) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(old)
	r := record.New(b)
	many := int64(1 << 30)
	limited, unlimited, without := guarded(b, &many), guarded(b, nil), bare(b)
	for turn := range accessTurns + 1 { // the first warms up: it is not counted
		asked := inTurn(turn, []*entrance{limited, without}, func(e *entrance) requestCost { return e.nothing(b) })
		if turn > 0 {
			r.Add("request/with-p50", "ms", asked[0].p50)
			r.Add("request/without-p50", "ms", asked[1].p50)
			r.Add("request/costs-p50", "ms", asked[0].p50-asked[1].p50)
			r.Add("request/with-p99", "ms", asked[0].p99)
			r.Add("request/cpu", "ms", asked[0].cpu-asked[1].cpu)
		}
		for _, points := range []int{1_000, 10_000, 100_000} {
			took := inTurn(turn, []*entrance{unlimited, limited, without}, func(e *entrance) ingestCost {
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
		r.Say("turn %d of %d: a request of nothing %.3f ms, without %.3f ms", turn, accessTurns, asked[0].p50, asked[1].p50)
	}
	r.Save()
}

// inTurn measures ways one after the other, in each turn another first, and gives what
// came of them in their order.
func inTurn[T any](turn int, ways []*entrance, measure func(*entrance) T) []T {
	took := make([]T, len(ways))
	for n := range ways {
		i := (turn + n) % len(ways)
		took[i] = measure(ways[i])
	}
	return took
}

// guarded is the way that everybody has, in a workspace with so many requests a minute
// and a day; nil: any number.
func guarded(b *testing.B, limit *int64) *entrance {
	b.Helper()
	live, audit := &contract.LiveData{}, &contract.Audit{Unstored: true}
	cfg := contract.Config()
	cfg.RefusalsPerSecond, cfg.AuthFailuresPerMinute = 10, 1200 // as by default
	s := contract.StartWith(b, cfg, contract.Counted(testenv.Redis(b)), audit.Group, live.Group, nothing)
	w, err := s.DB.CreateWorkspace(b.Context(), access.Workspace{
		Name: "limited", Plan: "enterprise", Mode: apikey.Live, PerMinute: limit, PerDay: limit,
	})
	require.NoError(b, err)
	e := &entrance{
		handler: s.API.Handler(), workspace: w.ID, key: s.NewKey(b, []uuid.UUID{w.ID}, request.Admin),
		pending: audit.Spool.Pending,
	}
	e.neighbour = func(b *testing.B) *entrance {
		b.Helper()
		return &entrance{handler: e.handler, workspace: s.Workspace, key: s.NewKey(
			b, []uuid.UUID{s.Workspace}, request.ReadLiveData,
		)}
	}
	e.newSource(b)
	return e
}

// bare is a way that nobody has.
func bare(b *testing.B) *entrance {
	b.Helper()
	live := &contract.LiveData{}
	s := contract.Start(b, func(t testing.TB, s *contract.Server) []route.Route {
		routes := append(live.Group(t, s), nothing(t, s)...)
		for _, rt := range slices.Clone(routes) {
			if rt.Pattern == ingestPath || rt.Pattern == nothingPath {
				routes = append(routes, unguarded(rt, s.Workspace))
			}
		}
		return routes
	})
	e := &entrance{handler: s.API.Handler(), workspace: s.Workspace, key: s.Admin}
	e.newSource(b)
	e.prefix, e.key = barePrefix, ""
	return e
}

func unguarded(rt route.Route, workspace uuid.UUID) route.Route {
	handle := rt.Handle
	principal := &request.Principal{
		KeyID: uuid.New(), ActorID: uuid.New(), Scopes: []request.Scope{request.Admin}, Workspace: workspace,
	}
	return route.Route{Method: rt.Method, Pattern: barePrefix + rt.Pattern, Access: route.Public, Handle: func(
		w http.ResponseWriter, r *http.Request,
	) error {
		return handle(w, r.WithContext(request.WithPrincipal(r.Context(), principal)))
	}}
}

// nothing is a route that does nothing.
func nothing(testing.TB, *contract.Server) []route.Route {
	return []route.Route{{Method: http.MethodGet, Pattern: nothingPath, Scopes: []request.Scope{request.ReadLiveData},
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			reply.Data(w, r, http.StatusOK, "nothing")
			return nil
		}}}
}

// newSource creates the source that points are of.
func (e *entrance) newSource(b *testing.B) {
	b.Helper()
	w, _ := e.ask(http.MethodPost, "/api/live-data/sources", `{"name":"pump"}`)
	require.Equal(b, http.StatusCreated, w.Code, "%s", w.Body)
	var answer struct{ Data struct{ ID string } }
	require.NoError(b, json.Unmarshal(w.Body.Bytes(), &answer))
	e.source = answer.Data.ID
}

// ask makes a request and gives how long its answer took.
func (e *entrance) ask(method, path, body string) (*httptest.ResponseRecorder, time.Duration) {
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

// requestCost is what requests took: ms each.
type requestCost struct{ p50, p99, cpu float64 }

func (e *entrance) nothing(b *testing.B) requestCost {
	b.Helper()
	before := record.CPU(b)
	cost := e.nothingYet(b)
	e.settle(b)
	used := record.CPU(b) - before
	cost.cpu = float64(used) / float64(time.Millisecond) / accessRequests
	return cost
}

// nothingYet leaves what requests have left to do to the background.
func (e *entrance) nothingYet(b *testing.B) requestCost {
	b.Helper()
	took := make([]float64, accessRequests)
	for i := range took {
		w, d := e.ask(http.MethodGet, nothingPath, "")
		require.Equal(b, http.StatusOK, w.Code)
		took[i] = float64(d) / float64(time.Millisecond)
	}
	slices.Sort(took)
	return requestCost{p50: took[len(took)/2], p99: took[len(took)*99/100]}
}

// ingestCost is what points took: points a second, seconds of CPU time a point.
type ingestCost struct{ perSecond, cpu float64 }

func (e *entrance) ingest(b *testing.B, points int) ingestCost {
	b.Helper()
	body := e.points(points)
	var left atomic.Int64
	left.Store(int64(accessPoints / points))
	before, began := record.CPU(b), time.Now()
	var work sync.WaitGroup
	for range accessCallers {
		work.Go(func() {
			for left.Add(-1) >= 0 {
				if w, _ := e.ask(http.MethodPost, ingestPath, body); w.Code != http.StatusCreated {
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

// points is a body with so many points of ten series.
func (e *entrance) points(count int) string {
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
