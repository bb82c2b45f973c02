package api

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// Paths of the built-in routes.
const (
	healthPath  = "/healthz"
	readyPath   = "/readyz"
	openAPIPath = "/api/openapi.yaml"
	docsPath    = "/api/docs"
	mePath      = "/api/me"
)

// builtinRoutes returns the routes of no group: probes, the API documentation, /api/me.
func (s *Server) builtinRoutes() ([]route.Route, error) {
	get := func(path string, access route.Access, handle route.Handler) route.Route {
		return route.Route{Method: http.MethodGet, Pattern: path, Access: access, Handle: handle}
	}
	probes := []route.Route{
		get(healthPath, route.Public, s.health),
		get(readyPath, route.Public, s.ready),
	}
	if s.deps.ProbesOnly {
		return probes, nil
	}
	docs, err := loadDocs()
	if err != nil {
		return nil, err
	}
	probes = append(probes, s.influxProbes()...)
	file := func(path string, handle route.Handler) route.Route {
		rt := get(path, route.Public, handle)
		rt.Work = route.ServesFiles
		return rt
	}
	return append(probes,
		file(openAPIPath, docs.serveOpenAPI),
		file(docsPath, docs.servePage),
		file(docsPath+"/*", docs.serveAsset),
		get(mePath, route.Global, s.me),
	), nil
}

// noKeys rejects every key. It is the authenticator of a process without the role api.
type noKeys struct{}

// Authenticate implements authenticator.
func (noKeys) Authenticate(context.Context, string, netip.Addr) (*access.Credential, error) {
	return nil, fault.New(fault.Unauthenticated, "Unauthorized")
}

// RecordUse implements authenticator.
func (noKeys) RecordUse(uuid.UUID, netip.Addr) {}

// health reports that the process runs.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	probe(w, http.StatusOK, probeStatus("ok"))
	return nil
}

// ready reports whether the process should receive requests. It does not report the reason,
// because probes are public; the reason is in the log and in the admin UI.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	state, status := s.state(r), http.StatusOK
	if state != stateReady {
		status = http.StatusServiceUnavailable
	}
	probe(w, status, probeStatus(state))
	return nil
}

const stateReady = "ready"

// state returns the readiness of the process.
func (s *Server) state(r *http.Request) string {
	switch {
	case s.draining.Load():
		return "draining"
	case s.deps.Ready != nil && s.deps.Ready(r.Context()) != nil:
		return "unavailable"
	}
	return stateReady
}

func probeStatus(text string) string { return `{"status":"` + text + `"}` }

func probe(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // fails only if the client has disconnected
}

// accountAnswer is the response of /api/me.
type accountAnswer struct {
	KeyID      uuid.UUID          `json:"keyId"`
	Name       string             `json:"name"`
	Display    string             `json:"display"`
	Mode       string             `json:"mode"`
	Scopes     []string           `json:"scopes"`
	ActorID    uuid.UUID          `json:"actorId"`
	ExpiresAt  *time.Time         `json:"expiresAt"`
	Workspaces []workspaceAccount `json:"workspaces"`
}

type workspaceAccount struct {
	ID     uuid.UUID `json:"id"`
	Name   string    `json:"name"`
	Plan   string    `json:"plan"`
	Limits limits    `json:"limits"`
	Left   remaining `json:"left"`
}

// limits are the limits of a workspace; null is unlimited.
type limits struct {
	RequestsPerMinute *int64 `json:"requestsPerMinute"`
	RequestsPerDay    *int64 `json:"requestsPerDay"`
	Sources           int64  `json:"sources"`
	Series            int64  `json:"series"`
}

// remaining is the unused part of the limits; null is unlimited.
type remaining struct {
	RequestsThisMinute *int64 `json:"requestsThisMinute"`
	RequestsToday      *int64 `json:"requestsToday"`
	Sources            int64  `json:"sources"`
	Series             int64  `json:"series"`
}

// me returns the account of the key that sends the request.
func (s *Server) me(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	principal := request.PrincipalOf(r.Context())
	key, err := s.deps.Account.KeyByID(r.Context(), principal.KeyID)
	if err != nil {
		return err
	}
	workspaces, err := s.deps.Account.WorkspacesByID(r.Context(), key.Workspaces)
	if err != nil {
		return err
	}
	answer := accountAnswer{
		KeyID: key.ID, Name: key.Name, Display: key.Display, Mode: key.Mode, Scopes: key.Scopes,
		ActorID: key.ActorID, ExpiresAt: key.ExpiresAt, Workspaces: make([]workspaceAccount, 0, len(workspaces)),
	}
	workspaces = slices.DeleteFunc(workspaces, func(ws access.Workspace) bool { return ws.Mode != key.Mode })
	plans := make([]ratelimit.WorkspacePlan, len(workspaces))
	for i := range workspaces {
		plans[i] = ratelimit.WorkspacePlan{Workspace: workspaces[i].ID, Plan: newPlan(workspaces[i].RequestLimits())}
	}
	statuses := s.deps.Limits.Peek(r.Context(), plans)
	for i := range workspaces {
		answer.Workspaces = append(answer.Workspaces, describeWorkspace(&workspaces[i], &statuses[i]))
	}
	reply.Data(w, r, http.StatusOK, answer)
	return nil
}

func describeWorkspace(ws *access.Workspace, status *ratelimit.Status) workspaceAccount {
	perMinute, perDay := ws.RequestLimits()
	return workspaceAccount{
		ID: ws.ID, Name: ws.Name, Plan: ws.Plan,
		Limits: limits{RequestsPerMinute: perMinute, RequestsPerDay: perDay, Sources: ws.MaxSources, Series: ws.MaxSeries},
		Left: remaining{
			RequestsThisMinute: requestsLeft(&status.Minute), RequestsToday: requestsLeft(&status.Day),
			Sources: max(ws.MaxSources-ws.Sources, 0), Series: max(ws.MaxSeries-ws.Series, 0),
		},
	}
}

func requestsLeft(w *ratelimit.Window) *int64 {
	if w.Limit >= ratelimit.Unlimited {
		return nil
	}
	return &w.Remaining
}
