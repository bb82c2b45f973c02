package contract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/internal/platform/password"
	"github.com/livegraph/livegraph/test/contract"
)

func TestAFailedLoginDoesNotRevealWhatIsWrong(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	var answers []string
	for name, text := range map[string]string{
		contract.OperatorName: "wrong", "nobody": contract.OperatorPassword, "Admin": contract.OperatorPassword, "": "",
		"' OR 1=1 --": "x", "a\u202eb": "x", "<script>alert(1)</script>": "${jndi:ldap://x}", strings.Repeat("a", 1024): "x",
	} {
		a := s.TryLogin(t, name, text, nil)
		a.RequireFailure(t, 401, authentication, "The name or the password is wrong", nil)
		require.Empty(t, a.Header.Get("Set-Cookie"))
		require.Equal(t, "Session", a.Header.Get("WWW-Authenticate"))
		answers = append(answers, strings.ReplaceAll(string(a.Body), a.RequestID, ""))
	}
	for _, answer := range answers {
		require.Equal(t, answers[0], answer)
	}
}

func TestALoginIsReadStrictly(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	login := func(body string) *contract.Answer {
		return s.Do(t, contract.Request{
			Method: "POST", Path: sessionPath, Key: contract.None, Workspace: contract.None, Body: body,
		})
	}
	for body, want := range map[string]struct {
		status int
		field  string
	}{
		`{"name":"admin"}`:                                            {400, "password"},
		`{"name":"admin","password":null}`:                            {400, "password"},
		`{"name":["admin"],"password":"x"}`:                           {400, "name"},
		`{"name":"admin","password":"x","admin":1}`:                   {400, "admin"},
		`{"name":"admin","name":"x","password":"x"}`:                  {400, "name"},
		`{"name":"a\u0000","password":"x"}`:                           {422, "name"},
		`{"name":"a","password":"` + strings.Repeat("x", 1025) + `"}`: {422, "password"},
	} {
		login(body).RequireFailure(t, want.status, validation, "", map[string]any{"field": want.field})
	}
	form := s.Do(t, contract.Request{
		Method: "POST", Path: sessionPath, Key: contract.None, Workspace: contract.None, Body: "name=admin&password=x",
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
	})
	form.RequireFailure(t, 415, validation, "", nil)
}

func TestFailedLoginsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	page := &contract.Administration{Change: func(d *admin.Deps) {
		d.Attempts = admin.Attempts{PerAddress: 3, AddressWindow: 24 * time.Hour}
	}}
	awaitWindow(t, 24*time.Hour, 20*time.Second)
	cfg := contract.Config()
	cfg.TrustedProxies = []string{"127.0.0.0/8"}
	s := contract.StartWith(t, cfg, page.Group)
	from := func(ip, name, text string) *contract.Answer {
		return s.TryLogin(t, name, text, map[string]string{"X-Forwarded-For": ip})
	}
	for i := range 5 {
		require.Equal(
			t, 200, from("203.0.113.7", contract.OperatorName, contract.OperatorPassword).Status,
			"%d: what succeeds is not counted", i,
		)
	}
	for i := range 3 {
		require.Equal(t, 401, from("203.0.113.7", fmt.Sprintf("nobody-%d", i), "x").Status)
	}
	for _, name := range []string{"nobody", "ops"} {
		a := from("203.0.113.7", name, contract.OperatorPassword)
		a.RequireFailure(t, 429, "RATE_LIMITED", "Too many failed logins", nil)
		require.NotEmpty(t, a.Header.Get("Retry-After"))
		require.Empty(t, a.Header.Get("Set-Cookie"))
	}
	require.Equal(
		t, 200, from("203.0.113.8", contract.OperatorName, contract.OperatorPassword).Status, "another address goes on",
	)

	for i := range 3 {
		require.Equal(t, 401, from(fmt.Sprintf("2001:db8:1:2::%x", i+1), "nobody", "x").Status)
	}
	require.Equal(t, 429, from("2001:db8:1:2:ffff::1", "nobody", "x").Status, "a network of 64 bits is one caller's")
	require.Equal(t, 401, from("2001:db8:1:3::1", "nobody", "x").Status)
}

// Behind a proxy that is not trusted, all callers have the address of the proxy.
func TestFailedLoginsOfOthersDoNotKeepAnOperatorOutOfTheNetworkOfTheLastLogin(t *testing.T) {
	t.Parallel()
	page := &contract.Administration{Change: func(d *admin.Deps) {
		d.Attempts = admin.Attempts{PerAddress: 3, AddressWindow: 24 * time.Hour, Reserved: 2}
	}}
	awaitWindow(t, 24*time.Hour, 20*time.Second)
	s := contract.Start(t, page.Group)
	_, err := s.DB.CreateOperator(t.Context(), "ops", password.Hash(contract.OperatorPassword))
	require.NoError(t, err)
	login := func(name, text string) int { return s.TryLogin(t, name, text, nil).Status }
	require.Equal(t, 200, login(contract.OperatorName, contract.OperatorPassword))
	for i := range 10 {
		require.Equal(t, map[bool]int{true: 401, false: 429}[i < 3], login(fmt.Sprintf("nobody-%d", i), "x"))
	}
	for range 5 {
		require.Equal(t, 200, login(contract.OperatorName, contract.OperatorPassword), "what succeeds is not counted")
	}
	require.Equal(t, 429, login("ops", contract.OperatorPassword), "who never logged in from here has no more than others")
	for range 2 {
		require.Equal(t, 429, login(contract.OperatorName, "wrong"), "the answer does not tell that the name is known")
	}
	require.Equal(t, 429, login(contract.OperatorName, contract.OperatorPassword), "nor is the password guessed this way")
}

func TestFailedLoginsAreLimitedByName(t *testing.T) {
	t.Parallel()
	page := &contract.Administration{Change: func(d *admin.Deps) {
		d.Attempts = admin.Attempts{PerName: 3, NameWindow: 24 * time.Hour, PerAddress: 1000}
	}}
	awaitWindow(t, 24*time.Hour, 20*time.Second)
	cfg := contract.Config()
	cfg.TrustedProxies = []string{"127.0.0.0/8"}
	s := contract.StartWith(t, cfg, page.Group)
	from := func(ip, name, text string) int {
		return s.TryLogin(t, name, text, map[string]string{"X-Forwarded-For": ip}).Status
	}
	require.Equal(
		t, 200, from("198.51.100.1", contract.OperatorName, contract.OperatorPassword), "the operator's own address",
	)
	for _, name := range []string{contract.OperatorName, "nobody"} {
		for i := range 3 {
			require.Equal(t, 401, from(fmt.Sprintf("203.0.113.%d", i), name, "wrong"))
		}
		require.Equal(t, 429, from("203.0.113.99", name, contract.OperatorPassword), "%s, from whichever address", name)
	}
	require.Equal(
		t, 200, from("198.51.100.1", contract.OperatorName, contract.OperatorPassword), "others do not keep the operator out",
	)
}
