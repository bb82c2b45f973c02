package api

import (
	"cmp"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Values of labels. A label never contains text from a client: patterns are those of the
// routes; methods and reasons are listed here.
const (
	noRoute     = "none"  // no route matched
	otherMethod = "other" // not in knownMethods

	refusedNoKey     = "no_key"           // no Authorization header
	refusedScheme    = "bad_header"       // several headers, or another scheme than Bearer
	refusedKey       = "bad_key"          // see livegraph_auth_checks_total
	refusedHeader    = "workspace_header" // missing or not a UUID
	refusedWorkspace = "workspace"        // the key has no access to it
	refusedScope     = "scope"
	refusedRate      = "rate_limit" // the workspace's plan is exhausted
	refusedAttempts  = "attempts"   // too many bad headers or bad keys from the address
	refusedSession   = "session"    // no session of the admin UI, or one that has ended
	refusedForgery   = "forgery"    // without the session's token, or from another site
)

var (
	knownMethods = map[string]bool{
		http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true,
		http.MethodPatch: true, http.MethodDelete: true, http.MethodOptions: true,
	}
	refusals = []string{
		refusedNoKey, refusedScheme, refusedKey, refusedHeader, refusedWorkspace, refusedScope, refusedRate, refusedAttempts,
		refusedSession, refusedForgery,
	}
)

// durationBuckets are in seconds. Most responses take a few milliseconds, queries up to half
// a minute.
var durationBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// metrics are the metrics of the HTTP listener.
type metrics struct {
	requests      *prometheus.CounterVec
	duration      *prometheus.HistogramVec
	requestBytes  *prometheus.CounterVec
	responseBytes *prometheus.CounterVec
	inFlight      prometheus.Gauge
	connections   prometheus.Gauge
	accepted      prometheus.Counter
	refused       *prometheus.CounterVec
	panics        prometheus.Counter
	routes        map[string]bool // patterns
	streaming     map[string]bool // patterns of streaming routes
}

func newMetrics(s *Server, registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		requests: vec(
			"livegraph_http_requests_total",
			"Total number of handled requests by route pattern (none: no route), method and status. 499: the request failed "+
				"because its client had disconnected.",
			"route", "method", "status",
		),
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "livegraph_http_request_duration_seconds",
			Help:    "Duration from the request header to the end of the response body in seconds, excluding streams.",
			Buckets: durationBuckets,
		}, []string{"route"}),
		requestBytes: vec(
			"livegraph_http_request_bytes_total",
			"Total size of received request bodies in bytes, before decompression.",
			"route",
		),
		responseBytes: vec(
			"livegraph_http_response_bytes_total",
			"Total size of response bodies in bytes, before compression.",
			"route",
		),
		inFlight:    gauge("livegraph_http_requests_in_flight", "Number of requests being handled."),
		connections: gauge("livegraph_http_connections", "Number of open connections."),
		accepted:    counter("livegraph_http_connections_accepted_total", "Total number of accepted connections."),
		refused: vec(
			"livegraph_http_access_refusals_total",
			"Total number of requests refused because of their key, workspace, scope, plan or session of the admin UI, by "+
				"reason.",
			"reason",
		),
		panics: counter(
			"livegraph_http_panics_total",
			"Total number of panics in request handlers. Each is a defect, and its stack trace is in the log.",
		),
		routes:    map[string]bool{},
		streaming: map[string]bool{},
	}
	for _, reason := range refusals {
		m.refused.WithLabelValues(reason)
	}
	registerGauges(s, factory)
	m.addRoutes(s)
	return m
}

// registerGauges registers the gauges that are computed from the state of the server.
func registerGauges(s *Server, factory promauto.Factory) {
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_http_connections_limit",
		Help: "Maximum number of open connections. When it is reached, new connections wait to be accepted.",
	}, func() float64 { return float64(s.deps.Config.MaxConnections) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_http_draining", Help: "1 if the process is shutting down and /readyz reports it, otherwise 0.",
	}, func() float64 {
		if s.draining.Load() {
			return 1
		}
		return 0
	})
}

// addRoutes records the patterns of the server's routes.
func (m *metrics) addRoutes(s *Server) {
	for _, rt := range s.routes {
		m.routes[rt.Pattern] = true
		if rt.Streaming {
			m.streaming[rt.Pattern] = true
			continue
		}
		m.duration.WithLabelValues(rt.Pattern)
	}
	for _, rt := range s.mirrored { // their durations appear with the first request
		m.routes[rt.Pattern] = true
		m.streaming[rt.Pattern] = rt.Streaming
	}
}

// measure counts every request that reaches the handlers.
func (s *Server) measure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.metrics.inFlight.Inc()
		var body *countedBody
		if r.Body != nil && r.Body != http.NoBody {
			body = &countedBody{ReadCloser: r.Body}
			r.Body = body
		}
		defer func() {
			s.metrics.inFlight.Dec()
			s.metrics.count(r, &exchangeOf(r.Context()).sent, body, time.Since(began))
		}()
		next.ServeHTTP(w, r)
	})
}

func (m *metrics) count(r *http.Request, answer *recorder, body *countedBody, duration time.Duration) {
	route, method := noRoute, otherMethod
	if pattern := chi.RouteContext(r.Context()).RoutePattern(); m.routes[pattern] {
		route = pattern
	}
	if knownMethods[r.Method] {
		method = r.Method
	}
	// If the handler wrote nothing, net/http has sent 200, unless the response was cut off,
	// which the client sees as a broken connection.
	status := cmp.Or(answer.code(), http.StatusOK)
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	if !m.streaming[route] && !exchangeOf(r.Context()).streaming { // the duration of a stream depends on its reader
		m.duration.WithLabelValues(route).Observe(duration.Seconds())
	}
	if body != nil {
		m.requestBytes.WithLabelValues(route).Add(float64(body.read.Load()))
	}
	m.responseBytes.WithLabelValues(route).Add(float64(answer.written))
}

// countedBody counts the bytes that are read from a body, which may differ from its
// Content-Length. net/http may continue to read after the handler has returned.
type countedBody struct {
	io.ReadCloser
	read atomic.Int64
}

// Read implements io.Reader.
func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// trackConnection counts connections. It is called by the server's ConnState.
func (m *metrics) trackConnection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		m.accepted.Inc()
		m.connections.Inc()
	case http.StateClosed, http.StateHijacked:
		m.connections.Dec()
	}
}
