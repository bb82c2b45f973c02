package api

import (
	"net/http"
	"strings"
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

// Kinds of requests that are held apart, so that too many of one leave the others be.
// They are values of a label.
const (
	kindPoints = "points" // that write points
	kindGraph  = "graph"  // that change the graph
	kindOther  = "other"
)

// crowds counts the requests of each kind that are worked on. What comes beyond the
// limit is refused at once: behind so many it would wait longer than is of use, and hold
// memory meanwhile. So the time of those that are let in is bounded by the limit and by
// what the machine does in a second.
type crowds struct {
	limit   int64 // of each kind; 0: none
	inside  map[string]*atomic.Int64
	refused *prometheus.CounterVec
}

func newCrowds(limit int, registerer prometheus.Registerer) *crowds {
	c := &crowds{limit: int64(limit), inside: map[string]*atomic.Int64{}, refused: promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_http_overload_refusals_total", Help: "Requests answered 503 at once because as many of their kind as --api-max-requests were being worked on.",
	}, []string{"kind"})}
	for _, kind := range []string{kindPoints, kindGraph, kindOther} {
		c.inside[kind] = new(atomic.Int64)
		c.refused.WithLabelValues(kind)
	}
	return c
}

// kindOf gives the kind of a route's requests; none, where they are not counted: probes
// must be answered, and answers that last have bounds of their own.
func kindOf(rt *route.Route) (kind string, counted bool) {
	switch {
	case rt.Access == route.Public || rt.Access == route.Operator || rt.Lasts:
		return "", false
	case rt.Method == http.MethodPost && (rt.Dialect != nil || rt.Pattern == "/api/live-data/ingest"):
		return kindPoints, true
	case rt.Method == http.MethodPost && strings.HasPrefix(rt.Pattern, "/api/commands/"):
		return kindGraph, true
	}
	return kindOther, true
}

// enter lets a request in, or says why not. Whoever was let in leaves.
func (c *crowds) enter(kind string) (leave func(), err error) {
	inside := c.inside[kind]
	if n := inside.Add(1); c.limit > 0 && n > c.limit {
		inside.Add(-1)
		c.refused.WithLabelValues(kind).Inc()
		return nil, fault.New(fault.Unavailable, "Too many requests are being worked on").After(overloadRetryAfter)
	}
	return func() { inside.Add(-1) }, nil
}

// uncrowded lets the requests of a route in as long as there is room for their kind.
func (s *Server) uncrowded(rt *route.Route, next http.HandlerFunc) http.HandlerFunc {
	kind, counted := kindOf(rt)
	if !counted {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		leave, err := s.crowds.enter(kind)
		if err != nil {
			reply.Error(w, r, err)
			return
		}
		defer leave()
		next(w, r)
	}
}
