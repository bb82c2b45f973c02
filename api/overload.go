package api

import (
	"cmp"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// overloadRetryAfter is when a refused client may try again.
const overloadRetryAfter = time.Second

// otherWork is what a label has for [route.OtherWork].
const otherWork = "other"

// writesPerProcessor is how many requests that write points are worked on for each processor,
// unless the operator says otherwise. They take processors, hardly anything else: who comes
// behind so many waits a tenth of a second for them, and so do refusals.
const writesPerProcessor = 128

// publicShare of the room for requests without a key or a session is one address's.
const publicShare = 4

// concurrencyLimiter counts the requests of each kind of work that are worked on. What comes beyond the
// limit is refused at once: behind so many it would wait longer than is of use, and hold
// memory meanwhile. So the time of those that are let in is bounded by the limit and by
// what the machine does in a second.
type concurrencyLimiter struct {
	limits  map[route.Work]int64 // 0: none
	inside  map[route.Work]*atomic.Int64
	shares  map[route.Work]*shares // of the kinds that anybody can ask for
	refused *prometheus.CounterVec
}

// shares counts the requests of one kind by the address that they come from, so that none
// of them takes all the room. It has no more entries than there are requests.
type shares struct {
	mu      sync.Mutex
	most    int // of one address; 0: any number
	callers map[netip.Addr]int
}

// newConcurrencyLimiter returns the limits of a configuration; without a number for writes, by the
// processors.
func newConcurrencyLimiter(cfg *config.API, registerer prometheus.Registerer) *concurrencyLimiter {
	writes := cfg.MaxWrites
	if writes == 0 {
		writes = writesPerProcessor * runtime.GOMAXPROCS(0)
	}
	limits := map[route.Work]int64{
		route.WritesPoints: int64(writes), route.ChangesGraph: int64(cfg.MaxRequests),
		route.OtherWork:   int64(cfg.MaxRequests),
		route.ServesFiles: int64(cfg.MaxPublic), route.LogsIn: int64(cfg.MaxPublic),
	}
	c := &concurrencyLimiter{limits: limits, inside: map[route.Work]*atomic.Int64{}, shares: map[route.Work]*shares{}}
	c.refused = promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_http_overload_refusals_total",
		Help: "Requests answered 503 at once because as many of their kind as --api-max-requests, --api-max-writes or " +
			"--api-max-public were being worked on.",
	}, []string{"kind"})
	for work := range limits {
		c.inside[work] = new(atomic.Int64)
		c.refused.WithLabelValues(workLabel(work))
	}
	for _, work := range []route.Work{route.ServesFiles, route.LogsIn} {
		c.shares[work] = &shares{most: (cfg.MaxPublic + publicShare - 1) / publicShare, callers: map[netip.Addr]int{}}
	}
	return c
}

func workLabel(work route.Work) string { return cmp.Or(string(work), otherWork) }

// counted reports which routes' requests are: probes must be answered, and answers that last
// have their own bounds.
func (c *concurrencyLimiter) counted(rt *route.Route) bool {
	if c.shares[rt.Work] != nil {
		return true
	}
	return rt.Access != route.Public && rt.Access != route.Operator && !rt.Lasts
}

// enter lets a request from an address in, or says why not. Anyone who was let in leaves.
func (c *concurrencyLimiter) enter(work route.Work, ip netip.Addr) (leave func(), err error) {
	inside, limit, shares := c.inside[work], c.limits[work], c.shares[work]
	full := func() error {
		c.refused.WithLabelValues(workLabel(work)).Inc()
		return fault.New(fault.Unavailable, "Too many requests are being worked on").After(overloadRetryAfter)
	}
	caller := ratelimit.Network(ip)
	if shares != nil && !shares.take(caller) {
		return nil, full()
	}
	leave = func() {
		inside.Add(-1)
		if shares != nil {
			shares.giveBack(caller)
		}
	}
	if n := inside.Add(1); limit > 0 && n > limit {
		leave()
		return nil, full()
	}
	return leave, nil
}

func (s *shares) take(caller netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most > 0 && s.callers[caller] >= s.most {
		return false
	}
	s.callers[caller]++
	return true
}

func (s *shares) giveBack(caller netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.callers[caller]--; s.callers[caller] <= 0 {
		delete(s.callers, caller)
	}
}

// limitConcurrency lets the requests of a route in as long as there is room for their kind of work.
func (s *Server) limitConcurrency(rt *route.Route, next http.HandlerFunc) http.HandlerFunc {
	if !s.crowds.counted(rt) {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		leave, err := s.crowds.enter(rt.Work, exchangeOf(r.Context()).ip)
		if err != nil {
			if rt.Access == route.Public && r.ContentLength != 0 {
				endUnread(w)
			}
			reply.Error(w, r, err)
			return
		}
		defer leave()
		next(w, r)
	}
}

// unreadGrace is how long a connection whose request's body is not wanted stays open for
// the client to read the answer.
const unreadGrace = time.Second

// endUnread has the connection end with this answer instead of waiting for the rest of the
// body, which may not come for long.
func endUnread(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	// where it cannot, the server's own holds
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadGrace))
}
