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

// Paths of the admin UI.
const (
	adminPath    = "/admin"
	adminAPIPath = adminPath + "/api"
	loginPath    = adminAPIPath + "/session"
)

// sessionScheme is the challenge of 401 responses below adminAPIPath. It is not Bearer,
// because keys are not accepted there.
const sessionScheme = "Session"

// administration authenticates operators by their sessions; see api/admin.
type administration interface {
	// Session returns the operator of a request's session and, unless the request is a
	// background request, restarts the session's idle timeout. It returns an Unauthenticated
	// error if there is no session.
	Session(r *http.Request) (*request.Operator, error)
	// Recheck returns an Unauthenticated error if the session has ended since the request
	// began.
	Recheck(r *http.Request) error
	// Guard returns a Forbidden error for a request that another site may have caused an
	// operator's browser to send.
	Guard(r *http.Request) error
	// Record writes the request to the operators' audit trail before it is handled. The
	// caller must call end with the status of the response.
	Record(r *http.Request, pattern string) (end func(status int), err error)
}

// adminHeaders are the headers of every response of the admin UI. Handlers of cacheable
// responses override Cache-Control.
var adminHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; " +
		"object-src 'none'",
	"X-Frame-Options":              "DENY", // for clients that do not support frame-ancestors
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy": "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), " +
		"microphone=(), payment=(), usb=()",
	"Cache-Control": "no-store",
}

// under reports whether a path is prefix or below it, in decoded or in original form, so
// that an escape cannot bypass the checks of these paths.
func under(r *http.Request, prefix string) bool {
	for _, path := range []string{r.URL.Path, r.URL.RawPath} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// prepareAdmin sets the headers of the admin UI's responses, and adds the client and the
// challenge to the context of its handlers.
func (s *Server) prepareAdmin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !under(r, adminPath) {
			next.ServeHTTP(w, r)
			return
		}
		for name, value := range adminHeaders {
			w.Header().Set(name, value)
		}
		ctx := request.WithClient(r.Context(), request.Client{
			IP: exchangeOf(r.Context()).ip.WithZone(""), Secure: s.isSecure(r),
		})
		next.ServeHTTP(w, r.WithContext(reply.WithChallenge(ctx, sessionScheme)))
	})
}

// isSecure reports whether the client's connection is encrypted, by this process or by a
// proxy in front of it.
func (s *Server) isSecure(r *http.Request) bool {
	if s.deps.TLS != nil || strings.HasPrefix(strings.ToLower(s.deps.Config.PublicURL), "https://") {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	proto, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",") // the first one is of the client's connection
	return err == nil && s.trusted(peer.Addr().Unmap()) && strings.EqualFold(strings.TrimSpace(proto), "https")
}

// authenticateOperator requires a session on every path below /admin/api except for the login,
// whether a route exists or not. It accepts only the cookie, not an API key.
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

// operatorRoutes returns the handler of the paths below /admin/api: the routes that are
// declared there, and a copy of each route of a workspace for operators.
func (s *Server) operatorRoutes() http.Handler {
	mux := chi.NewRouter()
	for _, rt := range s.routes {
		if strings.HasPrefix(rt.Pattern, adminAPIPath+"/") {
			recorded := rt.Method != http.MethodGet || rt.ReadsData
			if rt.Access == route.Public {
				mux.Method(rt.Method, strings.TrimPrefix(rt.Pattern, adminAPIPath), s.enforce(rt))
				continue
			}
			mux.Method(rt.Method, strings.TrimPrefix(rt.Pattern, adminAPIPath), s.enforceOperator(rt, recorded))
		}
	}
	for _, rt := range s.mirrored {
		// all of them access a tenant's data
		mux.Method(rt.Method, strings.TrimPrefix(rt.Pattern, adminAPIPath), s.enforceOperator(rt, true))
	}
	mux.NotFound(s.notFound)
	mux.MethodNotAllowed(s.methodNotAllowed)
	return mux
}

// mirror returns a copy of each route of a workspace for operators: /api/X is /admin/api/X,
// with a session in place of a key. Routes with a dialect are omitted.
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

// enforceOperator returns a route's handler that requires a session. If recorded is true,
// requests are written to the operators' audit trail.
func (s *Server) enforceOperator(rt route.Route, recorded bool) http.Handler {
	answer := func(w http.ResponseWriter, r *http.Request) {
		if err := rt.Handle(w, r); err != nil {
			reply.Error(w, r, err)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if request.OperatorOf(r.Context()) == nil { // a bug in the route table: the path is not below /admin/api
			reply.Error(w, r, fault.Wrap(
				errors.New("route "+rt.Pattern+" requires an operator but is outside "+adminAPIPath), fault.Internal, "",
			))
			return
		}
		if rt.Streaming || rt.CanStream {
			original := r
			r = r.WithContext(request.WithSession(r.Context(), request.Session{
				Recheck:  func(ctx context.Context) error { return s.deps.Admin.Recheck(original.WithContext(ctx)) },
				Draining: s.stopping,
			}))
		}
		if !recorded {
			answer(w, r)
			return
		}
		r = r.WithContext(request.WithNotes(r.Context()))
		end, err := s.deps.Admin.Record(r, rt.Pattern)
		if err != nil {
			reply.Error(w, r, err)
			return
		}
		defer func() { end(exchangeOf(r.Context()).uncompressed.code()) }()
		answer(w, r)
	})
}

// inWorkspace returns a handler that gives an operator access to the workspace in the header,
// with all scopes and with the operator's id as the actor. The request is not counted
// against the workspace's plan.
func (s *Server) inWorkspace(rt route.Route) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := workspaceOf(rt, r, nil)
		if err != nil {
			return err
		}
		if err := s.checkWorkspaceExists(r.Context(), id); err != nil {
			return err
		}
		operator := request.OperatorOf(r.Context())
		ctx := request.WithPrincipal(r.Context(), &request.Principal{
			KeyID: operator.ID, ActorID: operator.ID, Scopes: []request.Scope{request.Admin}, Workspace: id,
		})
		if rt.Streaming || rt.CanStream {
			session := request.SessionOf(ctx)
			recheckSession := session.Recheck
			session.Recheck = func(ctx context.Context) error {
				if err := recheckSession(ctx); err != nil {
					return err
				}
				return s.checkWorkspaceExists(ctx, id)
			}
			ctx = request.WithSession(ctx, session)
		}
		status := s.deps.Limits.Peek(ctx, []ratelimit.WorkspacePlan{{Workspace: id, Plan: newPlan(nil, nil)}})[0]
		setLimitHeaders(w.Header(), &status)
		return rt.Handle(w, r.WithContext(ctx))
	}
}

// checkWorkspaceExists returns a NotFound error if the workspace does not exist.
func (s *Server) checkWorkspaceExists(ctx context.Context, id uuid.UUID) error {
	found, err := s.deps.Account.WorkspacesByID(ctx, []uuid.UUID{id})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fault.Newf(fault.NotFound, "No workspace %s", id)
	}
	return nil
}
