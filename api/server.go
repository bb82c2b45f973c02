// Package api serves the interface over HTTP: it enforces what each route
// declares (key, workspace, scope), bounds what clients can send and hold open,
// and sees to it that every answer carries the envelope, the request id and the
// version. What the routes do is in the packages beside it.
//
// A request passes, in this order: metrics, request id, trace, access log, audit log,
// compression of the answer, panic recovery, header limits, CORS, key, routing, workspace, scope,
// the plan's requests, and then its handler, which reads the body (size, parse, values).
// Below /admin/api an operator's session takes the place of the key, and the operators'
// trail that of the audit log; there is no CORS, no scope and no plan there.
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
	// answerGrace is what a client has to take the answer, beyond the time of
	// reading the request and of the query.
	answerGrace = 30 * time.Second
	// unusedGrace is what a connection without a request has to bring one, once
	// no further connection is accepted. net/http would wait five seconds.
	unusedGrace = 100 * time.Millisecond
	// drainShare of the shutdown timeout is spent failing /readyz while still
	// accepting, so that a load balancer can look away first.
	drainShare = 8
)

// Deps is what the server is made of.
type Deps struct {
	Config  config.API
	Version string // of the build, for X-Livegraph-Version
	Keys    authenticator
	Account account
	// Audit records the uses of keys; nil: they are not recorded.
	Audit auditor
	// Limits counts the requests of workspaces; nil: in this process alone.
	Limits limiter
	// Admin knows the operators of the administration page; nil: there is no such page.
	Admin administration
	// Routes of the groups, beside the server's own.
	Routes []route.Route
	// ProbesOnly leaves /healthz and /readyz alone: for a process without the
	// role api. Keys and Account are not needed then.
	ProbesOnly bool
	// TLS is what the listener speaks; nil: plain HTTP.
	TLS *tls.Config
	// Ready reports whether this process can serve; nil: always. It is asked at
	// each probe, so it must be quick.
	Ready func(ctx context.Context) error
	// Metrics registers what the server measures; nil: nowhere.
	Metrics prometheus.Registerer
	// Tracing records requests; nil: none.
	Tracing trace.TracerProvider
}

// authenticator verifies keys; see api/auth.
type authenticator interface {
	Authenticate(ctx context.Context, text string, from netip.Addr) (*access.Credential, error)
	Used(key uuid.UUID, ip netip.Addr)
}

// limiter holds requests against the plans of workspaces; see api/ratelimit.
type limiter interface {
	Take(ctx context.Context, workspace uuid.UUID, plan ratelimit.Plan) ratelimit.Standing
	Look(ctx context.Context, asked []ratelimit.Of) []ratelimit.Standing
}

// account is what /api/me tells of a key.
type account interface {
	KeyByID(ctx context.Context, id uuid.UUID) (access.Key, error)
	WorkspacesByID(ctx context.Context, ids []uuid.UUID) ([]access.Workspace, error)
}

// Server is the HTTP side of a process with the role api.
type Server struct {
	deps     Deps
	routes   []route.Route
	mirrored []route.Route           // those of workspaces once more, for operators
	dialects map[string]*route.Route // by path; outside /api only these want a key
	handler  http.Handler
	proxies  []netip.Prefix
	tracer   tracing.Tracer
	attempts *ratelimit.Attempts
	refusals *ratelimit.Refusals
	crowds   *concurrencyLimiter
	draining atomic.Bool
	stopping chan struct{} // closed when answers that last must end
	metrics  *metrics
}

// New creates a server. It fails on a configuration that cannot work and on a
// route that is declared twice or without what its access needs.
func New(deps Deps) (*Server, error) {
	if deps.ProbesOnly {
		deps.Keys = noKeys{}
	}
	s := &Server{deps: deps, tracer: tracing.New(deps.Tracing, "api"), stopping: make(chan struct{})}
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
		registerer = nil // nobody authenticates
	}
	s.attempts = ratelimit.NewAttempts(deps.Config.AuthFailuresPerMinute, registerer)
	s.refusals = ratelimit.NewRefusals(deps.Config.RefusalsPerSecond)
	own, err := s.ownRoutes()
	if err != nil {
		return nil, err
	}
	s.routes = slices.Concat(own, deps.Routes)
	if err := checkRoutes(s.routes, deps.Admin != nil); err != nil {
		return nil, err
	}
	if deps.Admin != nil {
		s.mirrored = s.mirror(s.routes)
	}
	s.dialects = map[string]*route.Route{}
	for i := range s.routes {
		if rt := &s.routes[i]; rt.Dialect != nil {
			s.dialects[rt.Pattern] = rt
		}
	}
	s.metrics = newMetrics(s, deps.Metrics)
	s.crowds = newConcurrencyLimiter(&deps.Config, registerer)
	mux := chi.NewMux()
	if err := s.use(mux); err != nil {
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
		wantsKey := rt.Access != route.Public && rt.Access != route.Operator
		switch {
		case seen[name]:
			return fmt.Errorf("route %s is declared twice", name)
		case rt.Access == route.Workspace && len(rt.Scopes) == 0:
			return fmt.Errorf("route %s declares no scope", name)
		case rt.Access != route.Workspace && len(rt.Scopes) > 0:
			return fmt.Errorf("route %s declares scopes without a workspace", name)
		case rt.Access == route.Operator && (!administered || !inAdmin):
			return fmt.Errorf("route %s wants an operator, who is looked for below %s only", name, adminAPIPath)
		case wantsKey && !inAPI && rt.Dialect == nil:
			return fmt.Errorf("route %s wants a key, which is looked at under /api only", name)
		case rt.Dialect != nil && (rt.Access != route.Workspace || strings.ContainsAny(rt.Pattern, "{*")):
			return fmt.Errorf("route %s has a dialect, which is for one path with a workspace", name)
		case rt.Access == route.Public && inAdmin && name != http.MethodPost+" "+loginPath:
			return fmt.Errorf("route %s is public, but not the login", name)
		case rt.Access == route.Public && inAPI && !isPublicPath(rt.Pattern):
			return fmt.Errorf("route %s is public, but not among the public paths", name)
		}
		seen[name] = true
	}
	return nil
}

// Handler returns the whole of the interface as one handler.
func (s *Server) Handler() http.Handler { return s.handler }

// Routes returns every route with what it requires.
func (s *Server) Routes() []route.Route { return s.routes }

// Mirrored returns the routes of workspaces as operators have them, below /admin/api.
func (s *Server) Mirrored() []route.Route { return s.mirrored }

// secured adds TLS to the listener, if the server speaks it.
func (s *Server) secured(listener net.Listener) net.Listener {
	if s.deps.TLS == nil {
		return listener
	}
	return encrypt(listener, s.deps.TLS, s.deps.Version)
}

// Serve answers on the listener until ctx is done, then drains: readiness fails
// first, then no connection is accepted and requests in flight are answered,
// then what is left is closed, all within the shutdown timeout. The listener is
// closed when Serve returns.
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
		TLSConfig:                    s.deps.TLS, // the listener's; from here net/http knows of HTTP/2
		HTTP2:                        http2Limits(),
		// What net/http has to say: clients that break off, mostly.
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	var unused unusedConns
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		unused.see(conn, state)
		s.metrics.see(conn, state)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(s.secured(limitConnections(listener, cfg.MaxConnections))) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving HTTP: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	time.Sleep(cfg.ShutdownTimeout / drainShare)
	close(s.stopping)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownTimeout-cfg.ShutdownTimeout/drainShare)
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
