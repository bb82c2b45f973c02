package contract

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/password"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// OperatorName and OperatorPassword belong to the operator that exists at the start.
const (
	OperatorName     = "admin"
	OperatorPassword = "correct horse battery staple"
)

// Administration is the group of the routes that only the admin UI uses.
type Administration struct {
	Operator access.Operator // created by Group, unless it is set
	// Records contains the audit records; nil: the routes of the audit log are left out.
	Records *clickhouse.DB
	// Metrics is the registry that the overview reads; nil: an empty one.
	Metrics *prometheus.Registry
	// UIFiles contains the files of the admin UI; nil: UIFiles.
	UIFiles fs.FS
	// Change, when set, changes the dependencies of the routes.
	Change func(*admin.Deps)
}

// UIFiles returns the files of a small admin UI, for tests.
func UIFiles() fs.FS {
	return fstest.MapFS{
		"index.html": {Data: []byte(
			`<!doctype html><title>Livegraph</title><script type="module" src="/admin/assets/main-a1b2c3.js"></script>`,
		)},
		"assets/main-a1.js": {Data: []byte("// " + strings.Repeat("the page ", 500))},
		"favicon.svg":       {Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)},
	}
}

// Group creates the routes.
func (g *Administration) Group(t testing.TB, s *Server) []route.Route {
	t.Helper()
	var err error
	if g.Operator.Name == "" {
		g.Operator, err = s.DB.CreateOperator(t.Context(), OperatorName, password.Hash(OperatorPassword))
		require.NoError(t, err)
	}
	if g.Metrics == nil {
		g.Metrics = prometheus.NewRegistry()
	}
	if g.UIFiles == nil {
		g.UIFiles = UIFiles()
	}
	deps := admin.Deps{
		Operators: s.DB, Workspaces: s.DB, Keys: s.DB, Limits: ratelimit.New(ratelimit.Deps{}), Files: g.UIFiles,
		Overview: &admin.Overview{Version: Version, Roles: []string{"api"}, Started: time.Now(), Metrics: g.Metrics},
	}
	if s.Limits != nil {
		deps.Limits = s.Limits
	}
	if g.Change != nil {
		g.Change(&deps)
	}
	s.AdminUI, err = admin.New(deps)
	require.NoError(t, err)
	background(t, s.AdminUI.Run)
	routes := s.AdminUI.Routes()
	if g.Records != nil {
		installation, err := s.DB.Installation(t.Context())
		require.NoError(t, err)
		routes = append(
			routes,
			audit.OperatorRoutes(audit.Deps{
				Records: auditlog.New(g.Records), TokenKey: installation.CheckpointKey, QueryTimeout: 10 * time.Second,
			})...,
		)
	}
	return routes
}

// Operator is an operator who is logged in to the admin UI, as a browser is.
type Operator struct {
	Server *Server
	Cookie string // name=value
	Token  string // CSRF token
}

// Login logs in as the first operator.
func (s *Server) Login(t testing.TB) *Operator {
	t.Helper()
	return s.LoginAs(t, OperatorName, OperatorPassword)
}

// LoginAs logs in. The login must succeed.
func (s *Server) LoginAs(t testing.TB, name, text string) *Operator {
	t.Helper()
	a := s.TryLogin(t, name, text, nil)
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	var session struct{ CSRFToken string }
	require.NoError(t, json.Unmarshal(a.Data, &session))
	cookie, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	return &Operator{Server: s, Cookie: cookie, Token: session.CSRFToken}
}

// TryLogin requests a session.
func (s *Server) TryLogin(t testing.TB, name, text string, header map[string]string) *Answer {
	t.Helper()
	body, err := json.Marshal(map[string]string{"name": name, "password": text})
	require.NoError(t, err)
	return s.Do(t, Request{
		Method: http.MethodPost, Path: "/admin/api/session", Key: None, Workspace: None, Body: string(body), Header: header,
	})
}

// Request returns the request as the operator's browser sends it: with the cookie and, if
// the method may change something, with the token. Without a Workspace it has no header
// for it.
func (o *Operator) Request(q Request) Request {
	header := map[string]string{"Cookie": o.Cookie}
	if q.Method != "" && q.Method != http.MethodGet && q.Method != http.MethodHead {
		header["X-CSRF-Token"] = o.Token
		header["Origin"] = o.Server.URL
		header["Sec-Fetch-Site"] = "same-origin"
	}
	for name, value := range q.Header {
		header[name] = value
	}
	q.Header, q.Key = header, None
	if q.Workspace == "" {
		q.Workspace = None
	}
	return q
}

// Do sends the request as the operator and validates the answer against the contract.
func (o *Operator) Do(t testing.TB, q Request) *Answer {
	t.Helper()
	return o.Server.Do(t, o.Request(q))
}

// Get is Do for a GET that must succeed; its data is decoded into data.
func (o *Operator) Get(t testing.TB, path string, data any) *Answer {
	t.Helper()
	a := o.Do(t, Request{Path: path})
	require.Equal(t, http.StatusOK, a.Status, "GET %s: %s", path, a.Body)
	require.NoError(t, json.Unmarshal(a.Data, data))
	return a
}

// Send is Do for a request with a body whose answer must have the status. The answer's
// data is decoded into data, unless data is nil.
func (o *Operator) Send(t testing.TB, method, path, body string, status int, data any) *Answer {
	t.Helper()
	a := o.Do(t, Request{Method: method, Path: path, Body: body})
	require.Equal(t, status, a.Status, "%s %s: %s", method, path, a.Body)
	if data != nil {
		require.NoError(t, json.Unmarshal(a.Data, data))
	}
	return a
}

// CheckAdminSchema validates a JSON object against a schema of the API of the admin UI.
func (s *Server) CheckAdminSchema(t testing.TB, name, object string) {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal([]byte(object), &value))
	require.NoError(t, s.adminContract.doc.Components.Schemas[name].Value.VisitJSON(value), "%s", object)
}
