package api

import (
	"cmp"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/fault"
)

// overloadRetryAfter is when a refused client may try again.
const overloadRetryAfter = time.Second

// otherWork is what a label has for [route.OtherWork].
const otherWork = "other"

// writesPerProcessor is how many requests that write points are worked on for each processor,
// unless the operator says otherwise. They take processors, hardly anything else: who comes
// behind so many waits a tenth of a second for them, and so do refusals.
const writesPerProcessor = 128

// crowds counts the requests of each kind of work that are worked on. What comes beyond the
// limit is refused at once: behind so many it would wait longer than is of use, and hold
// memory meanwhile. So the time of those that are let in is bounded by the limit and by
// what the machine does in a second.
type crowds struct {
	limits  map[route.Work]int64 // 0: none
	inside  map[route.Work]*atomic.Int64
	refused *prometheus.CounterVec
}

// newCrowds makes them for so many requests that write points (0: by the processors), and so
// many of each other kind.
func newCrowds(writes, others int, registerer prometheus.Registerer) *crowds {
	if writes == 0 {
		writes = writesPerProcessor * runtime.GOMAXPROCS(0)
	}
	limits := map[route.Work]int64{route.WritesPoints: int64(writes), route.ChangesGraph: int64(others), route.OtherWork: int64(others)}
	c := &crowds{limits: limits, inside: map[route.Work]*atomic.Int64{}, refused: promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_http_overload_refusals_total", Help: "Requests answered 503 at once because as many of their kind as --api-max-requests or --api-max-writes were being worked on.",
	}, []string{"kind"})}
	for work := range limits {
		c.inside[work] = new(atomic.Int64)
		c.refused.WithLabelValues(workLabel(work))
	}
	return c
}

func workLabel(work route.Work) string { return cmp.Or(string(work), otherWork) }

// counted says which routes' requests are: probes must be answered, and answers that last
// have bounds of their own.
func counted(rt *route.Route) bool {
	return rt.Access != route.Public && rt.Access != route.Operator && !rt.Lasts
}

// enter lets a request in, or says why not. Whoever was let in leaves.
func (c *crowds) enter(work route.Work) (leave func(), err error) {
	inside, limit := c.inside[work], c.limits[work]
	if n := inside.Add(1); limit > 0 && n > limit {
		inside.Add(-1)
		c.refused.WithLabelValues(workLabel(work)).Inc()
		return nil, fault.New(fault.Unavailable, "Too many requests are being worked on").After(overloadRetryAfter)
	}
	return func() { inside.Add(-1) }, nil
}

// uncrowded lets the requests of a route in as long as there is room for their kind of work.
func (s *Server) uncrowded(rt *route.Route, next http.HandlerFunc) http.HandlerFunc {
	if !counted(rt) {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		leave, err := s.crowds.enter(rt.Work)
		if err != nil {
			reply.Error(w, r, err)
			return
		}
		defer leave()
		next(w, r)
	}
}
