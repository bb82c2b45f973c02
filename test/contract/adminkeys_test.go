package contract_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
)

func TestAKeysTextIsInTheAnswerThatMadeItAndInNoOther(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o := s.Login(t)
	var made, next keyResponse
	o.Send(
		t, "POST", "/admin/api/keys",
		`{"name":"reader","workspaces":["`+
			s.Workspace.String()+`"],"scopes":["read:nodes","read:nodes"],"expiresAt":"2099-01-01T00:00:00Z"}`,
		201, &made,
	)
	_, err := apikey.Parse(made.Key)
	require.NoError(t, err)
	require.Equal(t, []string{"read:nodes"}, made.Scopes)
	require.Equal(t, "operator "+contract.OperatorName, made.CreatedBy)
	require.Equal(t, s.Workspace.String(), made.Workspaces[0].ID)
	require.NotEmpty(t, made.Workspaces[0].Name)
	require.Equal(t, 200, s.Do(t, contract.Request{Path: "/api/me", Key: made.Key}).Status)

	o.Send(t, "POST", "/admin/api/keys/"+made.ID+"/roll", `{"graceSeconds":3600}`, 201, &next)
	require.Equal(t, made.ActorID, next.ActorID)
	require.Equal(t, made.ID, *next.RolledFrom)
	require.Equal(t, 200, s.Do(t, contract.Request{Path: "/api/me", Key: next.Key}).Status)
	var last keyResponse
	o.Send(t, "POST", "/admin/api/keys/"+next.ID+"/roll", "", 201, &last)

	for _, path := range []string{
		"/admin/api/keys", "/admin/api/keys?workspaceId=" + s.Workspace.String(), "/admin/api/trail", "/admin/api/workspaces",
		"/admin/api/overview", "/admin/api/operators",
		"/admin/api/workspaces/" + s.Workspace.String(),
	} {
		a := o.Do(t, contract.Request{Path: path})
		require.Equal(t, 200, a.Status)
		for _, text := range []string{made.Key, next.Key, last.Key} {
			require.NotContains(t, string(a.Body), text[8:], path)
		}
	}
	o.Send(t, "DELETE", "/admin/api/keys/"+made.ID, "", 204, nil)
	o.Send(t, "DELETE", "/admin/api/keys/"+made.ID, "", 204, nil)
	eventually(t, "the key works no more", func() bool {
		return s.Do(t, contract.Request{Path: "/api/me", Key: made.Key}).Status == 401
	})
	require.Equal(t, 200, s.Do(t, contract.Request{Path: "/api/me", Key: next.Key}).Status)
	o.Do(t, contract.Request{
		Method: "POST", Path: "/admin/api/keys/" + made.ID + "/roll",
	}).RequireFailure(t, 409, "CONFLICT", "", nil)

	execute(t, s, `UPDATE api_keys SET created_at = now() - interval '91 days' WHERE id = $1`, last.ID)
	execute(t, s, `UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1`, next.ID)
	states := map[string]keyResponse{}
	var list []keyResponse
	o.Get(t, "/admin/api/keys", &list)
	for _, k := range list {
		states[k.ID] = k
	}
	require.Equal(t, []string{"revoked", "expired", "active"}, []string{
		states[made.ID].State, states[next.ID].State, states[last.ID].State,
	})
	require.True(t, states[last.ID].RollDue)
	require.False(t, states[made.ID].RollDue)
	o.Get(t, "/admin/api/keys?state=revoked", &list)
	require.Len(t, list, 1)
	o.Get(t, "/admin/api/keys?rollDue=true", &list)
	require.Len(t, list, 1)
	require.Equal(t, last.ID, list[0].ID)
}

func TestKeysArePagedSortedAndFoundByTheStore(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o := s.Login(t)
	execute(t, s, `
		WITH made AS (
			INSERT INTO api_keys (id, hash, display, name, mode, scopes, actor_id, created_by, created_at)
			SELECT gen_random_uuid(), sha256(('many ' || i)::bytea), 'lg_live_Many', 'many ' || i, 'live', '{}',
			gen_random_uuid(), 'test', now() - i * interval '1 second'
			FROM generate_series(1, 1100) i RETURNING id)
		INSERT INTO api_key_workspaces (key_id, workspace_id) SELECT id, $1 FROM made`, s.Workspace)
	names := func(query string) (names []string, total int64) {
		t.Helper()
		a := o.Do(t, contract.Request{Path: "/admin/api/keys?" + query})
		require.Equal(t, 200, a.Status, string(a.Body))
		var list struct {
			Data []keyResponse
			Meta struct{ Total int64 }
		}
		require.NoError(t, json.Unmarshal(a.Body, &list))
		for _, k := range list.Data {
			names = append(names, k.Name)
		}
		return names, list.Meta.Total
	}
	found, total := names("sort=-createdAt&name=MANY&limit=2")
	require.Equal(t, []string{"many 1", "many 2"}, found)
	require.EqualValues(t, 1100, total)
	found, _ = names("name=lg_live_many&limit=2")
	require.Equal(t, []string{"many 1100", "many 1099"}, found)
	found, total = names("name=many&limit=100&offset=1050")
	require.Len(t, found, 50)
	require.EqualValues(t, 1100, total)
	found, total = names("name=many&offset=5000")
	require.Empty(t, found)
	require.EqualValues(t, 1100, total)
	var list []keyResponse
	o.Get(t, "/admin/api/keys?name=many+700", &list)
	require.Len(t, list, 1)
	for _, query := range []string{
		"name=" + list[0].ID, "id=" + list[0].ID, "state=active&id=" + list[0].ID + "," + uuid.NewString(),
	} {
		found, total = names(query)
		require.Equal(t, []string{"many 700"}, found, query)
		require.EqualValues(t, 1, total, query)
	}
	found, total = names("actorId=" + list[0].ActorID + "," + uuid.NewString())
	require.Equal(t, []string{"many 700"}, found)
	require.EqualValues(t, 1, total)
	found, _ = names("actorId=" + uuid.NewString())
	require.Empty(t, found)
	found, _ = names("state=revoked&name=many")
	require.Empty(t, found)
	for _, name := range []string{"%25", "many_700", "'", "\\\\"} { // each is matched literally, not as a pattern
		found, _ = names("name=" + name + "&id=" + list[0].ID)
		require.Empty(t, found, name)
	}
	for _, query := range []string{"id=none", "actorId=none", "sort=name", "rollDue=yes", "limit=1001"} {
		require.Equal(t, 400, o.Do(t, contract.Request{Path: "/admin/api/keys?" + query}).Status, query)
	}
}

func TestWrongKeysAreRefusedByField(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t)
	o := s.Login(t)
	live, sandbox := s.Workspace.String(), s.NewWorkspace(t, apikey.Test).String()
	gone := s.NewWorkspace(t, apikey.Live)
	require.NoError(t, s.DB.DeleteWorkspace(t.Context(), gone, "test"))
	ofLive := `"workspaces":["` + live + `"]`
	for _, c := range []struct {
		body   string
		status int
		field  string
	}{
		{`{` + ofLive + `}`, 400, "name"}, {`{"name":"a"}`, 400, "workspaces"},
		{`{"name":"a","workspaces":[]}`, 422, "workspaces"},
		{`{"name":"a","workspaces":["x"]}`, 422, "workspaces[0]"},
		{`{"name":"a","workspaces":["` + live + `","` + live + `"]}`, 422, "workspaces[1]"},
		{`{"name":"a","workspaces":["` + live + `","` + sandbox + `"]}`, 422, "workspaces[1]"},
		{`{"name":"a","workspaces":["` + uuid.NewString() + `"]}`, 422, "workspaces[0]"},
		{`{"name":"a","workspaces":["` + gone.String() + `"]}`, 422, "workspaces[0]"},
		{`{"name":"a",` + ofLive + `,"scopes":["read"]}`, 422, "scopes[0]"},
		{`{"name":"a",` + ofLive + `,"scopes":"admin"}`, 400, "scopes"},
		{`{"name":"a",` + ofLive + `,"expiresAt":"tomorrow"}`, 422, "expiresAt"},
		{`{"name":"a",` + ofLive + `,"expiresAt":"2020-01-01T00:00:00Z"}`, 422, "expiresAt"},
		{`{"name":"a",` + ofLive + `,"expiresAt":"9999-01-01T00:00:00Z"}`, 422, "expiresAt"},
		{`{"name":"\u001b[2J",` + ofLive + `}`, 422, "name"},
		{`{"name":"a",` + ofLive + `,"key":"lg_live_x"}`, 400, "key"},
	} {
		o.Do(t, contract.Request{
			Method: "POST", Path: "/admin/api/keys", Body: c.body,
		}).RequireFailure(t, c.status, validation, "", map[string]any{"field": c.field})
	}
	_, key := s.AddKey(t, access.NewKey{Mode: apikey.Live, Workspaces: []uuid.UUID{s.Workspace}})
	for body, status := range map[string]int{
		`{"graceSeconds":-1}`: 422, `{"graceSeconds":2592001}`: 422, `{"graceSeconds":"1"}`: 400, `{"grace":1}`: 400,
	} {
		require.Equal(
			t, status,
			o.Do(t, contract.Request{Method: "POST", Path: "/admin/api/keys/" + key.ID.String() + "/roll", Body: body}).Status,
			body,
		)
	}
	for _, id := range []string{uuid.NewString(), "x", "%00", "..%2fkeys"} {
		require.Equal(t, 404, o.Do(t, contract.Request{Method: "DELETE", Path: "/admin/api/keys/" + id}).Status, id)
		require.Equal(t, 404, o.Do(t, contract.Request{Method: "POST", Path: "/admin/api/keys/" + id + "/roll"}).Status, id)
	}
	for _, query := range []string{"workspaceId=x", "state=alive", "limit=0"} {
		require.Equal(t, 400, o.Do(t, contract.Request{Path: "/admin/api/keys?" + query}).Status, query)
	}
}
