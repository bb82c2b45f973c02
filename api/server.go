// Package api serves the HTTP API. It enforces what each route declares (key, workspace,
// scope), limits what clients can send and how many connections they can open, and ensures
// that every response has the envelope, the request id and the version. The handlers of the
// routes are in the packages beside it.
//
// A request passes, in this order: metrics, request id, trace, access log, audit log,
// compression of the response, panic recovery, header limits, CORS, key, routing, workspace,
// scope, the limits of the plan, and then its handler, which reads the body (size, parse,
// values). Below /admin/api an operator's session replaces the key, and the operators' audit
// trail replaces the audit log; CORS, scopes and plans do not apply there.
package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// answerGrace is the time for sending the response, in addition to the time for reading
	// the request and for the query.
	answerGrace = 30 * time.Second
	// unusedGrace is how long a connection without a request stays open during the shutdown.
	// net/http would wait five seconds.
	unusedGrace = 100 * time.Millisecond
	// drainDivisor is the divisor of the shutdown timeout. For the quotient, /readyz fails
	// while connections are still accepted, so that a load balancer can stop sending requests.
	drainDivisor = 8
)

// Deps are the dependencies of a server.
type Deps struct {
	Config  config.API
	Version string // of the build, for X-Livegraph-Version
	Keys    authenticator
	Account account
	// Audit writes the audit log; nil: there is none.
	Audit auditor
	// Limits counts the requests of workspaces; nil: they are counted in this process only.
	Limits limiter
	// Admin authenticates the operators of the admin UI; nil: there is no admin UI.
	Admin administration
	// Routes are the routes of the groups, in addition to the built-in ones.
	Routes []route.Route
	// ProbesOnly limits the built-in routes to /healthz and /readyz, for a process without the
	// role api. Keys and Account are not needed then.
	ProbesOnly bool
	// TLS is the configuration of the listener; nil: plain HTTP.
	TLS *tls.Config
	// Ready returns an error if this process cannot serve; nil: it always can. It is called
	// at each probe, so it must be fast.
	Ready func(ctx context.Context) error
	// Metrics registers the metrics of the server; nil: they are not registered.
	Metrics prometheus.Registerer
	// Tracing records requests; nil: they are not traced.
	Tracing trace.TracerProvider
}

// authenticator verifies keys; see api/auth.
type authenticator interface {
	Authenticate(ctx context.Context, text string, from netip.Addr) (*access.Credential, error)
	RecordUse(key uuid.UUID, ip netip.Addr)
}

// limiter counts requests against the plans of workspaces; see api/ratelimit.
type limiter interface {
	Take(ctx context.Context, workspace uuid.UUID, plan ratelimit.Plan) ratelimit.Status
	Peek(ctx context.Context, asked []ratelimit.WorkspacePlan) []ratelimit.Status
}

// account reads what /api/me returns.
type account interface {
	KeyByID(ctx context.Context, id uuid.UUID) (access.Key, error)
	WorkspacesByID(ctx context.Context, ids []uuid.UUID) ([]access.Workspace, error)
}

// Server is the HTTP server of a process.
type Server struct {
	deps        Deps
	routes      []route.Route
	mirrored    []route.Route // copies of the routes of workspaces, for operators
	dialects    dialects      // outside /api only their paths require a key
	handler     http.Handler
	proxies     []netip.Prefix
	tracer      tracing.Tracer
	attempts    *ratelimit.Attempts
	refusals    *ratelimit.Refusals
	concurrency *concurrencyLimiter
	requests    *requestLog
	draining    atomic.Bool
	stopping    chan struct{} // closed when streams must end
	metrics     *metrics
}

// New creates a server. It returns an error if the configuration is not valid, or if a route
// is declared twice or without what its access requires.
func New(deps Deps) (*Server, error) {
	if deps.ProbesOnly {
		deps.Keys = noKeys{}
	}
	s := &Server{deps: deps, tracer: tracing.New(deps.Tracing, "api"), stopping: make(chan struct{})}
	s.requests = newRequestLog(deps.Config.LoggedPerSecond)
	for _, text := range deps.Config.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("trusted proxy %q: %w", text, err)
		}
		s.proxies = append(s.proxies, prefix)
	}
	if s.deps.Limits == nil {
		s.deps.Limits = ratelimit.New(ratelimit.Deps{})
	}
	registerer := deps.Metrics
	if deps.ProbesOnly {
		registerer = nil // there is no authentication
	}
	s.attempts = ratelimit.NewAttempts(deps.Config.AuthFailuresPerMinute, registerer)
	s.refusals = ratelimit.NewRefusals(deps.Config.RefusalsPerSecond)
	builtin, err := s.builtinRoutes()
	if err != nil {
		return nil, err
	}
	s.routes = slices.Concat(builtin, deps.Routes)
	if err := checkRoutes(s.routes, deps.Admin != nil); err != nil {
		return nil, err
	}
	if deps.Admin != nil {
		s.mirrored = s.mirror(s.routes)
	}
	s.dialects = newDialects(s.routes)
	s.metrics = newMetrics(s, deps.Metrics)
	s.concurrency = newConcurrencyLimiter(&deps.Config, registerer)
	mux := chi.NewMux()
	if err := s.installMiddleware(mux); err != nil {
		return nil, err
	}
	for _, rt := range s.routes {
		if !strings.HasPrefix(rt.Pattern, adminAPIPath+"/") {
			mux.Method(rt.Method, rt.Pattern, s.enforce(rt))
		}
	}
	if deps.Admin != nil {
		mux.Mount(adminAPIPath, s.operatorRoutes())
	}
	mux.NotFound(s.notFound)
	mux.MethodNotAllowed(s.methodNotAllowed)
	s.handler = mux
	return s, nil
}

func checkRoutes(routes []route.Route, administered bool) error {
	seen := map[string]bool{}
	for _, rt := range routes {
		name := rt.Method + " " + rt.Pattern
		inAPI, inAdmin := strings.HasPrefix(rt.Pattern, "/api/"), strings.HasPrefix(rt.Pattern, adminAPIPath+"/")
		requiresKey := rt.Access != route.Public && rt.Access != route.Operator
		switch {
		case seen[name]:
			return fmt.Errorf("route %s is declared twice", name)
		case rt.Access == route.Workspace && len(rt.Scopes) == 0:
			return fmt.Errorf("route %s declares no scope", name)
		case rt.Access != route.Workspace && len(rt.Scopes) > 0:
			return fmt.Errorf("route %s declares scopes without a workspace", name)
		case rt.Access == route.Operator && (!administered || !inAdmin):
			return fmt.Errorf("route %s requires an operator, but is not below %s or there is no admin UI", name, adminAPIPath)
		case requiresKey && !inAPI && rt.Dialect == nil:
			return fmt.Errorf("route %s requires a key, but is not under /api", name)
		case rt.Dialect != nil && rt.Access != route.Workspace:
			return fmt.Errorf("route %s has a dialect, but no workspace", name)
		case rt.Dialect != nil && rt.Dialect.Prefix == "" && strings.ContainsAny(rt.Pattern, "{*"):
			return fmt.Errorf("route %s has a dialect, but no fixed path", name)
		case rt.Dialect != nil && !strings.HasPrefix(rt.Pattern, rt.Dialect.Prefix):
			return fmt.Errorf("route %s is not below the prefix of its dialect", name)
		case rt.Access == route.Public && inAdmin && name != http.MethodPost+" "+loginPath:
			return fmt.Errorf("route %s is public, but not the login", name)
		case rt.Access == route.Public && inAPI && !isPublicPath(rt.Pattern):
			return fmt.Errorf("route %s is public, but not among the public paths", name)
		}
		seen[name] = true
	}
	return nil
}

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return s.handler }

// Routes returns all routes, without those of Mirrored.
func (s *Server) Routes() []route.Route { return s.routes }

// Mirrored returns the copies of the routes of workspaces for operators, below /admin/api.
func (s *Server) Mirrored() []route.Route { return s.mirrored }

// withTLS returns the listener with TLS if it is configured.
func (s *Server) withTLS(listener net.Listener) net.Listener {
	if s.deps.TLS == nil {
		return listener
	}
	return newTLSListener(listener, s.deps.TLS, s.deps.Version)
}

// Serve serves requests on the listener until ctx is done and then shuts down: first /readyz
// fails, then no connection is accepted and requests in flight are answered, then the
// remaining connections are closed, all within the shutdown timeout. The listener is closed
// when Serve returns.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	cfg := s.deps.Config
	server := &http.Server{
		Handler:                      s.handler,
		ReadHeaderTimeout:            min(headerTimeout, cfg.ReadTimeout),
		ReadTimeout:                  cfg.ReadTimeout,
		WriteTimeout:                 cfg.ReadTimeout + cfg.QueryTimeout + answerGrace,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               headerBytesRead(cfg.MaxHeaderBytes),
		DisableGeneralOptionsHandler: true,
		TLSConfig:                    s.deps.TLS, // the listener does TLS; net/http enables HTTP/2 by this field
		HTTP2:                        http2Limits(),
		// net/http mostly logs clients that disconnect.
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	var unused unusedConns
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		unused.track(conn, state)
		s.metrics.trackConnection(conn, state)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(s.withTLS(limitConnections(listener, cfg.MaxConnections))) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving HTTP: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	time.Sleep(cfg.ShutdownTimeout / drainDivisor)
	close(s.stopping)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownTimeout-cfg.ShutdownTimeout/drainDivisor)
	defer cancel()
	closing := time.AfterFunc(unusedGrace, unused.close)
	defer closing.Stop()
	if err := server.Shutdown(grace); err != nil {
		slog.WarnContext(ctx, "requests that did not end in the grace time are cut off", "grace", cfg.ShutdownTimeout)
		_ = server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving HTTP: %w", err)
	}
	return nil
}
