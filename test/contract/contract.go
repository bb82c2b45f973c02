// Package contract runs the real server on real engines and validates every answer
// against the published contract, schemas/openapi.yaml: its status must be
// documented for the route, and its Content-Type, headers and body must match the
// document. Tests of the API use its [Server], so that none can pass with an answer
// that the contract does not document.
package contract

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/auth"
	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/services/keyadmin"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/pgtest"
)

// Version is the version that the server under test reports.
const Version = "test"

// Group creates the routes of one group of endpoints, on engines that only the test uses.
type Group func(t testing.TB, s *Server) []route.Route

// Server is a server under test, with a workspace and an admin key for it.
type Server struct {
	URL       string
	Postgres  string // the database's URL, for fixtures
	DB        *stores.DB
	Auth      *auth.Authenticator
	API       *api.Server
	Trail     *audit.Trail       // set by the group Audit, if it is used
	AdminUI   *admin.Admin       // set by the group Administration, if it is used
	Limits    *ratelimit.Limiter // nil, unless a group sets it: the process counts by itself
	Workspace uuid.UUID          // mode live, plan enterprise
	Admin     string             // the text of a key with scope admin for Workspace
	Stop      func()             // shuts the server down, as SIGTERM does, before the test ends
	Metrics   *prometheus.Registry

	contract      document
	adminContract document // the API of the admin UI
	http          *http.Client
}

// Config returns the configuration of servers under test.
func Config() config.API {
	return config.API{
		ReadTimeout: 2 * time.Second, QueryTimeout: 10 * time.Second, ShutdownTimeout: 800 * time.Millisecond,
		MaxHeaderBytes: 64 << 10, MaxConnections: 256, CORSOrigins: []string{"https://app.example"},
	}
}

// Start starts a server with the groups' routes on an empty database. The server
// stops when the test ends.
func Start(t testing.TB, groups ...Group) *Server {
	t.Helper()
	return StartWith(t, Config(), groups...)
}

// StartWith is Start with another configuration.
func StartWith(t testing.TB, cfg config.API, groups ...Group) *Server {
	t.Helper()
	url := pgtest.Migrated(t)
	db, err := stores.Open(t.Context(), url, 8)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	s := &Server{Postgres: url, DB: db, http: newClient()}
	s.contract, err = loadContract()
	require.NoError(t, err)
	s.adminContract, err = loadAdminContract()
	require.NoError(t, err)
	s.Workspace = s.NewWorkspace(t, apikey.Live)
	s.Admin = s.NewKey(t, []uuid.UUID{s.Workspace}, request.Admin)
	s.start(t, cfg, groups)
	return s
}

// StartAnother starts another API server on the same database.
func (s *Server) StartAnother(t testing.TB, groups ...Group) *Server {
	t.Helper()
	other := *s
	other.http, other.Limits = newClient(), nil
	other.start(t, Config(), groups)
	return &other
}

func (s *Server) start(t testing.TB, cfg config.API, groups []Group) {
	t.Helper()
	s.Auth = auth.New(s.DB)
	background(t, s.Auth.Run)
	s.Metrics = prometheus.NewRegistry()
	deps := api.Deps{Config: cfg, Version: Version, Keys: s.Auth, Account: s.DB, Metrics: s.Metrics}
	for _, group := range groups {
		deps.Routes = append(deps.Routes, group(t, s)...)
	}
	if s.Trail != nil {
		deps.Audit = s.Trail
	}
	if s.Limits != nil {
		deps.Limits = s.Limits
	}
	if s.AdminUI != nil {
		deps.Admin = s.AdminUI
	}
	var err error
	s.API, err = api.New(deps)
	require.NoError(t, err)
	s.URL, s.Stop = serve(t, s.API)
}

// WithRedisLimits returns a group without routes that counts requests in the Redis at the URL.
func WithRedisLimits(url string) Group {
	return func(t testing.TB, s *Server) []route.Route {
		t.Helper()
		db, err := redis.Open(t.Context(), redis.Options{URL: url})
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		// Counts are not exact after a timeout. This one is long enough for any busy machine.
		s.Limits = ratelimit.New(ratelimit.Deps{Counter: db, Timeout: 10 * time.Second})
		return nil
	}
}

// NewWorkspace creates a workspace of the mode and returns its id.
func (s *Server) NewWorkspace(t testing.TB, mode string) uuid.UUID {
	t.Helper()
	w, err := s.DB.CreateWorkspace(t.Context(), access.Workspace{
		Name: t.Name(), Plan: access.PlanEnterprise, Mode: mode,
	})
	require.NoError(t, err)
	return w.ID
}

// NewKey creates a live key for the workspaces with the scopes and returns its text.
func (s *Server) NewKey(t testing.TB, workspaces []uuid.UUID, scopes ...request.Scope) string {
	t.Helper()
	text, _ := s.AddKey(t, access.NewKey{Mode: apikey.Live, Workspaces: workspaces}, scopes...)
	return text
}

// AddKey creates the key with a new text and the scopes, and returns the text and the stored key.
func (s *Server) AddKey(t testing.TB, spec access.NewKey, scopes ...request.Scope) (string, access.Key) {
	t.Helper()
	spec.Name, spec.CreatedBy = t.Name(), "test"
	spec.Scopes = []string{}
	for _, scope := range scopes {
		spec.Scopes = append(spec.Scopes, string(scope))
	}
	key, text, err := keyadmin.Create(t.Context(), s.DB, spec)
	require.NoError(t, err)
	return text.Reveal(), key
}

// Address returns the server's host and port.
func (s *Server) Address() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// ContractOperations returns every method and path that the contract documents, as
// in "GET /api/me".
func (s *Server) ContractOperations() map[string]*openapi3.Operation {
	return operationsOf(s.contract.doc)
}

// AdminOperations is ContractOperations for the API of the admin UI.
func (s *Server) AdminOperations() map[string]*openapi3.Operation {
	return operationsOf(s.adminContract.doc)
}

func operationsOf(doc *openapi3.T) map[string]*openapi3.Operation {
	operations := map[string]*openapi3.Operation{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			operations[method+" "+path] = operation
		}
	}
	return operations
}

func newClient() *http.Client {
	return &http.Client{
		Timeout:       30 * time.Second,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// serve runs the Serve method of the server, so that timeouts and limits are the real ones.
func serve(t testing.TB, s *api.Server) (url string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	stopped, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	background(t, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(stopped, cancel)()
		return s.Serve(ctx, listener)
	})
	return "http://" + listener.Addr().String(), stop
}
