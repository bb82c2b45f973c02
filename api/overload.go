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

// overloadRetryAfter is the Retry-After of a refused request.
const overloadRetryAfter = time.Second

// otherWork is the label of [route.OtherWork].
const otherWork = "other"

// writesPerProcessor is the default limit of concurrent requests that write points, per
// processor. They use hardly anything but processor time: a request behind this many waits
// a tenth of a second, and so do refusals.
const writesPerProcessor = 128

// publicShareDivisor is the divisor of the limit of requests without a key or a session; the
// quotient is the limit of one address.
const publicShareDivisor = 4

// concurrencyLimiter limits the requests of each kind of work that are handled at the same
// time. It refuses further requests at once: they would wait too long to be useful, and use
// memory while they wait. The limit and the throughput of the machine therefore bound the
// latency of admitted requests.
type concurrencyLimiter struct {
	limits    map[route.Work]int64 // 0: none
	active    map[route.Work]*atomic.Int64
	perCaller map[route.Work]*callerCounts // of the kinds that need no authentication
	refused   *prometheus.CounterVec
}

// callerCounts counts the requests of one kind by address, so that no address uses all of
// the limit. It has at most one entry per active request.
type callerCounts struct {
	mu      sync.Mutex
	limit   int // requests of one address; 0: unlimited
	callers map[netip.Addr]int
}

// newConcurrencyLimiter returns a limiter with the configured limits. If the limit of writes
// is 0, it depends on the number of processors.
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
	c := &concurrencyLimiter{
		limits: limits, active: map[route.Work]*atomic.Int64{}, perCaller: map[route.Work]*callerCounts{},
	}
	c.refused = promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_http_overload_refusals_total",
		Help: "Total number of requests answered immediately with 503 because the limit of their kind was reached: " +
			"--api-max-requests, --api-max-writes or --api-max-public.",
	}, []string{"kind"})
	for work := range limits {
		active := new(atomic.Int64)
		c.active[work] = active
		c.refused.WithLabelValues(workLabel(work))
		promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "livegraph_http_requests_admitted",
			Help:        "Number of requests being handled that count against the limit of their kind.",
			ConstLabels: prometheus.Labels{"kind": workLabel(work)},
		}, func() float64 { return float64(active.Load()) })
	}
	for _, work := range []route.Work{route.ServesFiles, route.LogsIn} {
		c.perCaller[work] = &callerCounts{
			limit: (cfg.MaxPublic + publicShareDivisor - 1) / publicShareDivisor, callers: map[netip.Addr]int{},
		}
	}
	return c
}

func workLabel(work route.Work) string { return cmp.Or(string(work), otherWork) }

// appliesTo reports whether the requests of a route are limited. Probes must always be
// answered, and streams have their own limits.
func (c *concurrencyLimiter) appliesTo(rt *route.Route) bool {
	if c.perCaller[rt.Work] != nil {
		return true
	}
	return rt.Access != route.Public && rt.Access != route.Operator && !rt.Streaming
}

// acquire admits a request from an address, or returns an Unavailable error. The caller must
// call release when the request has been handled.
func (c *concurrencyLimiter) acquire(work route.Work, ip netip.Addr) (release func(), err error) {
	active, limit, callers := c.active[work], c.limits[work], c.perCaller[work]
	refuse := func() error {
		c.refused.WithLabelValues(workLabel(work)).Inc()
		return fault.New(fault.Unavailable, "Too many requests are being worked on").After(overloadRetryAfter)
	}
	caller := ratelimit.Network(ip)
	if callers != nil && !callers.acquire(caller) {
		return nil, refuse()
	}
	release = func() {
		active.Add(-1)
		if callers != nil {
			callers.release(caller)
		}
	}
	if n := active.Add(1); limit > 0 && n > limit {
		release()
		return nil, refuse()
	}
	return release, nil
}

func (s *callerCounts) acquire(caller netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit > 0 && s.callers[caller] >= s.limit {
		return false
	}
	s.callers[caller]++
	return true
}

func (s *callerCounts) release(caller netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.callers[caller]--; s.callers[caller] <= 0 {
		delete(s.callers, caller)
	}
}

// limitConcurrency returns a handler that refuses the requests of a route beyond the limit of
// their kind of work.
func (s *Server) limitConcurrency(rt *route.Route, next http.HandlerFunc) http.HandlerFunc {
	if !s.concurrency.appliesTo(rt) {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		release, err := s.concurrency.acquire(rt.Work, exchangeOf(r.Context()).ip)
		if err != nil {
			if rt.Access == route.Public && r.ContentLength != 0 {
				closeAfterReply(w)
			}
			reply.Error(w, r, err)
			return
		}
		defer release()
		next(w, r)
	}
}

// unreadGrace is how long a connection stays open for the client to read the response if the
// request's body is not read.
const unreadGrace = time.Second

// closeAfterReply closes the connection after the response, so that the server does not wait
// for the remaining body.
func closeAfterReply(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	// if it is not supported, the server's deadline applies
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadGrace))
}
