package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

const workspaceHeader = "X-Workspace-Id"

// authenticate requires a valid key on every path under /api except the public ones,
// whether a route exists or not, so that a caller without a key cannot discover paths. It
// also requires one on the paths outside /api whose routes have a dialect.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.deps.Admin != nil && under(r, adminAPIPath) {
			s.authenticateOperator(next, w, r)
			return
		}
		if !under(r, "/api") && s.dialects.of(r) == nil || isPublicPath(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		credential, refusal, err := s.credentialOf(r)
		x := exchangeOf(r.Context())
		if full := s.prepareAudit(x, credential); full != nil {
			reply.Error(w, r, full)
			return
		}
		if err != nil {
			refusal, err = s.countFailedAuth(r, refusal, err)
			x.folded = refusal == refusedAttempts // counted, not recorded individually
			if refusal != "" {
				s.metrics.refused.WithLabelValues(refusal).Inc()
			}
			reply.Error(w, r, err)
			return
		}
		x.key, x.principal = credential.ID, principalOf(credential)
		s.deps.Keys.RecordUse(credential.ID, x.ip)
		ctx := request.WithPrincipal(r.Context(), x.principal)
		next.ServeHTTP(w, r.WithContext(withCredential(ctx, credential)))
	})
}

// isPublicPath reports whether a path under /api requires no key.
func isPublicPath(path string) bool {
	return path == openAPIPath || path == docsPath || strings.HasPrefix(path, docsPath+"/")
}

// credentialOf authenticates the Authorization header. There must be exactly one, with the
// scheme Bearer (in any case, RFC 9110), spaces and the key, or with a scheme of the path's
// dialect. refusal is the reason of a refusal, for the metrics. The credential of a known
// key that is not valid any longer is returned together with the error.
func (s *Server) credentialOf(r *http.Request) (credential *access.Credential, refusal string, err error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 || (len(values) == 1 && values[0] == "") {
		return nil, refusedNoKey, fault.New(fault.Unauthenticated, "Missing Authorization")
	}
	parseKey := bearerKey
	if d := s.dialects.of(r); d != nil && d.Key != nil {
		parseKey = d.Key
	}
	text, ok := parseKey(values[0])
	if len(values) > 1 || !ok {
		return nil, refusedScheme, fault.New(fault.Unauthenticated, "Unauthorized")
	}
	credential, err = s.deps.Keys.Authenticate(r.Context(), text, ratelimit.Network(exchangeOf(r.Context()).ip))
	if fault.Is(err, fault.Unauthenticated) {
		refusal = refusedKey
	}
	return credential, refusal, err
}

// bearerKey returns the key of an Authorization header of scheme Bearer.
func bearerKey(authorization string) (text string, ok bool) {
	scheme, text, _ := strings.Cut(authorization, " ")
	return strings.TrimLeft(text, " "), strings.EqualFold(scheme, "Bearer")
}

// enforce returns a route's handler that first checks what the route requires. A request
// without access takes no slot of the concurrency limit, and a request without a slot is
// not counted against the plan.
func (s *Server) enforce(rt route.Route) http.Handler {
	handle := s.limitConcurrency(&rt, func(w http.ResponseWriter, r *http.Request) {
		if err := s.count(&rt, w, r); err != nil {
			reply.Error(w, r, err)
			return
		}
		if rt.Streaming || rt.CanStream {
			exchangeOf(r.Context()).streaming = rt.Streaming || eventstream.Accepted(r.Header)
			r = r.WithContext(request.WithSession(r.Context(), s.session(rt, r)))
		}
		if err := rt.Handle(w, r); err != nil {
			reply.Error(w, r, err)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusal, err := s.admit(rt, w, r); err != nil {
			if refusal != "" {
				s.metrics.refused.WithLabelValues(refusal).Inc()
			}
			reply.Error(w, r, err)
			return
		}
		handle(w, r)
	})
}

// admit checks the workspace and then the scope, and sets the workspace of the principal.
// refusal is the reason of a refusal, for the metrics.
func (s *Server) admit(rt route.Route, w http.ResponseWriter, r *http.Request) (refusal string, err error) {
	if rt.Access == route.Public {
		return "", nil
	}
	principal, credential := request.PrincipalOf(r.Context()), credentialFrom(r.Context())
	if principal == nil || credential == nil { // a bug in the route table: the path is not under /api
		return "", fault.Wrap(errors.New("route "+rt.Pattern+" requires a key but is outside /api"), fault.Internal, "")
	}
	if rt.Access == route.Global {
		return "", nil
	}
	id, err := workspaceOf(rt, r, credential)
	if err != nil {
		return refusedHeader, err
	}
	if err := checkWorkspace(credential, id); err != nil {
		return refusedWorkspace, err
	}
	principal.Workspace = id
	plan := planOf(credential, id)
	if err := checkScopes(rt, principal); err != nil {
		setLimitHeaders(
			w.Header(), &s.deps.Limits.Peek(r.Context(), []ratelimit.WorkspacePlan{{Workspace: id, Plan: plan}})[0],
		)
		return refusedScope, err
	}
	return "", nil
}

// count checks the capacity of the route and counts an admitted request against the plan
// of its workspace.
func (s *Server) count(rt *route.Route, w http.ResponseWriter, r *http.Request) error {
	if rt.CheckCapacity != nil {
		if err := rt.CheckCapacity(); err != nil {
			return err
		}
	}
	if rt.Access != route.Workspace {
		return nil
	}
	id := request.PrincipalOf(r.Context()).Workspace
	status := s.deps.Limits.Take(r.Context(), id, planOf(credentialFrom(r.Context()), id))
	setLimitHeaders(w.Header(), &status)
	err := checkPlan(&status)
	if exchangeOf(r.Context()).withinPlan = err == nil; err != nil {
		s.metrics.refused.WithLabelValues(refusedRate).Inc()
	}
	return err
}

// workspaceOf returns the workspace in the header of a request or, if the route has a
// dialect, in the dialect's parameter. If both are set, they must be equal. If the dialect allows it,
// the header may be absent from requests with a key of one workspace.
func workspaceOf(rt route.Route, r *http.Request, credential *access.Credential) (id uuid.UUID, err error) {
	values := r.Header.Values(workspaceHeader)
	var fromParameter uuid.UUID
	var parameter string
	switch {
	case rt.Dialect == nil:
	case rt.Dialect.Workspace != nil:
		parameter, fromParameter = rt.Dialect.Workspace(r)
	case rt.Dialect.WorkspaceOptional && len(values) == 0:
		return onlyWorkspace(credential)
	}
	switch {
	case len(values) == 0 && parameter == "":
		return id, fault.Field(fault.Malformed, "x-workspace-id", "is required")
	case len(values) == 0 && fromParameter == uuid.Nil:
		return id, fault.Field(fault.Malformed, parameter, "must be the id of a workspace, or x-workspace-id be given")
	case len(values) == 0:
		return fromParameter, nil
	}
	id, ok := request.ParseUUID(values[0])
	switch {
	case len(values) > 1 || !ok:
		return id, fault.Field(fault.Malformed, "x-workspace-id", "must be one UUID")
	case fromParameter != uuid.Nil && fromParameter != id:
		return id, fault.Field(fault.Malformed, parameter, "is another workspace than x-workspace-id")
	}
	return id, nil
}

// onlyWorkspace returns the workspace of a key that has one.
func onlyWorkspace(credential *access.Credential) (id uuid.UUID, err error) {
	if len(credential.Workspaces) != 1 {
		return id, fault.Field(
			fault.Malformed, "x-workspace-id", "is required, because the key has several workspaces or none",
		)
	}
	for id = range credential.Workspaces {
	}
	return id, nil
}

// checkWorkspace returns an error if the key has no access to the workspace. The error is the
// same if the workspace does not exist or is of the other mode.
func checkWorkspace(credential *access.Credential, workspace uuid.UUID) error {
	if credential.Workspaces[workspace].Mode != credential.Mode {
		return fault.New(fault.Forbidden, "Workspace access denied")
	}
	return nil
}

// checkScopes returns an error if the principal lacks the route's scopes.
func checkScopes(rt route.Route, p *request.Principal) error {
	if rt.RequireAllScopes && !slices.ContainsFunc(rt.Scopes, func(scope request.Scope) bool { return !p.May(scope) }) ||
		!rt.RequireAllScopes && slices.ContainsFunc(rt.Scopes, p.May) {
		return nil
	}
	return fault.New(fault.Forbidden, "Forbidden").With("required", rt.Scopes)
}

// session returns the session of a streaming route for a request that was admitted.
func (s *Server) session(rt route.Route, admitted *http.Request) request.Session {
	workspace := request.PrincipalOf(admitted.Context()).Workspace
	recheck := func(ctx context.Context) error {
		credential, _, err := s.credentialOf(admitted.WithContext(ctx))
		if err != nil {
			return err
		}
		if err := checkWorkspace(credential, workspace); err != nil {
			return err
		}
		return checkScopes(rt, principalOf(credential))
	}
	return request.Session{Recheck: recheck, Draining: s.stopping}
}

func principalOf(credential *access.Credential) *request.Principal {
	principal := &request.Principal{KeyID: credential.ID, ActorID: credential.ActorID}
	for _, scope := range credential.Scopes {
		principal.Scopes = append(principal.Scopes, request.Scope(scope))
	}
	return principal
}

// notFound handles a path without a route.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	reply.Error(w, r, fault.New(fault.NotFound, "No such path"))
}

// methodNotAllowed handles a path that has routes, but none for the method. It answers
// OPTIONS with the allowed methods.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	mux := chi.RouteContext(r.Context()).Routes
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if mux.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 { // an unknown method on an unknown path
		s.notFound(w, r)
		return
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	allowed = append(allowed, http.MethodOptions)
	slices.Sort(allowed)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	if r.Method == http.MethodOptions {
		reply.NoContent(w)
		return
	}
	reply.Error(w, r, fault.New(fault.MethodNotAllowed, "The method is not allowed on this path").
		With("field", "method").With("allowed", allowed))
}
