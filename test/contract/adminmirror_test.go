package contract_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
)

const operatorsExecute = "/admin/api/commands/execute"

func TestThePagesRoutesAndTheirDescriptionAreTheSame(t *testing.T) {
	t.Parallel()
	log := &contract.Audit{}
	page := &contract.Administration{}
	s := contract.Start(t, log.Group, (&contract.Pipeline{}).Group, func(t testing.TB, s *contract.Server) []route.Route {
		page.Records = log.Records
		return page.Group(t, s)
	})
	documented := s.AdminOperations()
	served := map[string]bool{}
	for _, rt := range s.API.Routes() {
		if !strings.HasPrefix(rt.Pattern, "/admin") {
			continue
		}
		name := rt.Method + " " + rt.PathPattern()
		served[name] = true
		operation := documented[name]
		require.NotNil(t, operation, "%s is served but not described", name)
		public := operation.Security != nil && len(*operation.Security) == 0
		require.Equal(t, rt.Access == route.Public, public, "%s: does it need a session?", name)
		if rt.Access != route.Operator {
			continue
		}
		for _, status := range []string{"400", "401", "413", "500", "503"} {
			require.Contains(t, operation.Responses.Map(), status, name)
		}
		require.Equal(t, rt.Method != http.MethodGet, operation.Responses.Map()["403"] != nil, "%s: can it be forged?", name)
	}
	for name := range documented {
		require.True(t, served[name], "%s is described but not served", name)
	}
}

func TestEachRouteOfAWorkspaceIsThereForOperators(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, groups()...)
	o := s.Login(t)
	mirrored := map[string]route.Route{}
	for _, rt := range s.API.Mirrored() {
		mirrored[rt.Method+" "+rt.Pattern] = rt
	}
	for _, rt := range s.API.Routes() {
		name := rt.Method + " /admin" + rt.Pattern
		m, ok := mirrored[name]
		require.Equal(t, rt.Access == route.Workspace && rt.Dialect == nil, ok, name)
		if !ok {
			continue
		}
		delete(mirrored, name)
		path := strings.NewReplacer("{id}", uuid.NewString()).Replace(m.Pattern)
		out := s.DoUnchecked(t, contract.Request{Method: m.Method, Path: path})
		out.RequireFailure(t, 401, authentication, "Unauthorized", nil)
		if m.Method != http.MethodGet {
			forged := s.DoUnchecked(t, o.Request(contract.Request{
				Method: m.Method, Path: path, Workspace: s.Workspace.String(), Header: map[string]string{"X-CSRF-Token": "x"},
			}))
			require.Equal(t, 403, forged.Status, name)
		}
		nowhere := s.DoUnchecked(t, o.Request(contract.Request{Method: m.Method, Path: path}))
		nowhere.RequireFailure(t, 400, validation, "", map[string]any{"field": "x-workspace-id"})
		unknown := s.DoUnchecked(t, o.Request(contract.Request{Method: m.Method, Path: path, Workspace: uuid.NewString()}))
		require.Equal(t, 404, unknown.Status, name)
		if rt.Streaming {
			continue // the answer would not end
		}
		a := o.Do(t, contract.Request{Method: m.Method, Path: path, Workspace: s.Workspace.String()})
		require.NotContains(t, []int{401, 403, 405, 500}, a.Status, "%s: %s", name, a.Body)
	}
	require.Empty(t, mirrored)
}

// createNodeAs creates a node as an operator and returns its id.
func createNodeAs(t *testing.T, o *contract.Operator, name string) (id string) {
	t.Helper()
	a := o.Do(t, contract.Request{
		Method: "POST", Path: operatorsExecute, Workspace: o.Server.Workspace.String(),
		Body: `{"type":"CREATE_NODE","payload":{"name":"` + name + `","entityType":"concept"}}`,
	})
	require.Equal(t, 201, a.Status, "%s", a.Body)
	var made struct{ Node struct{ ID string } }
	require.NoError(t, json.Unmarshal(a.Data, &made))
	return made.Node.ID
}

func TestAnOperatorsUndoTakesBackWhatTheOperatorDid(t *testing.T) {
	t.Parallel()
	s, page := startAdmin(t, (&contract.Commands{}).Group, contract.GraphReads)
	o := s.Login(t)
	mine := createNodeAs(t, o, "by the operator")
	a := s.Do(t, contract.Request{
		Method: "POST", Path: "/api/commands/execute",
		Body: `{"type":"CREATE_NODE","payload":{"name":"by a key","entityType":"concept"}}`,
	})
	require.Equal(t, 201, a.Status, "%s", a.Body)
	var theirs struct{ Node struct{ ID string } }
	require.NoError(t, json.Unmarshal(a.Data, &theirs))

	a = o.Do(t, contract.Request{
		Method: "POST", Path: operatorsExecute, Workspace: s.Workspace.String(), Body: `{"type":"UNDO"}`,
	})
	require.Equal(t, 200, a.Status, "%s", a.Body)
	read := func(id string) int {
		return o.Do(t, contract.Request{Path: "/admin/api/queries/nodes/" + id, Workspace: s.Workspace.String()}).Status
	}
	require.Equal(t, 404, read(mine), "the key's newer command is not the operator's")
	require.Equal(t, 200, read(theirs.Node.ID))
	a = o.Do(t, contract.Request{
		Method: "POST", Path: operatorsExecute, Workspace: s.Workspace.String(),
		Body: `{"type":"UNDO","payload":{"scope":"mine"}}`,
	})
	a.RequireFailure(t, 409, "CONFLICT", "", map[string]any{"reason": "nothing_to_undo"})
	a = o.Do(t, contract.Request{
		Method: "POST", Path: operatorsExecute, Workspace: s.Workspace.String(), Body: `{"type":"REDO"}`,
	})
	require.Equal(t, 200, a.Status, "%s", a.Body)
	require.Equal(t, 200, read(mine))

	var changes []struct{ ActorID string }
	a = o.Do(t, contract.Request{Path: "/admin/api/queries/history", Workspace: s.Workspace.String()})
	require.NoError(t, json.Unmarshal(a.Data, &changes))
	var actors []string
	for _, c := range changes {
		actors = append(actors, c.ActorID)
	}
	require.Contains(t, actors, page.Operator.ID.String())
}

func TestAnOperatorIsNotCountedAgainstThePlan(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, contract.GraphReads)
	o := s.Login(t)
	starter, err := s.DB.CreateWorkspace(t.Context(), access.Workspace{Name: "small", Plan: "starter", Mode: "test"})
	require.NoError(t, err)
	for range 62 { // the plan allows 60 a minute
		a := o.Do(t, contract.Request{Path: "/admin/api/queries/nodes?limit=1", Workspace: starter.ID.String()})
		require.Equal(t, 200, a.Status, "in a workspace of whichever mode")
		require.Equal(t, "2147483647", a.Header.Get("X-RateLimit-Remaining"))
	}
	var detail struct {
		Standing struct{ Minute struct{ Used int64 } }
	}
	o.Get(t, "/admin/api/workspaces/"+starter.ID.String(), &detail)
	require.Zero(t, detail.Standing.Minute.Used)
}

func TestAnOperatorNoLongerSeesADeletedWorkspace(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, contract.GraphReads)
	o := s.Login(t)
	gone := s.NewWorkspace(t, "live")
	read := contract.Request{Path: "/admin/api/queries/nodes", Workspace: gone.String()}
	require.Equal(t, 200, o.Do(t, read).Status)
	o.Send(t, "DELETE", "/admin/api/workspaces/"+gone.String(), "", 202, nil)
	s.DoUnchecked(t, o.Request(read)).RequireFailure(t, 404, "NOT_FOUND", "", nil)
}

// stream opens a stream as the operator.
func (o operatorTest) stream(t *testing.T, path string) (*http.Response, *bufio.Reader) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.Server.URL+path, nil)
	require.NoError(t, err)
	r.Header.Set("Cookie", o.Cookie)
	r.Header.Set("X-Workspace-Id", o.Server.Workspace.String())
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, 200, response.StatusCode)
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	require.Contains(t, response.Header.Get("Cache-Control"), "no-store")
	return response, bufio.NewReader(response.Body)
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, contract.GraphReads)
	for _, path := range []string{"/admin/api/queries/events", "/admin/api/overview/stream"} {
		o := operatorTest{s.Login(t)}
		response, body := o.stream(t, path)
		ended := make(chan struct{})
		go func() {
			for {
				if _, err := body.ReadString('\n'); err != nil {
					close(ended)
					return
				}
			}
		}()
		select {
		case <-ended:
			t.Fatal("it ended by itself")
		case <-time.After(600 * time.Millisecond): // the session is checked several times meanwhile
		}
		o.Send(t, "DELETE", sessionPath, "", 204, nil)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s goes on without a session", path)
		}
		_ = response.Body.Close()
	}
}

func TestAStreamEndsWithItsWorkspace(t *testing.T) {
	t.Parallel()
	s, _ := startAdmin(t, contract.GraphReads)
	o := operatorTest{s.Login(t)}
	_, body := o.stream(t, "/admin/api/queries/events")
	o.Send(t, "DELETE", "/admin/api/workspaces/"+s.Workspace.String(), "", 202, nil)
	for err := error(nil); err == nil; {
		_, err = body.ReadString('\n')
	}
}

func TestWhatOperatorsDoIsInTheTrailAndNotAmongTheUsesOfKeys(t *testing.T) {
	t.Parallel()
	log := &contract.Audit{}
	page := &contract.Administration{}
	s := contract.Start(t, log.Group, contract.GraphReads, (&contract.Commands{}).Group, func(
		t testing.TB, s *contract.Server,
	) []route.Route {
		page.Records = log.Records
		return page.Group(t, s)
	})
	s.TryLogin(t, contract.OperatorName, "wrong", nil)
	s.TryLogin(t, "my secret typed into the wrong field", "x", nil)
	o := s.Login(t)
	node := createNodeAs(t, o, "noted")
	read := contract.Request{Path: "/admin/api/queries/nodes/" + node, Workspace: s.Workspace.String()}
	o.Do(t, read)
	read.Header = map[string]string{"X-Livegraph-Background": "1"}
	for range 3 {
		o.Do(t, read) // polling of an open page: recorded together with the read before
	}
	o.Do(t, contract.Request{Path: "/admin/api/audit?limit=1"})
	o.Do(t, contract.Request{Path: "/admin/api/workspaces"})
	made := o.Send(t, "POST", "/admin/api/workspaces", `{"name":"made","plan":"pro"}`, 201, nil)
	var workspace struct{ ID string }
	require.NoError(t, json.Unmarshal(made.Data, &workspace))
	key := s.Admin
	o.Do(t, contract.Request{
		Method: "DELETE", Path: "/admin/api/keys/" + key, Header: map[string]string{"User-Agent": "curl\t" + key},
	})

	type act struct {
		RequestID     string
		Operator      *struct{ ID, Name string }
		WorkspaceID   *uuid.UUID
		Method, Route string
		Subject       string
		Status        *int
		IP            string
		UserAgent     string
		Actor         string
		Results       []string
		Fields        []string
	}
	var acts []act
	a := o.Get(t, "/admin/api/trail", &acts)
	require.NotContains(t, string(a.Body), key)
	require.NotContains(t, string(a.Body), "my secret")
	seen := map[string]int{}
	for _, x := range acts {
		require.NotNil(t, x.Status)
		require.Equal(t, "127.0.0.1", x.IP)
		seen[x.Method+" "+x.Route] = *x.Status
		if x.Operator == nil {
			require.Equal(t, 401, *x.Status)
		}
	}
	require.Len(t, acts, 8, "reads of what is no tenant's are not noted: %s", a.Body)
	require.Equal(t, map[string]int{
		"POST " + sessionPath: 401, "POST " + operatorsExecute: 201, "DELETE /admin/api/keys/{id}": 404,
		"GET /admin/api/queries/nodes/{id}": 200, "GET /admin/api/audit": 200, "POST /admin/api/workspaces": 201,
	}, seen)
	require.Equal(t, []string{workspace.ID}, acts[1].Results)
	require.Equal(t, []string{"name", "plan"}, acts[1].Fields)
	require.Equal(t, s.Workspace, *acts[3].WorkspaceID)
	require.Equal(t, node, acts[3].Subject)
	require.Equal(t, s.Workspace, *acts[4].WorkspaceID)
	require.Len(t, acts[4].Results, 1, "the command")
	require.Equal(t, contract.OperatorName, acts[4].Actor)
	require.Equal(t, contract.OperatorName, acts[4].Operator.Name)

	var page1, page2 []act
	first := o.Get(t, "/admin/api/trail?limit=4", &page1)
	var meta struct{ Meta struct{ NextCursor string } }
	require.NoError(t, json.Unmarshal(first.Body, &meta))
	o.Get(t, "/admin/api/trail?limit=4&cursor="+meta.Meta.NextCursor, &page2)
	require.Equal(t, acts, append(page1, page2...))
	o.Get(t, "/admin/api/trail?operatorId="+page.Operator.ID.String()+"&workspaceId="+s.Workspace.String(), &page1)
	require.Len(t, page1, 2)
	for _, query := range []string{"cursor=x", "cursor=-1", "offset=1", "operatorId=x", "from=yesterday", "limit=0"} {
		require.Equal(t, 400, o.Do(t, contract.Request{Path: "/admin/api/trail?" + query}).Status, query)
	}

	use := s.Do(t, contract.Request{Path: "/api/queries/nodes"})
	var uses []audit.Entry
	eventually(t, "the use of the key", func() bool {
		o.Get(t, "/admin/api/audit?requestId="+use.RequestID, &uses)
		return len(uses) == 1
	})
	o.Get(t, "/admin/api/audit", &uses)
	for _, u := range uses {
		require.NotContains(t, u.Route, "/admin/api", "an operator's acts are no uses of a key")
	}
	o.Get(t, "/admin/api/audit?workspaceId="+uuid.NewString(), &uses)
	require.Empty(t, uses)
	csv := o.Do(t, contract.Request{Path: "/admin/api/audit", Header: map[string]string{"Accept": "text/csv"}})
	require.True(t, strings.HasPrefix(string(csv.Body), audit.CSVHeader), "%s", csv.Body)
	require.Contains(t, string(csv.Body), use.RequestID)
	o.Do(t, contract.Request{Path: "/admin/api/audit?workspaceId=x"}).RequireFailure(
		t, 400, validation, "", map[string]any{"field": "workspaceId"},
	)
	require.NoError(t, s.DB.EndOperatorAct(t.Context(), 1, 200, nil, nil))
}

func TestWhatCannotBeNotedIsNotDone(t *testing.T) {
	t.Parallel()
	page := &contract.Administration{}
	s := contract.Start(t, page.Group)
	o := s.Login(t)
	execute(t, s, `ALTER TABLE operator_acts RENAME TO operator_acts_gone`)
	a := o.Do(t, contract.Request{Method: "POST", Path: "/admin/api/workspaces", Body: `{"name":"unseen"}`})
	require.Equal(t, 500, a.Status)
	require.NotContains(t, namesOf(t, o), "unseen")
	a = s.TryLogin(t, contract.OperatorName, contract.OperatorPassword, nil)
	require.Equal(t, 500, a.Status)
	require.Empty(t, a.Header.Get("Set-Cookie"))
	execute(t, s, `ALTER TABLE operator_acts_gone RENAME TO operator_acts`)
	require.Equal(
		t, 201, o.Do(t, contract.Request{Method: "POST", Path: "/admin/api/workspaces", Body: `{"name":"seen"}`}).Status,
	)
}

func TestTheTrailIsKeptForItsTime(t *testing.T) {
	t.Parallel()
	page := &contract.Administration{Change: func(d *admin.Deps) { d.TrailRetention = time.Hour }}
	s := contract.Start(t, page.Group)
	s.Login(t)
	execute(t, s, `UPDATE operator_acts SET at = now() - interval '2 hours'`)
	s.Login(t)
	n, err := s.DB.PruneOperatorActs(t.Context(), time.Hour, 100)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	acts, err := s.DB.OperatorActs(t.Context(), access.OperatorActFilter{}, 10)
	require.NoError(t, err)
	require.Len(t, acts, 1)
}
