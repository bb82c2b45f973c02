package contract_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/internal/platform/password"
	"github.com/livegraph/livegraph/test/contract"
)

func TestOperatorsAreCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	s, page := startAdmin(t)
	o := s.Login(t)
	var made struct{ ID, Name, Password string }
	o.Send(t, "POST", "/admin/api/operators", `{"name":"ops@plant-7"}`, 201, &made)
	require.Len(t, made.Password, 24)
	var list []struct {
		ID, Name string
		Sessions int
	}
	a := o.Get(t, "/admin/api/operators", &list)
	require.NotContains(t, string(a.Body), made.Password)
	require.Len(t, list, 2)
	second := operatorTest{s.LoginAs(t, "ops@plant-7", made.Password)}

	chosen := o.Send(t, "POST", "/admin/api/operators", `{"name":"third","password":"a password of my own"}`, 201, nil)
	require.NotContains(t, string(chosen.Body), "a password of my own")
	o.Do(t, contract.Request{Method: "POST", Path: "/admin/api/operators", Body: `{"name":"third"}`}).
		RequireFailure(t, 409, "CONFLICT", "", map[string]any{"reason": "already_exists"})
	for _, name := range []string{
		"", " ", "a b", "аdmin", "a\u202e", "<b>", "-x", "a/b", strings.Repeat("a", 65), "a'--", "=1+1", "a\\u000a",
	} {
		body, err := json.Marshal(map[string]string{"name": name})
		require.NoError(t, err)
		o.Do(t, contract.Request{Method: "POST", Path: "/admin/api/operators", Body: string(body)}).
			RequireFailure(t, 422, validation, "", map[string]any{"field": "name"})
	}
	o.Do(t, contract.Request{Method: "DELETE", Path: "/admin/api/operators/" + page.Operator.ID.String()}).
		RequireFailure(t, 409, "CONFLICT", "", map[string]any{"reason": "own_account"})
	o.Send(t, "DELETE", "/admin/api/operators/"+made.ID, "", 204, nil)
	second.requireLoggedOut(t)
	for _, id := range []string{made.ID, uuid.NewString(), "x", "%00", "..%2f..", "<script>"} {
		require.Equal(t, 404, o.Do(t, contract.Request{Method: "DELETE", Path: "/admin/api/operators/" + id}).Status, id)
	}
}

func TestResettingAnotherPasswordRequiresOnesOwn(t *testing.T) {
	t.Parallel()
	s, page := startAdmin(t)
	o := operatorTest{s.Login(t)}
	var made struct{ ID, Name, Password string }
	o.Send(t, "POST", "/admin/api/operators", `{"name":"ops"}`, 201, &made)
	first, second := operatorTest{s.LoginAs(t, "ops", made.Password)}, operatorTest{s.LoginAs(t, "ops", made.Password)}
	reset := func(id string, body map[string]string) *contract.Answer {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		return o.Do(t, contract.Request{Method: "POST", Path: "/admin/api/operators/" + id + "/password", Body: string(text)})
	}
	own := map[string]string{"ownPassword": contract.OperatorPassword}
	for field, body := range map[string]map[string]string{
		"ownPassword": {"ownPassword": "not mine"},
		"password":    {"ownPassword": contract.OperatorPassword, "password": "too short"},
	} {
		reset(made.ID, body).RequireFailure(t, 422, validation, "", map[string]any{"field": field})
	}
	reset(made.ID, map[string]string{
		"ownPassword": strings.Repeat("x", 2000),
	}).RequireFailure(t, 422, validation, "", map[string]any{"field": "ownPassword"})
	reset(made.ID, map[string]string{"ownPassword": made.Password}).RequireFailure(
		t, 422, validation, "", map[string]any{"field": "ownPassword"},
	)
	reset(made.ID, map[string]string{}).RequireFailure(t, 400, validation, "", map[string]any{"field": "ownPassword"})
	reset(page.Operator.ID.String(), own).RequireFailure(t, 409, "CONFLICT", "", map[string]any{"reason": "own_account"})
	for _, id := range []string{uuid.NewString(), "x", "%00"} {
		require.Equal(t, 404, reset(id, own).Status, id)
	}
	require.Equal(t, 200, first.Do(t, contract.Request{Path: sessionPath}).Status, "what is refused ends nothing")

	a := reset(made.ID, own)
	require.Equal(t, 200, a.Status, "%s", a.Body)
	var next struct {
		Name, Password string
		Sessions       int
	}
	require.NoError(t, json.Unmarshal(a.Data, &next))
	require.Equal(t, "ops", next.Name)
	require.Zero(t, next.Sessions)
	require.Len(t, next.Password, 24)
	require.NotEqual(t, made.Password, next.Password)
	first.requireLoggedOut(t)
	second.requireLoggedOut(t)
	require.Equal(t, 200, o.Do(t, contract.Request{Path: sessionPath}).Status, "one's own session stays")
	require.Equal(t, 401, s.TryLogin(t, "ops", made.Password, nil).Status)
	s.LoginAs(t, "ops", next.Password)

	a = reset(made.ID, map[string]string{"ownPassword": contract.OperatorPassword, "password": "a password of my own"})
	require.Equal(t, 200, a.Status)
	require.NotContains(t, string(a.Body), "a password of my own")
	s.LoginAs(t, "ops", "a password of my own")

	var acts []struct {
		Operator               struct{ Name string }
		Method, Route, Subject string
		Status                 int
	}
	noted := o.Get(t, "/admin/api/trail?operatorId="+page.Operator.ID.String(), &acts)
	require.Equal(t, "/admin/api/operators/{id}/password", acts[0].Route)
	require.Equal(t, made.ID, acts[0].Subject)
	require.Equal(t, 200, acts[0].Status)
	for _, text := range []string{contract.OperatorPassword, next.Password, "a password of my own"} {
		require.NotContains(t, string(noted.Body), text)
	}
}

// Guesses of a password in resets are limited like guesses in logins.
func TestAPasswordIsNotGuessedByResets(t *testing.T) {
	t.Parallel()
	page := &contract.Administration{Change: func(d *admin.Deps) {
		d.Attempts = admin.Attempts{PerAddress: 3, AddressWindow: 24 * time.Hour}
	}}
	awaitWindow(t, 24*time.Hour, 20*time.Second)
	s := contract.Start(t, page.Group)
	o := s.Login(t)
	other, err := s.DB.CreateOperator(t.Context(), "ops", password.Hash("another good password"))
	require.NoError(t, err)
	path := "/admin/api/operators/" + other.ID.String() + "/password"
	for range 3 {
		o.Send(t, "POST", path, `{"ownPassword":"a guess"}`, 422, nil)
	}
	o.Send(t, "POST", path, `{"ownPassword":"`+contract.OperatorPassword+`"}`, 429, nil)
	require.Equal(t, 429, s.TryLogin(t, "ops", "another good password", nil).Status, "one account of both")
}
