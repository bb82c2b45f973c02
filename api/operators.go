package api

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Paths of the administration page.
const (
	adminPath    = "/admin"
	adminAPIPath = adminPath + "/api"
	loginPath    = adminAPIPath + "/session"
)

// sessionScheme is the challenge of 401 below adminAPIPath: not Bearer, because no key
// is taken there.
const sessionScheme = "Session"

// administration knows the operators and their sessions; see api/admin.
type administration interface {
	// Session returns the operator whose session a request belongs to, and counts as a use
	// of it. Unauthenticated: there is none.
	Session(r *http.Request) (*request.Operator, error)
	// Recheck refuses, as Unauthenticated, a request whose session has ended since.
	Recheck(r *http.Request) error
	// Guard refuses, as Forbidden, a request that another site may have had an operator's
	// browser send.
	Guard(r *http.Request) error
	// Record notes in the operators' trail what is about to be done; end is to be told
	// the status with which it is answered.
	Record(r *http.Request, pattern string) (end func(status int), err error)
}

// adminHeaders are those of every answer of the administration page, whichever handler
// gives it. Those that may be cached after all say so themselves.
var adminHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; " +
		"object-src 'none'",
	"X-Frame-Options":              "DENY", // for what does not know frame-ancestors
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy": "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), " +
		"microphone=(), payment=(), usb=()",
	"Cache-Control": "no-store",
}

// under reports whether a path is or is below prefix, as it is read or as it was
// written, so that no escape leads around what holds there.
func under(r *http.Request, prefix string) bool {
	for _, path := range []string{r.URL.Path, r.URL.RawPath} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// administer returns the answers of the administration page their headers, and its
// handlers what they need to know of the client.
func (s *Server) administer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !under(r, adminPath) {
			next.ServeHTTP(w, r)
			return
		}
		for name, value := range adminHeaders {
			w.Header().Set(name, value)
		}
		ctx := request.WithClient(r.Context(), request.Client{
			IP: exchangeOf(r.Context()).ip.WithZone(""), Secure: s.secure(r),
		})
		next.ServeHTTP(w, r.WithContext(reply.WithChallenge(ctx, sessionScheme)))
	})
}

// secure reports whether the client's connection is encrypted: here, or at what is
// before this process.
func (s *Server) secure(r *http.Request) bool {
	if s.deps.TLS != nil || strings.HasPrefix(strings.ToLower(s.deps.Config.PublicURL), "https://") {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	proto, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",") // the client's own is the first
	return err == nil && s.trusted(peer.Addr().Unmap()) && strings.EqualFold(strings.TrimSpace(proto), "https")
}

// authenticateOperator requires a session on every path below /admin/api except for the login,
// whether a route is there or not. Neither an API key nor anything but the cookie is
// looked at.
func (s *Server) authenticateOperator(next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	refuse := func(reason string, err error) {
		if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden) {
			s.metrics.refused.WithLabelValues(reason).Inc()
		}
		reply.Error(w, r, err)
	}
	if r.Method != http.MethodPost || r.URL.Path != loginPath {
		operator, err := s.deps.Admin.Session(r)
		if err != nil {
			refuse(refusedSession, err)
			return
		}
		exchangeOf(ctx).operator = operator.ID
		ctx = request.WithOperator(ctx, operator)
	}
	if err := s.deps.Admin.Guard(r); err != nil {
		refuse(refusedForgery, err)
		return
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// operatorRoutes is what is below /admin/api: the routes that are declared there, and
// each route of a workspace once more, for operators.
func (s *Server) operatorRoutes() http.Handler {
	mux := chi.NewRouter()
	for _, rt := range s.routes {
		if strings.HasPrefix(rt.Pattern, adminAPIPath+"/") {
			noted := rt.Method != http.MethodGet || rt.ReadsData
			if rt.Access == route.Public {
				mux.Method(rt.Method, strings.TrimPrefix(rt.Pattern, adminAPIPath), s.enforce(rt))
				continue
			}
			mux.Method(rt.Method, strings.TrimPrefix(rt.Pattern, adminAPIPath), s.enforceOperator(rt, noted))
		}
	}
	for _, rt := range s.mirrored {
		// a tenant's, all of them
		mux.Method(rt.Method, strings.TrimPrefix(rt.Pattern, adminAPIPath), s.enforceOperator(rt, true))
	}
	mux.NotFound(s.notFound)
	mux.MethodNotAllowed(s.methodNotAllowed)
	return mux
}

// mirror returns the routes of workspaces as operators have them: /api/X is
// /admin/api/X, with a session in place of a key. Not those for clients of other
// products.
func (s *Server) mirror(routes []route.Route) []route.Route {
	var mirrored []route.Route
	for _, rt := range routes {
		if rt.Access != route.Workspace || rt.Dialect != nil {
			continue
		}
		m := rt
		m.Access = route.Operator
		m.Pattern = adminPath + rt.Pattern
		m.Handle = s.inWorkspace(rt)
		mirrored = append(mirrored, m)
	}
	return mirrored
}

// enforceOperator is a route's handler behind a session. What it does is noted in the
// trail if noted says so.
func (s *Server) enforceOperator(rt route.Route, noted bool) http.Handler {
	answer := func(w http.ResponseWriter, r *http.Request) {
		if err := rt.Handle(w, r); err != nil {
			reply.Error(w, r, err)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if request.OperatorOf(r.Context()) == nil { // the path was not below /admin/api: a defect of the table
			reply.Error(w, r, fault.Wrap(
				errors.New("route "+rt.Pattern+" wants an operator but is outside "+adminAPIPath), fault.Internal, "",
			))
			return
		}
		if rt.Lasts {
			asked := r
			r = r.WithContext(request.WithSession(r.Context(), request.Session{
				Recheck:  func(ctx context.Context) error { return s.deps.Admin.Recheck(asked.WithContext(ctx)) },
				Draining: s.stopping,
			}))
		}
		if !noted {
			answer(w, r)
			return
		}
		r = r.WithContext(request.WithNotes(r.Context()))
		end, err := s.deps.Admin.Record(r, rt.Pattern)
		if err != nil {
			reply.Error(w, r, err)
			return
		}
		defer func() { end(exchangeOf(r.Context()).given.code()) }()
		answer(w, r)
	})
}

// inWorkspace lets an operator into the workspace that the header names, with all
// scopes and under the operator's own id as the actor. It is not counted against the
// workspace's plan.
func (s *Server) inWorkspace(rt route.Route) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := workspaceOf(rt, r)
		if err != nil {
			return err
		}
		if err := s.stands(r.Context(), id); err != nil {
			return err
		}
		operator := request.OperatorOf(r.Context())
		ctx := request.WithPrincipal(r.Context(), &request.Principal{
			KeyID: operator.ID, ActorID: operator.ID, Scopes: []request.Scope{request.Admin}, Workspace: id,
		})
		if rt.Lasts {
			session := request.SessionOf(ctx)
			open := session.Recheck
			session.Recheck = func(ctx context.Context) error {
				if err := open(ctx); err != nil {
					return err
				}
				return s.stands(ctx, id)
			}
			ctx = request.WithSession(ctx, session)
		}
		standing := s.deps.Limits.Look(ctx, []ratelimit.Of{{Workspace: id, Plan: plan(nil, nil)}})[0]
		tellLimits(w.Header(), &standing)
		return rt.Handle(w, r.WithContext(ctx))
	}
}

// stands refuses a workspace that there is not.
func (s *Server) stands(ctx context.Context, id uuid.UUID) error {
	found, err := s.deps.Account.WorkspacesByID(ctx, []uuid.UUID{id})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fault.Newf(fault.NotFound, "No workspace %s", id)
	}
	return nil
}
