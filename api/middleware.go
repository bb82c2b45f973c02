package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/cors"
	"github.com/google/uuid"
	"github.com/klauspost/compress/gzhttp"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// compressFrom is the least size of an answer worth compressing.
const compressFrom = 1024

// exchange is what is known of a request beside its context's values; the outer
// handlers read what the inner ones found.
type exchange struct {
	key uuid.UUID // zero without a valid key
	ip  netip.Addr
	// sent is the answer as it goes out, given as the handlers write it, before it is
	// compressed.
	sent, given recorder
	// operator has the session that the request came with, if any.
	operator uuid.UUID

	// For the audit log.
	used      *access.Credential // of a known key, valid or not
	principal *request.Principal // of a valid one
	unknown   bool               // a key was wanted, and none came that is known
	lasts     bool               // the answer goes on until somebody ends it
	planned   bool               // it is one of the requests of a workspace's plan
	recorded  bool               // there is a record of it
	folded    bool               // that counts it together with others
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	if x == nil {
		return &exchange{}
	}
	return x
}

// use installs what every request passes, outermost first.
func (s *Server) use(mux *chi.Mux) error {
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(compressFrom), gzhttp.SetContentType(false),
		gzhttp.ContentTypes([]string{
			"application/json", "application/yaml", "application/x-ndjson", "text/csv", "text/html", "text/javascript",
			"text/css",
		}))
	if err != nil {
		return fmt.Errorf("setting up compression: %w", err)
	}
	mux.Use(s.open, s.measure, s.identify)
	if s.deps.Admin != nil {
		mux.Use(s.administer)
	}
	if s.tracer.On() {
		mux.Use(s.trace)
	}
	mux.Use(s.speak)
	mux.Use(s.log)
	if s.deps.Audit != nil {
		mux.Use(s.audit)
	}
	mux.Use(func(next http.Handler) http.Handler { return compress(next) }, s.recoverPanics)
	mux.Use(s.limitHeader, s.cors(), s.authenticate, middleware.GetHead)
	return nil
}

// identify sets the request's id, and the headers that all answers have.
func (s *Server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := reply.NewRequestID()
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Livegraph-Version", s.deps.Version)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.draining.Load() {
			// The client goes elsewhere with its next request, instead of sending it
			// on a connection that is closed at that moment.
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r.WithContext(reply.WithRequestID(r.Context(), id)))
	})
}

// speak makes the errors of a route for the clients of another product theirs,
// whichever of the following gives them.
func (s *Server) speak(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rt := s.dialects[r.URL.Path]; rt != nil && rt.Method == r.Method {
			r = r.WithContext(reply.WithDialect(r.Context(), rt.Dialect.Errors))
		}
		next.ServeHTTP(w, r)
	})
}

// log writes one line a request: the route's pattern, not the path with its ids
// and what an attacker put there, and the key's id, never the key. Probes are
// left out unless they fail, and so are requests that the audit log counts together.
func (s *Server) log(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		defer func() {
			x := exchangeOf(r.Context())
			pattern := chi.RouteContext(r.Context()).RoutePattern()
			status := x.sent.code()
			if (pattern == healthPath || pattern == readyPath) && status == http.StatusOK || x.folded {
				return
			}
			attributes := []slog.Attr{
				slog.String("method", shortMethod(r.Method)), slog.String("route", pattern), slog.Int("status", status),
				slog.Duration("duration", time.Since(started)), slog.Int64("bytes", x.sent.written),
				slog.String("ip", x.ip.String()),
			}
			if x.key != uuid.Nil {
				attributes = append(attributes, slog.String("key", x.key.String()))
			}
			if x.operator != uuid.Nil {
				attributes = append(attributes, slog.String("operator", x.operator.String()))
			}
			slog.LogAttrs(r.Context(), slog.LevelInfo, "request", attributes...)
		}()
		next.ServeHTTP(w, r)
	})
}

// shortMethod bounds a method that a client made up, which may be a key by mistake.
func shortMethod(method string) string {
	method = apikey.Redact(method)
	return strings.ToValidUTF8(method[:min(len(method), 16)], "")
}

// recoverPanics turns a panic into a 500, or, when the answer had begun, into a
// cut connection: the client must not take half an answer for a whole one.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := &exchangeOf(r.Context()).given
		given.ResponseWriter = w
		defer func() {
			problem := recover()
			if problem == nil {
				return
			}
			if problem != http.ErrAbortHandler { //nolint:errorlint // the sentinel itself, as net/http compares it
				s.metrics.panics.Inc()
				slog.ErrorContext(r.Context(), "panic", "problem", problem, "stack", string(debug.Stack()))
			}
			if problem == http.ErrAbortHandler || given.code() != 0 { //nolint:errorlint // see above
				panic(http.ErrAbortHandler)
			}
			reply.Error(given, r, fault.New(fault.Internal, ""))
		}()
		next.ServeHTTP(given, r)
	})
}

// limitHeader refuses what is larger than configured with an answer; what is
// larger than headerBytesRead net/http refuses before, in plain text.
func (s *Server) limitHeader(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := len(r.RequestURI)
		for name, values := range r.Header {
			for _, value := range values {
				size += len(name) + len(value) + len(": \r\n")
			}
		}
		if limit := s.deps.Config.MaxHeaderBytes; size > limit {
			reply.Error(w, r, fault.Newf(fault.TooLarge, "The request header is larger than %d bytes", limit).
				With("field", "header").With("reason", "is too large").With("limit", limit))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// headerBytesRead leaves room above the configured limit, so that a header that
// is somewhat too large gets an answer in the envelope.
func headerBytesRead(configured int) int { return 2*configured + 1<<16 }

// cors answers preflight requests, for which browsers send no key, and marks the
// answers that the listed origins may read. The administration page is for itself alone.
func (s *Server) cors() func(http.Handler) http.Handler {
	shared := s.sharedOrigins()
	return func(next http.Handler) http.Handler {
		open := shared(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if under(r, adminPath) {
				next.ServeHTTP(w, r)
				return
			}
			open.ServeHTTP(w, r)
		})
	}
}

func (s *Server) sharedOrigins() func(http.Handler) http.Handler {
	origins := s.deps.Config.CORSOrigins
	return cors.Handler(cors.Options{
		// Not AllowedOrigins: an empty list there means everybody.
		AllowOriginFunc: func(_ *http.Request, origin string) bool {
			return slices.Contains(origins, "*") || slices.Contains(origins, origin)
		},
		AllowedMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete,
		},
		AllowedHeaders: []string{
			"Authorization", workspaceHeader, "Content-Type", "Content-Encoding", "Accept", "If-None-Match",
			"Idempotency-Key", "Prefer", "Last-Event-ID", "Traceparent", "Tracestate",
		},
		ExposedHeaders: []string{
			"X-Request-Id", "X-Livegraph-Version", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
			"RateLimit", "RateLimit-Policy", "Retry-After", "ETag", "Idempotent-Replayed", "Link", "Deprecation", "Sunset",
		},
		MaxAge: 600,
	})
}

// clientIP returns the caller's address: the connection's, or, through trusted
// proxies, the last one of X-Forwarded-For that is not itself trusted.
func (s *Server) clientIP(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip := peer.Addr().Unmap()
	if !s.trusted(ip) {
		return ip
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return ip
		}
		if ip = next.Unmap(); !s.trusted(ip) {
			return ip
		}
	}
	return ip
}

func (s *Server) trusted(ip netip.Addr) bool {
	return slices.ContainsFunc(s.proxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}
