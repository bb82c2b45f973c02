package contract_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/password"
	"github.com/livegraph/livegraph/test/contract"
)

const (
	sessionPath = "/admin/api/session"
	forbidden   = "AUTHORIZATION_ERROR"
)

// startAdmin starts a server with the admin UI.
func startAdmin(t *testing.T, more ...contract.Group) (*contract.Server, *contract.Administration) {
	t.Helper()
	page := &contract.Administration{}
	return contract.Start(t, append(more, page.Group)...), page
}

// execute runs a statement on the server's database.
func execute(t *testing.T, s *contract.Server, statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.Postgres)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), statement, args...)
	require.NoError(t, err)
}

func (o operatorTest) requireLoggedOut(t *testing.T) {
	t.Helper()
	o.Do(t, contract.Request{Path: sessionPath}).RequireFailure(t, 401, authentication, "Unauthorized", nil)
}

// operatorTest is an operator with helpers for tests.
type operatorTest struct{ *contract.Operator }

func TestAnOperatorLogsInAndOut(t *testing.T) {
	t.Parallel()
	s, page := startAdmin(t)
	o := operatorTest{s.Login(t)}
	var session struct {
		Operator  struct{ ID, Name string }
		CSRFToken string
		ExpiresAt time.Time
	}
	o.Get(t, sessionPath, &session)
	require.Equal(t, page.Operator.ID.String(), session.Operator.ID)
	require.Equal(t, contract.OperatorName, session.Operator.Name)
	require.Equal(t, o.Token, session.CSRFToken, "the token stays the session's")
	require.WithinDuration(t, time.Now().Add(12*time.Hour), session.ExpiresAt, time.Minute)

	a := o.Send(t, "DELETE", sessionPath, "", 204, nil)
	require.Contains(t, a.Header.Get("Set-Cookie"), "Max-Age=0")
	o.requireLoggedOut(t)
}

// Session fixation: a cookie that an attacker has set in a browser never becomes a session.
func TestALoginMakesANewSessionWhateverCookieComes(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	offered := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("f", 32)))
	a := s.TryLogin(
		t, contract.OperatorName, contract.OperatorPassword, map[string]string{"Cookie": "livegraph_session=" + offered},
	)
	require.Equal(t, 200, a.Status)
	require.NotContains(t, a.Header.Get("Set-Cookie"), offered)
	planted := operatorTest{&contract.Operator{Server: s, Cookie: "livegraph_session=" + offered}}
	planted.requireLoggedOut(t)

	first := operatorTest{s.Login(t)}
	a = s.TryLogin(t, contract.OperatorName, contract.OperatorPassword, map[string]string{"Cookie": first.Cookie})
	require.Equal(t, 200, a.Status)
	require.NotContains(t, a.Header.Get("Set-Cookie"), first.Cookie)
	first.requireLoggedOut(t)

	other := s.Login(t)
	require.NotEqual(t, first.Cookie, other.Cookie)
	both := operatorTest{&contract.Operator{Server: s, Cookie: other.Cookie + "; livegraph_session=" + offered}}
	both.requireLoggedOut(t)
}

func TestWhatIsNoSessionIsNone(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o := s.Login(t)
	_, value, _ := strings.Cut(o.Cookie, "=")
	for _, cookie := range []string{
		"", "livegraph_session=", "livegraph_session=x", "livegraph_session=" + value[:len(value)-1],
		"livegraph_session=" + value + "a",
		"livegraph_session=" + strings.Repeat("A", 43), "livegraph_session=" + strings.ToUpper(value),
		"__Host-livegraph_session=" + value,
		"livegraph_session=' OR 1=1 --", "livegraph_session=" + strings.Repeat("a", 20_000), "session=" + value,
	} {
		for _, path := range []string{
			sessionPath, "/admin/api", "/admin/api/", "/admin/api/unknown", "/admin/api/keys", "/admin%2Fapi/keys",
			"/%61dmin/api/keys", "/admin/api%2Fkeys",
		} {
			a := s.DoUnchecked(t, contract.Request{
				Path: path, Key: contract.None, Workspace: contract.None, Header: map[string]string{"Cookie": cookie},
			})
			a.RequireFailure(t, 401, authentication, "Unauthorized", nil)
		}
	}
}

func TestTheCookieIsForThePageAlone(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	a := s.TryLogin(t, contract.OperatorName, contract.OperatorPassword, nil)
	cookie := cookieOf(t, a)
	require.Equal(t, "livegraph_session", cookie.Name)
	require.Equal(t, "/admin", cookie.Path)
	require.Empty(t, cookie.Domain)
	require.False(t, cookie.Secure, "over plain HTTP a browser would not send it back")

	cfg := contract.Config()
	cfg.PublicURL = "https://livegraph.example"
	behind := contract.StartWith(t, cfg, (&contract.Administration{}).Group)
	requireSecure(t, cookieOf(t, behind.TryLogin(t, contract.OperatorName, contract.OperatorPassword, nil)))

	cfg = contract.Config()
	cfg.TrustedProxies = []string{"127.0.0.0/8"}
	proxied := contract.StartWith(t, cfg, (&contract.Administration{}).Group)
	header := map[string]string{"X-Forwarded-Proto": "https"}
	a = proxied.TryLogin(t, contract.OperatorName, contract.OperatorPassword, header)
	cookie = cookieOf(t, a)
	requireSecure(t, cookie)
	session := contract.Request{
		Path: sessionPath, Key: contract.None, Workspace: contract.None,
		Header: map[string]string{"Cookie": cookie.Name + "=" + cookie.Value},
	}
	require.Equal(t, 401, proxied.Do(t, session).Status, "a session of TLS is none without")
	session.Header["X-Forwarded-Proto"] = "https"
	require.Equal(t, 200, proxied.Do(t, session).Status)
	require.False(
		t, cookieOf(t, s.TryLogin(t, contract.OperatorName, contract.OperatorPassword, header)).Secure,
		"who is no proxy of ours is not believed",
	)
}

func requireSecure(t *testing.T, cookie *http.Cookie) {
	t.Helper()
	require.Equal(t, "__Host-livegraph_session", cookie.Name)
	require.Equal(t, "/", cookie.Path)
	require.Empty(t, cookie.Domain)
	require.True(t, cookie.Secure)
}

func cookieOf(t *testing.T, a *contract.Answer) *http.Cookie {
	t.Helper()
	require.Equal(t, 200, a.Status, "%s", a.Body)
	cookie, err := http.ParseSetCookie(a.Header.Get("Set-Cookie"))
	require.NoError(t, err)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, 7*24*60*60, cookie.MaxAge)
	bytes, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	require.NoError(t, err)
	require.Len(t, bytes, 32)
	require.NotContains(t, string(a.Body), cookie.Value)
	return cookie
}

func TestAnotherSiteCannotHaveAnythingDone(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o, other := s.Login(t), s.Login(t)
	before := len(namesOf(t, o))
	create := func(header map[string]string) *contract.Answer {
		return o.Do(t, contract.Request{
			Method: "POST", Path: "/admin/api/workspaces", Body: `{"name":"forged"}`, Header: header,
		})
	}
	for name, header := range map[string]map[string]string{
		"no token": {"X-CSRF-Token": ""}, "another session's token": {"X-CSRF-Token": other.Token},
		"half":                   {"X-CSRF-Token": o.Token[:20]},
		"longer":                 {"X-CSRF-Token": o.Token + "a"},
		"the cookie":             {"X-CSRF-Token": strings.TrimPrefix(o.Cookie, "livegraph_session=")},
		"another site's origin":  {"Origin": "https://evil.example", "Sec-Fetch-Site": ""},
		"another port's origin":  {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": ""},
		"no origin at all":       {"Origin": "null", "Sec-Fetch-Site": ""},
		"cross-site":             {"Sec-Fetch-Site": "cross-site"},
		"same site, not origin":  {"Sec-Fetch-Site": "same-site"},
		"cross-site, our origin": {"Sec-Fetch-Site": "cross-site", "Origin": s.URL},
	} {
		a := create(header)
		require.Equal(t, 403, a.Status, "%s: %s", name, a.Body)
		require.Equal(t, forbidden, a.Error.Code)
	}
	require.Len(t, namesOf(t, o), before, "nothing was done")
	for name, header := range map[string]map[string]string{
		"a browser's": nil, "an old browser's": {"Sec-Fetch-Site": ""}, "no browser's": {"Sec-Fetch-Site": "", "Origin": ""},
	} {
		require.Equal(t, 201, create(header).Status, name)
	}
	for _, header := range []map[string]string{{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}} {
		a := s.TryLogin(t, contract.OperatorName, contract.OperatorPassword, header)
		a.RequireFailure(t, 403, forbidden, "The request comes from another site", nil)
		require.Empty(t, a.Header.Get("Set-Cookie"), "nobody is logged in by another site")
	}
	require.Equal(t, 200, o.Do(t, contract.Request{
		Path: "/admin/api/workspaces", Header: map[string]string{"Sec-Fetch-Site": "cross-site"},
	}).Status,
		"what only reads is guarded by the cookie's SameSite")
}

func TestThePublicAddressIsOurOwn(t *testing.T) {
	t.Parallel()
	page := &contract.Administration{Change: func(d *admin.Deps) { d.PublicURL = "https://livegraph.example/sub" }}
	s := contract.Start(t, page.Group)
	for origin, status := range map[string]int{
		"https://livegraph.example": 200, "http://livegraph.example": 403, "https://livegraph.example.evil": 403,
	} {
		a := s.TryLogin(t, contract.OperatorName, contract.OperatorPassword, map[string]string{"Origin": origin})
		require.Equal(t, status, a.Status, origin)
	}
}

func namesOf(t *testing.T, o *contract.Operator) (names []string) {
	t.Helper()
	var list []struct{ Name string }
	o.Get(t, "/admin/api/workspaces", &list)
	for _, w := range list {
		names = append(names, w.Name)
	}
	return names
}

func TestAKeyOpensNothingOfThePageAndTheCookieNothingElse(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, contract.GraphReads)
	o := s.Login(t)
	for _, path := range []string{sessionPath, "/admin/api/keys", "/admin/api/queries/nodes", "/admin/api/unknown"} {
		for _, scheme := range []string{"Bearer ", "Basic ", "Session ", "Token "} {
			a := s.DoUnchecked(t, contract.Request{Path: path, Key: contract.None, Header: map[string]string{
				"Authorization": scheme + s.Admin, "X-CSRF-Token": o.Token,
			}})
			a.RequireFailure(t, 401, authentication, "Unauthorized", nil)
		}
	}
	for _, path := range []string{"/api/me", "/api/queries/nodes", "/api/unknown"} {
		a := s.Do(t, contract.Request{Path: path, Key: contract.None, Header: map[string]string{
			"Cookie": o.Cookie + "; __Host-" + o.Cookie, "X-CSRF-Token": o.Token,
		}})
		a.RequireFailure(t, 401, authentication, "Missing Authorization", nil)
	}
}

func TestASessionEndsByItself(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o := operatorTest{s.Login(t)}
	execute(t, s, `UPDATE operator_sessions SET seen_at = now() - interval '11 hours 59 minutes'`)
	require.Equal(t, 200, o.Do(t, contract.Request{Path: sessionPath}).Status)
	execute(
		t, s,
		`UPDATE operator_sessions SET seen_at = now() - interval '11 hours 59 minutes'
			WHERE seen_at < now() - interval '1 hour'`,
	)
	require.Equal(t, 200, o.Do(t, contract.Request{Path: sessionPath}).Status, "a use is a use")
	execute(t, s, `UPDATE operator_sessions SET seen_at = now() - interval '12 hours 1 second'`)
	o.requireLoggedOut(t)

	o = operatorTest{s.Login(t)}
	execute(t, s, `UPDATE operator_sessions SET expires_at = now() - interval '1 second'`)
	o.requireLoggedOut(t)
}

func TestAPageThatNobodyUsesIsLoggedOut(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o := operatorTest{s.Login(t)}
	execute(t, s, `UPDATE operator_sessions SET seen_at = now() - interval '11 hours 59 minutes'`)
	poll := contract.Request{Path: sessionPath, Header: map[string]string{"X-Livegraph-Background": "1"}}
	require.Equal(t, 200, o.Do(t, poll).Status)
	stream := contract.Request{
		Path: "/admin/api/overview/unknown", Header: map[string]string{"Accept": "text/event-stream"},
	}
	require.Equal(t, 404, s.DoUnchecked(t, o.Request(stream)).Status)
	execute(t, s, `UPDATE operator_sessions SET seen_at = seen_at - interval '2 minutes'`)
	require.Equal(t, 401, o.Do(t, poll).Status, "what the page asks by itself is no use of the session")

	o = operatorTest{s.Login(t)}
	execute(t, s, `UPDATE operator_sessions SET seen_at = now() - interval '11 hours 59 minutes'`)
	poll.Method, poll.Path, poll.Body = "POST", "/admin/api/unknown", "{}"
	require.Equal(t, 404, s.DoUnchecked(t, o.Request(poll)).Status)
	execute(t, s, `UPDATE operator_sessions SET seen_at = seen_at - interval '2 minutes'`)
	require.Equal(
		t, 200, o.Do(t, contract.Request{Path: sessionPath}).Status, "what changes something is one, whatever it says",
	)
}

func TestAChangeOfThePasswordEndsAllSessions(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	_, err := s.DB.CreateOperator(t.Context(), "other", password.Hash("another good password"))
	require.NoError(t, err)
	o, second := operatorTest{s.Login(t)}, operatorTest{s.Login(t)}
	other := s.LoginAs(t, "other", "another good password")
	change := func(current, next string) *contract.Answer {
		body, err := json.Marshal(map[string]string{"current": current, "new": next})
		require.NoError(t, err)
		return o.Do(t, contract.Request{Method: "PUT", Path: sessionPath + "/password", Body: string(body)})
	}
	change("wrong", "a new good password").RequireFailure(t, 422, validation, "", map[string]any{"field": "current"})
	change(strings.Repeat("x", 2000), "a new good password").RequireFailure(
		t, 422, validation, "", map[string]any{"field": "current"},
	)
	change(contract.OperatorPassword, "too short").RequireFailure(t, 422, validation, "", map[string]any{"field": "new"})
	require.Equal(t, 200, o.Do(t, contract.Request{Path: sessionPath}).Status, "a wrong try ends nothing")

	require.Equal(t, 204, change(contract.OperatorPassword, "ein neues gutes Kennwort ☺").Status)
	o.requireLoggedOut(t)
	second.requireLoggedOut(t)
	require.Equal(t, 200, other.Do(t, contract.Request{Path: sessionPath}).Status, "another operator's stay")
	require.Equal(t, 401, s.TryLogin(t, contract.OperatorName, contract.OperatorPassword, nil).Status)
	s.LoginAs(t, contract.OperatorName, "ein neues gutes Kennwort ☺")
}

// An Authorization header that a browser sends for another server is ignored.
func TestAWorkspaceKeyBesideTheSessionIsIgnored(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o := s.Login(t)
	reader := s.NewKey(t, []uuid.UUID{s.Workspace}, request.ReadNodes)
	require.Equal(
		t, 200,
		o.Do(t, contract.Request{Path: "/admin/api/keys", Header: map[string]string{
			"Authorization": "Bearer " + reader,
		}}).Status,
	)
}
