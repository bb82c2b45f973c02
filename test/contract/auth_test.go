package contract_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
)

const authentication, authorization, validation = "AUTHENTICATION_ERROR", "AUTHORIZATION_ERROR", "VALIDATION_ERROR"

func TestAKeyShowsItsKind(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	workspace, err := s.DB.CreateWorkspace(t.Context(), access.Workspace{
		Name: "plant-7", Plan: "starter", Mode: "live", MaxSources: 5, MaxSeries: 10,
	})
	require.NoError(t, err)
	text, key := s.AddKey(t, access.NewKey{Mode: "live", Workspaces: []uuid.UUID{workspace.ID}}, request.ReadLiveData)
	a := s.Do(t, contract.Request{Path: "/api/me", Key: text, Workspace: contract.None})
	require.Equal(t, http.StatusOK, a.Status)
	require.NotContains(t, string(a.Body), text)
	var me struct {
		KeyID      uuid.UUID
		Scopes     []string
		Workspaces []struct {
			ID     uuid.UUID
			Plan   string
			Limits struct{ RequestsPerMinute, RequestsPerDay, Sources, Series *int64 }
			Left   struct {
				RequestsThisMinute, RequestsToday *int64
				Sources, Series                   int64
			}
		}
	}
	require.NoError(t, json.Unmarshal(a.Data, &me))
	require.Equal(t, key.ID, me.KeyID)
	require.Equal(t, []string{"read:livedata"}, me.Scopes)
	require.Len(t, me.Workspaces, 1)
	require.Equal(t, workspace.ID, me.Workspaces[0].ID)
	require.EqualValues(t, 60, *me.Workspaces[0].Limits.RequestsPerMinute)
	require.EqualValues(t, 10_000, *me.Workspaces[0].Limits.RequestsPerDay)
	require.EqualValues(t, 5, me.Workspaces[0].Left.Sources)
	require.EqualValues(t, 60, *me.Workspaces[0].Left.RequestsThisMinute, "to ask this is not counted")
	require.EqualValues(t, 10_000, *me.Workspaces[0].Left.RequestsToday)

	bare := s.NewKey(t, []uuid.UUID{s.Workspace})
	require.Equal(
		t, http.StatusOK, s.Do(t, contract.Request{Path: "/api/me", Key: bare, Workspace: contract.None}).Status,
		"no scope is needed",
	)
	require.Equal(
		t, http.StatusOK, s.Do(t, contract.Request{Path: "/api/me", Workspace: "nonsense"}).Status, "nor a workspace",
	)
	a = s.Do(t, contract.Request{Path: "/api/me?x=1"})
	a.RequireFailure(t, 400, validation, "", map[string]any{"field": "x"})
}

// badAuthorization is a header that is refused, and the message of the refusal.
type badAuthorization struct{ header, message string }

// badAuthorizations returns bad headers that are derived from a good key.
func badAuthorizations(good string) map[string]badAuthorization {
	wrongSum := good[:len(good)-1] + "a"
	if wrongSum == good {
		wrongSum = good[:len(good)-1] + "b"
	}
	unknown := apikey.Generate(apikey.Live).Reveal()
	return map[string]badAuthorization{
		"no header": {"", "Missing Authorization"}, "white space": {"   ", "Missing Authorization"},
		"Basic": {"Basic " + good, "Unauthorized"}, "no scheme": {good, "Unauthorized"},
		"scheme alone":     {"Bearer", "Unauthorized"},
		"scheme and space": {"Bearer ", "Unauthorized"}, "tab": {"Bearer\t" + good, "Unauthorized"},
		"two keys": {"Bearer " + good + " " + good, "Unauthorized"},
		"comma":    {"Bearer " + good + ", Bearer " + good, "Unauthorized"},
		"quotes":   {`Bearer "` + good + `"`, "Unauthorized"}, "checksum": {"Bearer " + wrongSum, "Unauthorized"},
		"truncated": {"Bearer " + good[:30], "Unauthorized"}, "longer": {"Bearer " + good + "a", "Unauthorized"},
		"unknown": {"Bearer " + unknown, "Unauthorized"}, "upper case": {"Bearer " + strings.ToUpper(good), "Unauthorized"},
		"other prefix": {"Bearer sk" + good[2:], "Unauthorized"},
		"huge":         {"Bearer " + strings.Repeat("a", 10_000), "Unauthorized"},
		"injection":    {"Bearer ' OR 1=1 --", "Unauthorized"},
	}
}

func TestWithoutAValidKeyEveryPathIsUnauthorized(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	good := s.Admin
	for name, c := range badAuthorizations(good) {
		for _, path := range []string{
			"/api/me", "/api/test/items", "/api/unknown", "/api", "/api/", "/api/docsx", "/api/openapi.yamlx", "/%61pi/me",
			"/api%2Fme", "/api/test/items?key=" + good,
		} {
			for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS", "BREW"} {
				a := s.Do(t, contract.Request{
					Method: method, Path: path, Key: contract.None, Header: map[string]string{"Authorization": c.header},
				})
				a.RequireFailure(t, 401, authentication, c.message, nil)
				require.Empty(t, a.Error.Details, name)
				require.Equal(t, "Bearer", a.Header.Get("WWW-Authenticate"))
			}
		}
	}
}

func TestFormsOfTheHeaderThatAreRight(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	for _, header := range []string{
		"Bearer " + s.Admin, "bearer " + s.Admin, "BEARER   " + s.Admin, "Bearer " + s.Admin + "  ",
	} {
		a := s.Do(t, contract.Request{
			Path: "/api/me", Key: contract.None, Header: map[string]string{"Authorization": header},
		})
		require.Equal(t, http.StatusOK, a.Status, header)
	}
}

func TestExpiredAndRevokedKeysAreUnauthorizedSoon(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	soon := time.Now().Add(700 * time.Millisecond)
	spec := access.NewKey{Mode: "live", Workspaces: []uuid.UUID{s.Workspace}}
	spec.ExpiresAt = &soon
	expiring, _ := s.AddKey(t, spec, request.Admin)
	spec.ExpiresAt = nil
	revoked, key := s.AddKey(t, spec, request.Admin)
	for _, text := range []string{expiring, revoked} {
		require.Equal(t, http.StatusOK, s.Do(t, contract.Request{Path: "/api/me", Key: text}).Status)
	}
	_, err := s.DB.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	time.Sleep(time.Second)
	for _, text := range []string{expiring, revoked} {
		for _, path := range []string{"/api/me", "/api/test/items", "/api/unknown"} {
			s.Do(t, contract.Request{Path: path, Key: text}).RequireFailure(t, 401, authentication, "Unauthorized", nil)
		}
	}
}

func TestWorkspacesAreCheckedAfterTheKeyAndBeforeTheScope(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	other := s.NewWorkspace(t, apikey.Live)
	sandbox := s.NewWorkspace(t, apikey.Test)
	deleted := s.NewWorkspace(t, apikey.Live)
	reader := s.NewKey(t, []uuid.UUID{s.Workspace, deleted}, request.ReadNodes)
	testKey, _ := s.AddKey(t, access.NewKey{Mode: apikey.Test, Workspaces: []uuid.UUID{sandbox}}, request.Admin)
	require.NoError(t, s.DB.DeleteWorkspace(t.Context(), deleted, "test"))
	time.Sleep(500 * time.Millisecond)

	items := func(key, workspace string) *contract.Answer {
		return s.DoUnchecked(t, contract.Request{Path: "/api/test/items", Key: key, Workspace: workspace})
	}
	id := s.Workspace.String()
	for _, workspace := range []string{
		contract.None, "", " ", "x", "{" + id + "}", strings.ReplaceAll(id, "-", ""), id + "," + id,
		strings.Repeat("a", 10_000),
	} {
		q := contract.Request{
			Path: "/api/test/items", Workspace: contract.None, Header: map[string]string{"x-workspace-id": workspace},
		}
		if workspace == contract.None {
			q.Header = nil
		}
		s.DoUnchecked(t, q).RequireFailure(t, 400, validation, "", map[string]any{"field": "x-workspace-id"})
	}
	for _, workspace := range []uuid.UUID{other, sandbox, deleted, uuid.New(), {}} {
		for _, key := range []string{reader, s.Admin} {
			a := items(key, workspace.String())
			a.RequireFailure(t, 403, authorization, "Workspace access denied", nil)
			require.Empty(t, a.Error.Details)
		}
	}
	items(testKey, s.Workspace.String()).RequireFailure(t, 403, authorization, "Workspace access denied", nil)
	require.Equal(t, http.StatusOK, items(testKey, sandbox.String()).Status)
	require.Equal(t, http.StatusOK, items(s.Admin, strings.ToUpper(s.Workspace.String())).Status)
	items(reader, s.Workspace.String()).RequireFailure(t, 403, authorization, "Forbidden", map[string]any{
		"required": []any{"read:livedata"},
	})
}

// The order: key, workspace, scope, size, parse, values.
func TestChecksComeInTheContractsOrder(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	reader := s.NewKey(t, []uuid.UUID{s.Workspace}, request.ReadNodes)
	q := contract.Request{
		Method: "POST", Path: "/api/test/echo", Key: "nonsense", Workspace: "nonsense", Body: strings.Repeat("x", 2<<20),
	}
	s.DoUnchecked(t, q).RequireFailure(t, 401, authentication, "Unauthorized", nil)
	q.Key = reader
	s.DoUnchecked(t, q).RequireFailure(t, 400, validation, "", map[string]any{"field": "x-workspace-id"})
	q.Workspace = uuid.NewString()
	s.DoUnchecked(t, q).RequireFailure(t, 403, authorization, "Workspace access denied", nil)
	q.Workspace = s.Workspace.String()
	s.DoUnchecked(t, q).RequireFailure(t, 403, authorization, "Forbidden", map[string]any{"required": []any{
		"write:livedata",
	}})
	q.Key = s.Admin
	s.DoUnchecked(t, q).RequireFailure(t, 413, validation, "", map[string]any{"field": "body", "limit": float64(1 << 20)})
	q.Body = `{"name":"","name":""}`
	s.DoUnchecked(t, q).RequireFailure(t, 400, validation, "", map[string]any{
		"field": "name", "reason": "is given more than once",
	})
	q.Body = `{"name":""}`
	s.DoUnchecked(t, q).RequireFailure(t, 422, validation, "", map[string]any{"field": "name"})
}

// The times that an unknown key and a known one with a wrong checksum take must not
// differ by much more than a lookup. The test checks what a caller can see: both get
// the same answer.
func TestRefusalsLookAlike(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	spec := access.NewKey{Mode: "live", Workspaces: []uuid.UUID{s.Workspace}}
	revokedText, revoked := s.AddKey(t, spec, request.Admin)
	_, err := s.DB.RevokeKey(t.Context(), revoked.ID)
	require.NoError(t, err)
	var bodies []string
	for _, key := range []string{
		revokedText, apikey.Generate("live").Reveal(), apikey.Generate("test").Reveal(), "lg_live_x",
	} {
		a := s.Do(t, contract.Request{Path: "/api/me", Key: key})
		bodies = append(bodies, strings.ReplaceAll(string(a.Body), a.RequestID, ""))
	}
	for _, body := range bodies {
		require.Equal(t, bodies[0], body)
	}
}
