// Package admin serves the admin UI: its files, its sessions, and the administration of
// workspaces, keys and operators, with the operators' audit trail and an overview.
//
// Operators log in with name and password and are then identified by a cookie. Package api
// calls [Admin] to read the session of a request, to check that another site has not caused
// the request, and to write the request to the operators' audit trail before it is handled. A
// session has access to every workspace: package api also serves the routes of workspaces
// below /admin/api.
//
// API keys are not accepted here, and the cookie is not accepted anywhere else.
package admin

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// Deps are the dependencies of the admin UI.
type Deps struct {
	Operators  operatorStore
	Workspaces workspaceStore
	Keys       keyStore
	// Limits returns the remaining requests of workspaces.
	Limits limiter
	// PublicURL is the URL of the server for users if its host differs from the Host header
	// of requests; may be empty.
	PublicURL string
	// Files contains the files of the admin UI, with index.html at the top. Without
	// index.html, a page is served that says that the UI was not built.
	Files fs.FS
	// TrailRetention is how long the operators' audit trail is kept; 0: forever.
	TrailRetention time.Duration
	Logger         *slog.Logger          // nil: the default one
	Metrics        prometheus.Registerer // nil: metrics are not registered
	// Attempts limits failed logins; the zero value: the default limits.
	Attempts Attempts
	// Idle is how long a session lasts without requests, Age how long at most; 0: 12 hours and
	// 7 days.
	Idle, Age time.Duration
	// Overview collects the data of the overview; nil: there is no overview.
	Overview *Overview
}

// operatorStore stores operators, their sessions and their audit trail.
type operatorStore interface {
	OperatorByName(ctx context.Context, name string) (access.OperatorSecret, error)
	OpenOperatorSession(ctx context.Context, n access.NewOperatorSession) error
	OperatorSession(ctx context.Context, hash [32]byte, idle time.Duration, touch bool) (access.OperatorSession, error)
	EndOperatorSession(ctx context.Context, hash [32]byte) error
	SetOperatorPassword(ctx context.Context, id uuid.UUID, passwordHash string) (access.Operator, error)
	Operators(ctx context.Context) ([]access.Operator, error)
	CreateOperator(ctx context.Context, name, passwordHash string) (access.Operator, error)
	DeleteOperator(ctx context.Context, id uuid.UUID) error
	BeginOperatorAct(ctx context.Context, a access.OperatorAct) (int64, error)
	EndOperatorAct(ctx context.Context, id int64, status int16, results, fields []string) error
	OperatorActs(ctx context.Context, f access.OperatorActFilter, limit int) ([]access.OperatorAct, error)
	PruneOperatorActs(ctx context.Context, retention time.Duration, limit int) (int64, error)
}

// workspaceStore stores workspaces.
type workspaceStore interface {
	Workspaces(ctx context.Context) ([]access.Workspace, error)
	WorkspacesByID(ctx context.Context, ids []uuid.UUID) ([]access.Workspace, error)
	WorkspaceCounts(ctx context.Context, workspace uuid.UUID) (access.WorkspaceCounts, error)
	CreateWorkspace(ctx context.Context, w access.Workspace) (access.Workspace, error)
	UpdateWorkspace(ctx context.Context, id uuid.UUID, change access.WorkspaceChange) (access.Workspace, error)
	DeleteWorkspace(ctx context.Context, id uuid.UUID, requestID string) error
	WorkspaceDeletion(ctx context.Context, workspace uuid.UUID) (jobs.WorkspaceDeletion, error)
}

// keyStore stores API keys.
type keyStore interface {
	KeyPage(ctx context.Context, f *access.KeyFilter, now time.Time) ([]access.Key, int64, error)
	KeyByID(ctx context.Context, id uuid.UUID) (access.Key, error)
	CreateKey(ctx context.Context, n access.NewKey) (access.Key, error)
	RollKey(
		ctx context.Context, id uuid.UUID, hash [32]byte, display, createdBy string, grace time.Duration,
	) (access.Key, error)
	RevokeKey(ctx context.Context, id uuid.UUID) (access.Key, error)
}

// limiter returns the remaining requests of workspaces; see api/ratelimit.
type limiter interface {
	Peek(ctx context.Context, asked []ratelimit.WorkspacePlan) []ratelimit.Status
}

// Default durations of a session.
const (
	defaultIdleTimeout = 12 * time.Hour
	defaultSessionAge  = 7 * 24 * time.Hour
)

// Admin serves the admin UI. Run does its background work.
type Admin struct {
	deps        Deps
	logger      *slog.Logger
	originCheck *http.CrossOriginProtection
	logins      logins
	loginCount  *prometheus.CounterVec // logins by result
	ui          *webUI
	recentReads *otter.Cache[readKey, time.Time] // when background reads were last recorded
}

// New creates an Admin. It returns an error if the files of the UI cannot be read or the
// public URL is not valid.
func New(deps Deps) (*Admin, error) {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Idle <= 0 {
		deps.Idle = defaultIdleTimeout
	}
	if deps.Age <= 0 {
		deps.Age = defaultSessionAge
	}
	originCheck, err := newOriginCheck(deps.PublicURL)
	if err != nil {
		return nil, err
	}
	ui, err := readWebUI(deps.Files)
	if err != nil {
		return nil, err
	}
	return &Admin{
		deps: deps, logger: deps.Logger.With("component", "admin"), originCheck: originCheck,
		logins: newLogins(deps.Attempts), loginCount: newLoginCounter(deps.Metrics), ui: ui,
		recentReads: otter.Must(&otter.Options[readKey, time.Time]{MaximumSize: maxRecentReads}),
	}, nil
}

// Paths of the UI and its API.
const (
	uiPath        = "/admin"
	apiPath       = "/admin/api"
	sessionPath   = apiPath + "/session"
	passwordPath  = sessionPath + "/password"
	operatorsPath = apiPath + "/operators"
	trailPath     = apiPath + "/trail"

	workspacesPath = apiPath + "/workspaces"
	keysPath       = apiPath + "/keys"
	overviewPath   = apiPath + "/overview"
)

// Routes returns the routes of the UI and its API.
func (a *Admin) Routes() []route.Route {
	public := func(method, pattern string, work route.Work, handle route.Handler) route.Route {
		return route.Route{Method: method, Pattern: pattern, Access: route.Public, Work: work, Handle: handle}
	}
	operator := func(method, pattern string, handle route.Handler) route.Route {
		return route.Route{Method: method, Pattern: pattern, Access: route.Operator, Handle: handle}
	}
	routes := []route.Route{
		public(http.MethodGet, uiPath, route.ServesFiles, a.ui.serve),
		public(http.MethodGet, uiPath+"/*", route.ServesFiles, a.ui.serve),

		public(http.MethodPost, sessionPath, route.LogsIn, a.login),
		operator(http.MethodGet, sessionPath, a.session),
		operator(http.MethodDelete, sessionPath, a.logout),
		operator(http.MethodPut, passwordPath, a.changePassword),

		operator(http.MethodGet, operatorsPath, a.operators),
		operator(http.MethodPost, operatorsPath, a.createOperator),
		operator(http.MethodDelete, operatorsPath+"/{id}", a.deleteOperator),
		operator(http.MethodPost, operatorsPath+"/{id}/password", a.resetPassword),
		operator(http.MethodGet, trailPath, a.trail),

		operator(http.MethodGet, workspacesPath, a.workspaces),
		operator(http.MethodPost, workspacesPath, a.createWorkspace),
		operator(http.MethodGet, workspacesPath+"/{id}", a.workspace),
		operator(http.MethodPatch, workspacesPath+"/{id}", a.updateWorkspace),
		operator(http.MethodDelete, workspacesPath+"/{id}", a.deleteWorkspace),
		operator(http.MethodGet, workspacesPath+"/{id}/deletion", a.workspaceDeletion),

		operator(http.MethodGet, keysPath, a.keys),
		operator(http.MethodPost, keysPath, a.createKey),
		operator(http.MethodPost, keysPath+"/{id}/roll", a.rollKey),
		operator(http.MethodDelete, keysPath+"/{id}", a.revokeKey),
	}
	if a.deps.Overview != nil {
		stream := operator(http.MethodGet, overviewPath+"/stream", a.overviewStream)
		stream.Streaming = true
		routes = append(routes, operator(http.MethodGet, overviewPath, a.overview), stream)
	}
	return routes
}

// Interval and batch size of pruning the audit trail.
const (
	pruneEvery = time.Hour
	pruneBatch = 10_000
)

// Run takes samples for the overview and periodically deletes expired entries of the audit
// trail, until ctx is done.
func (a *Admin) Run(ctx context.Context) error {
	var work sync.WaitGroup
	if a.deps.Overview != nil {
		work.Go(func() { a.deps.Overview.run(ctx) })
	}
	work.Go(func() { a.prune(ctx) })
	work.Wait()
	return nil
}

func (a *Admin) prune(ctx context.Context) {
	for sleep.For(ctx, pruneEvery) {
		if a.deps.TrailRetention <= 0 {
			continue
		}
		for {
			n, err := a.deps.Operators.PruneOperatorActs(ctx, a.deps.TrailRetention, pruneBatch)
			if err != nil && ctx.Err() == nil {
				a.logger.WarnContext(ctx, "the operators' trail cannot be pruned; it is tried again", "error", err)
			}
			if err != nil || n < pruneBatch {
				break
			}
		}
	}
}
