package api

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
)

// slowRequest is the duration from which on each request is logged.
const slowRequest = time.Second

// requestLog limits how many successful requests of each route are logged per second. At
// thousands of requests per second, their lines take a tenth of the time of a request and
// hundreds of gigabytes per day. The audit log and the metrics contain all requests.
type requestLog struct {
	perSecond int // 0: unlimited

	mu     sync.Mutex
	routes map[string]*loggedRoute // by pattern, so that their number is bounded
}

// loggedRoute counts the requests of a route.
type loggedRoute struct {
	second  int64 // in which logged was counted, since the Unix epoch
	logged  int
	omitted int64 // since the last line of the route
}

func newRequestLog(perSecond int) *requestLog {
	return &requestLog{perSecond: perSecond, routes: map[string]*loggedRoute{}}
}

// take reports whether a request of a route is logged, and how many requests of the route were
// omitted since the last one that was. A request that must be logged always is.
func (l *requestLog) take(route string, now time.Time, must bool) (omitted int64, logged bool) {
	if l.perSecond == 0 {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	counted := l.routes[route]
	if counted == nil {
		counted = &loggedRoute{}
		l.routes[route] = counted
	}
	if second := now.Unix(); counted.second != second {
		counted.second, counted.logged = second, 0
	}
	if !must && counted.logged >= l.perSecond {
		counted.omitted++
		return 0, false
	}
	counted.logged++
	omitted, counted.omitted = counted.omitted, 0
	return omitted, true
}

// log writes a line for each request, unless it is one of too many successful ones. The line
// contains the route's pattern, not the path, which may contain ids or text of an attacker, and
// the key's id, never the key. Successful probes and requests that share an audit record are not
// logged.
func (s *Server) log(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		defer func() { s.logRequest(r, started) }()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) logRequest(r *http.Request, started time.Time) {
	x, now := exchangeOf(r.Context()), time.Now()
	pattern, status := chi.RouteContext(r.Context()).RoutePattern(), x.sent.code()
	if (pattern == healthPath || pattern == readyPath) && status == http.StatusOK || x.folded {
		return
	}
	duration := now.Sub(started)
	succeeded := status >= http.StatusOK && status < http.StatusBadRequest
	omitted, logged := s.requests.take(pattern, now, !succeeded || duration >= slowRequest || x.operator != uuid.Nil)
	if !logged {
		return
	}
	attributes := []slog.Attr{
		slog.String("method", shortMethod(r.Method)), slog.String("route", pattern), slog.Int("status", status),
		slog.Duration("duration", duration), slog.Int64("bytes", x.sent.written),
		slog.String("ip", x.ip.String()),
	}
	if x.key != uuid.Nil {
		attributes = append(attributes, slog.String("key", x.key.String()))
	}
	if x.operator != uuid.Nil {
		attributes = append(attributes, slog.String("operator", x.operator.String()))
	}
	if omitted > 0 {
		attributes = append(attributes, slog.Int64("omitted", omitted))
	}
	slog.LogAttrs(r.Context(), slog.LevelInfo, "request", attributes...)
}
