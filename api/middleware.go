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

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/cors"
	"github.com/google/uuid"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// minCompressSize is the minimum size of a response that is compressed, in bytes.
const minCompressSize = 1024

// exchange is the state of a request and its response. Inner handlers set it and outer
// handlers read it.
type exchange struct {
	key uuid.UUID // zero without a valid key
	ip  netip.Addr
	// sent is the response as it is sent; uncompressed is the response as the handlers write
	// it.
	sent, uncompressed recorder
	// operator is the operator whose session the request has, or zero.
	operator uuid.UUID

	// For the audit log.
	knownCredential *access.Credential // of a known key, which may be invalid
	principal       *request.Principal // of a valid key
	unknownKey      bool               // a key is required, and the request has no known one
	streaming       bool               // the response is a stream
	withinPlan      bool               // counted against a workspace's plan and not refused
	recorded        bool               // a record has been written
	folded          bool               // counted in one record with similar requests
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	if x == nil {
		return &exchange{}
	}
	return x
}

// installMiddleware installs the middleware of all requests, outermost first.
func (s *Server) installMiddleware(mux *chi.Mux) error {
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressSize), gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.SetContentType(false),
		gzhttp.ContentTypes([]string{
			"application/json", "application/yaml", "application/x-ndjson", "text/csv", "text/html", "text/javascript",
			"text/css",
		}))
	if err != nil {
		return fmt.Errorf("setting up compression: %w", err)
	}
	mux.Use(s.beginExchange, s.measure, s.identify)
	if s.deps.Admin != nil {
		mux.Use(s.prepareAdmin)
	}
	if s.tracer.Enabled() {
		mux.Use(s.trace)
	}
	mux.Use(s.setDialect)
	mux.Use(s.log)
	if s.deps.Audit != nil {
		mux.Use(s.audit)
	}
	mux.Use(func(next http.Handler) http.Handler { return compress(next) }, s.recoverPanics)
	mux.Use(s.limitHeader, s.cors(), s.authenticate, middleware.GetHead)
	return nil
}

// identify sets the request's id and the headers of all responses.
func (s *Server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := reply.NewRequestID()
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Livegraph-Version", s.deps.Version)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.draining.Load() {
			// The client sends its next request to another process, not on a connection that
			// is about to be closed.
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r.WithContext(reply.WithRequestID(r.Context(), id)))
	})
}

// setDialect sets the dialect of error responses for a route with a dialect. It applies to
// the errors of all inner handlers.
func (s *Server) setDialect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d := s.dialects.ofErrors(r); d != nil && d.Errors.Convert != nil {
			r = r.WithContext(reply.WithDialect(r.Context(), d.Errors))
		}
		next.ServeHTTP(w, r)
	})
}

// shortMethod truncates a method and redacts keys in it, because clients can send any text.
func shortMethod(method string) string {
	method = apikey.Redact(method)
	return strings.ToValidUTF8(method[:min(len(method), 16)], "")
}

// recoverPanics answers 500 after a panic. If the response has begun, it closes the
// connection, so that the client does not accept a partial response as complete.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response := &exchangeOf(r.Context()).uncompressed
		response.ResponseWriter = w
		defer func() {
			problem := recover()
			if problem == nil {
				return
			}
			if problem != http.ErrAbortHandler { //nolint:errorlint // the sentinel itself, as net/http compares it
				s.metrics.panics.Inc()
				slog.ErrorContext(r.Context(), "panic", "problem", problem, "stack", string(debug.Stack()))
			}
			if problem == http.ErrAbortHandler || response.code() != 0 { //nolint:errorlint // see above
				panic(http.ErrAbortHandler)
			}
			reply.Error(response, r, fault.New(fault.Internal, ""))
		}()
		next.ServeHTTP(response, r)
	})
}

// limitHeader answers a request whose header is larger than configured with an error in the
// envelope. net/http has already refused headers larger than headerBytesRead, in plain text.
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

// headerBytesRead returns the limit for net/http. It is above the configured limit, so that
// a header that is somewhat too large gets an error in the envelope.
func headerBytesRead(configured int) int { return 2*configured + 1<<16 }

// cors answers preflight requests, for which browsers send no key, and sets the headers that
// allow the configured origins to read responses. It does not apply to the admin UI.
func (s *Server) cors() func(http.Handler) http.Handler {
	shared := s.sharedOrigins()
	return func(next http.Handler) http.Handler {
		withCORS := shared(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if under(r, adminPath) {
				next.ServeHTTP(w, r)
				return
			}
			withCORS.ServeHTTP(w, r)
		})
	}
}

func (s *Server) sharedOrigins() func(http.Handler) http.Handler {
	origins := s.deps.Config.CORSOrigins
	return cors.Handler(cors.Options{
		// Not AllowedOrigins: an empty list there means all origins.
		AllowOriginFunc: func(_ *http.Request, origin string) bool {
			return slices.Contains(origins, "*") || slices.Contains(origins, origin)
		},
		AllowedMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete,
		},
		AllowedHeaders: []string{
			"Authorization", workspaceHeader, "Content-Type", "Content-Encoding", "Accept", "If-None-Match", "If-Match",
			"Idempotency-Key", "Prefer", "Last-Event-ID", "Traceparent", "Tracestate",
		},
		ExposedHeaders: []string{
			"X-Request-Id", "X-Livegraph-Version", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
			"RateLimit", "RateLimit-Policy", "Retry-After", "ETag", "Idempotent-Replayed", "Link", "Deprecation", "Sunset",
		},
		MaxAge: 600,
	})
}

// clientIP returns the caller's address: that of the connection or, behind trusted proxies,
// the last address in X-Forwarded-For that is not a trusted proxy.
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
