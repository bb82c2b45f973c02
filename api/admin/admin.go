// Package admin is the server's side of the administration page: the page's files, who
// is logged in on it, and what operators do there that is not a workspace's own matter
// (workspaces, keys, the audit log of all, operators, an overview).
//
// Operators log in with name and password and are known by a cookie from then on. The
// package api asks an [Admin] whose session a request belongs to, whether another site
// may have had the browser send it, and has it note in the operators' trail what is
// about to be done. A session opens every workspace: the routes of workspaces are served
// below /admin/api as well, by package api.
//
// An API key opens nothing here, and the cookie nothing anywhere else.
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

// Deps is what the page works with.
type Deps struct {
	Operators  operatorStore
	Workspaces workspaceStore
	Keys       keyStore
	// Limits tells how workspaces stand against their plans.
	Limits standings
	// PublicURL is under which users reach the server, where that is another address than
	// the one that requests name; may be empty.
	PublicURL string
	// Page has the page's files, index.html and below; without index.html the page says
	// that it was not built.
	Page fs.FS
	// TrailKept is for how long the operators' trail is kept; 0: for good.
	TrailKept time.Duration
	Logger    *slog.Logger          // nil: the default one
	Metrics   prometheus.Registerer // nil: what is measured is not registered
	// Attempts reports how many failed logins there may be; the zero value: the default.
	Attempts Attempts
	// Idle and Age are how long a session lasts without use, and at most; 0: 12 hours, 7
	// days.
	Idle, Age time.Duration
	// Overview is what the overview looks at; nil: there is none.
	Overview *Overview
}

// operatorStore keeps operators, their sessions and their trail.
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
	PruneOperatorActs(ctx context.Context, kept time.Duration, most int) (int64, error)
}

// workspaceStore keeps workspaces.
type workspaceStore interface {
	Workspaces(ctx context.Context) ([]access.Workspace, error)
	WorkspacesByID(ctx context.Context, ids []uuid.UUID) ([]access.Workspace, error)
	WorkspaceCounts(ctx context.Context, workspace uuid.UUID) (access.WorkspaceCounts, error)
	CreateWorkspace(ctx context.Context, w access.Workspace) (access.Workspace, error)
	UpdateWorkspace(ctx context.Context, id uuid.UUID, change access.WorkspaceChange) (access.Workspace, error)
	DeleteWorkspace(ctx context.Context, id uuid.UUID, requestID string) error
	WorkspaceDeletion(ctx context.Context, workspace uuid.UUID) (jobs.WorkspaceDeletion, error)
}

// keyStore keeps API keys.
type keyStore interface {
	KeyPage(ctx context.Context, f *access.KeyFilter, now time.Time) ([]access.Key, int64, error)
	KeyByID(ctx context.Context, id uuid.UUID) (access.Key, error)
	CreateKey(ctx context.Context, n access.NewKey) (access.Key, error)
	RollKey(
		ctx context.Context, id uuid.UUID, hash [32]byte, display, createdBy string, grace time.Duration,
	) (access.Key, error)
	RevokeKey(ctx context.Context, id uuid.UUID) (access.Key, error)
}

// standings tells how workspaces stand; see api/ratelimit.
type standings interface {
	Look(ctx context.Context, asked []ratelimit.Of) []ratelimit.Standing
}

// How long a session lasts where nothing else is said.
const (
	idleTime   = 12 * time.Hour
	sessionAge = 7 * 24 * time.Hour
)

// Admin is the server's side of the page. Run does what is due now and then.
type Admin struct {
	deps   Deps
	logger *slog.Logger
	sites  *http.CrossOriginProtection
	logins logins
	came   *prometheus.CounterVec // logins, by what became of them
	page   *page
	polled *otter.Cache[polledRead, time.Time] // reads that were noted, by when
}

// New creates one. It fails on files of the page that cannot be read and on a public
// address that is none.
func New(deps Deps) (*Admin, error) {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Idle <= 0 {
		deps.Idle = idleTime
	}
	if deps.Age <= 0 {
		deps.Age = sessionAge
	}
	sites, err := ownSites(deps.PublicURL)
	if err != nil {
		return nil, err
	}
	page, err := readPage(deps.Page)
	if err != nil {
		return nil, err
	}
	return &Admin{
		deps: deps, logger: deps.Logger.With("component", "admin"), sites: sites, logins: newLogins(deps.Attempts),
		came: newLoginCounter(deps.Metrics), page: page,
		polled: otter.Must(&otter.Options[polledRead, time.Time]{MaximumSize: maxPolled}),
	}, nil
}

// Paths of the page and of its calls.
const (
	pagePath      = "/admin"
	apiPath       = "/admin/api"
	sessionPath   = apiPath + "/session"
	passwordPath  = sessionPath + "/password"
	operatorsPath = apiPath + "/operators"
	trailPath     = apiPath + "/trail"

	workspacesPath = apiPath + "/workspaces"
	keysPath       = apiPath + "/keys"
	overviewPath   = apiPath + "/overview"
)

// Routes returns the page's routes.
func (a *Admin) Routes() []route.Route {
	public := func(method, pattern string, work route.Work, handle route.Handler) route.Route {
		return route.Route{Method: method, Pattern: pattern, Access: route.Public, Work: work, Handle: handle}
	}
	operator := func(method, pattern string, handle route.Handler) route.Route {
		return route.Route{Method: method, Pattern: pattern, Access: route.Operator, Handle: handle}
	}
	routes := []route.Route{
		public(http.MethodGet, pagePath, route.ServesFiles, a.page.serve),
		public(http.MethodGet, pagePath+"/*", route.ServesFiles, a.page.serve),

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
		lasting := operator(http.MethodGet, overviewPath+"/stream", a.overviewStream)
		lasting.Lasts = true
		routes = append(routes, operator(http.MethodGet, overviewPath, a.overview), lasting)
	}
	return routes
}

// How the trail is pruned.
const (
	pruneEvery = time.Hour
	pruneMost  = 10_000
)

// Run watches what the overview shows and removes, now and then, what of the trail is past
// its time, until ctx is done.
func (a *Admin) Run(ctx context.Context) error {
	var work sync.WaitGroup
	if a.deps.Overview != nil {
		work.Go(func() { a.deps.Overview.watch(ctx) })
	}
	work.Go(func() { a.prune(ctx) })
	work.Wait()
	return nil
}

func (a *Admin) prune(ctx context.Context) {
	for sleep.For(ctx, pruneEvery) {
		if a.deps.TrailKept <= 0 {
			continue
		}
		for {
			n, err := a.deps.Operators.PruneOperatorActs(ctx, a.deps.TrailKept, pruneMost)
			if err != nil && ctx.Err() == nil {
				a.logger.WarnContext(ctx, "the operators' trail cannot be pruned; it is tried again", "error", err)
			}
			if err != nil || n < pruneMost {
				break
			}
		}
	}
}
