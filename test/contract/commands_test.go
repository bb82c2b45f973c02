package contract_test

import (
	"encoding/json"
	"fmt"
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

const executePath, batchPath = "/api/commands/execute", "/api/commands/batch"

// writer is a server with the routes of the graph, and the stores and consumer of commands.
type writer struct {
	*contract.Server
	*contract.Commands
}

func startCommands(t *testing.T) *writer {
	t.Helper()
	return startCommandsWith(t, &contract.Commands{})
}

func startCommandsWith(t *testing.T, group *contract.Commands) *writer {
	t.Helper()
	return &writer{Server: contract.Start(t, group.Group, contract.GraphReads), Commands: group}
}

// execute executes a command with the admin key.
func (w *writer) execute(t testing.TB, body string) *contract.Answer {
	t.Helper()
	return w.executeAs(t, "", body)
}

func (w *writer) executeAs(t testing.TB, key, body string) *contract.Answer {
	t.Helper()
	return w.Do(t, contract.Request{Method: http.MethodPost, Path: executePath, Key: key, Body: body})
}

func (w *writer) batch(t testing.TB, body string) *contract.Answer {
	t.Helper()
	return w.Do(t, contract.Request{Method: http.MethodPost, Path: batchPath, Body: body})
}

// newActorKey creates a key that is a new actor, and returns its text.
func (w *writer) newActorKey(t testing.TB, scopes ...request.Scope) string {
	t.Helper()
	if scopes == nil {
		scopes = []request.Scope{request.Admin}
	}
	return w.NewKey(t, []uuid.UUID{w.Workspace}, scopes...)
}

// graphItem is a node or an edge in an answer.
type graphItem struct {
	ID, Name, EntityType             string
	SourceID, TargetID, RelationType string
	Description                      *string
	Properties                       map[string]any
	CreatedAt, UpdatedAt             time.Time
	Version                          int
	Deleted                          bool
}

// commandResult is the answer to an applied command.
type commandResult struct {
	CommandID, Type, Status string
	Node, Edge              *graphItem
	Affected                struct {
		Nodes, Edges []string
		Counts       struct{ Nodes, Edges int }
	}
	Target               *struct{ CommandID, Type string }
	UndoDepth, RedoDepth int
	Sequence             *int
}

// mustExecute is execute for a command that must be applied.
func (w *writer) mustExecute(t testing.TB, body string) commandResult {
	t.Helper()
	return w.mustExecuteAs(t, "", body)
}

func (w *writer) mustExecuteAs(t testing.TB, key, body string) commandResult {
	t.Helper()
	a := w.executeAs(t, key, body)
	status := http.StatusOK
	if strings.Contains(body, `"CREATE_`) {
		status = http.StatusCreated
	}
	d := decode[commandResult](t, a, status)
	require.Equal(t, "applied", d.Status)
	return d
}

func createNode(name string) string {
	return `{"type":"CREATE_NODE","payload":{"name":"` + name + `","entityType":"object"}}`
}

func createEdge(source, target string) string {
	return `{"type":"CREATE_EDGE","payload":{"sourceId":"` +
		source + `","targetId":"` + target + `","relationType":"feeds"}}`
}

func updateNode(id, members string) string {
	return `{"type":"UPDATE_NODE","payload":{"id":"` + id + `",` + members + `}}`
}

func deleteNode(id string) string { return `{"type":"DELETE_NODE","payload":{"id":"` + id + `"}}` }

// newNode creates a node and returns its id.
func (w *writer) newNode(t testing.TB, name string) string {
	t.Helper()
	return w.mustExecute(t, createNode(name)).Node.ID
}

func (w *writer) newEdge(t testing.TB, source, target string) string {
	t.Helper()
	return w.mustExecute(t, createEdge(source, target)).Edge.ID
}

// readNode returns a node, or nil if there is none.
func (w *writer) readNode(t testing.TB, id string) *graphItem {
	t.Helper()
	return readResource(t, w.Server, "/api/queries/nodes/"+id)
}

func (w *writer) readEdge(t testing.TB, id string) *graphItem {
	t.Helper()
	return readResource(t, w.Server, "/api/queries/edges/"+id)
}

func readResource(t testing.TB, s *contract.Server, path string) *graphItem {
	t.Helper()
	a := s.Do(t, contract.Request{Path: path})
	if a.Status == http.StatusNotFound {
		return nil
	}
	r := decode[graphItem](t, a, http.StatusOK)
	return &r
}

func TestANodeIsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	id := "0194A5B0-0000-7000-8000-00000000000A"
	a := w.execute(
		t,
		`{"type":"CREATE_NODE","payload":{"id":"`+id+`","name":"Pump","entityType":"object",
			"description":"of\nwater","properties":{"site":"north","n":1.50,"gone":null}}}`,
	)
	made := decode[commandResult](t, a, http.StatusCreated)
	id = strings.ToLower(id)
	require.Equal(t, "/api/queries/nodes/"+id, a.Header.Get("Location"))
	require.Equal(t, id, made.Node.ID)
	require.Equal(t, 1, made.Node.Version)
	require.Equal(t, made.Node.CreatedAt, made.Node.UpdatedAt)
	require.Equal(t, map[string]any{"site": "north", "n": 1.5}, made.Node.Properties)
	require.Equal(t, []string{id}, made.Affected.Nodes)
	require.Equal(t, 1, made.Affected.Counts.Nodes)
	require.Equal(t, []any{1, 0, 1}, []any{made.UndoDepth, made.RedoDepth, *made.Sequence})
	require.Equal(t, made.Node, w.readNode(t, id), "a read after the answer sees it")

	changed := w.mustExecute(t, updateNode(
		id, `"name":"Pump 7","entityType":"actor","description":null,"properties":{"site":null,"n":{"a":[1]}}`,
	))
	require.Equal(t, 2, changed.Node.Version)
	require.Equal(t, []any{"Pump 7", "actor"}, []any{changed.Node.Name, changed.Node.EntityType})
	require.Nil(t, changed.Node.Description)
	require.Equal(t, map[string]any{"n": map[string]any{"a": []any{1.0}}}, changed.Node.Properties)
	require.Equal(t, made.Node.CreatedAt, changed.Node.CreatedAt)
	require.Equal(t, changed.Node, w.readNode(t, id))

	same := w.mustExecute(t, updateNode(id, `"name":"Pump 7","properties":{"absent":null}`))
	require.Nil(t, same.Sequence, "a change of nothing is none")
	require.Equal(t, changed.Node, same.Node)
	require.Equal(t, changed.UndoDepth, same.UndoDepth)

	gone := w.mustExecute(t, deleteNode(strings.ToUpper(id)))
	require.True(t, gone.Node.Deleted)
	require.Equal(t, 3, gone.Node.Version)
	require.Nil(t, w.readNode(t, id))
	for _, body := range []string{deleteNode(id), updateNode(id, `"name":"x"`), createEdge(id, id)} {
		a := w.execute(t, body)
		require.Equal(t, http.StatusNotFound, a.Status, body)
		require.Equal(t, "NOT_FOUND", a.Error.Code)
	}
	w.execute(t, `{"type":"CREATE_NODE","payload":{"id":"`+id+`","name":"b","entityType":"object"}}`).
		RequireFailure(t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": "already_exists"})
}

func TestEdgesConnectExistingNodes(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	a, b := w.newNode(t, "a"), w.newNode(t, "b")
	first := w.mustExecute(
		t,
		`{"type":"CREATE_EDGE","payload":{"sourceId":"`+
			a+`","targetId":"`+b+`","relationType":"feeds","properties":{"w":1}}}`,
	)
	require.Equal(t, first.Edge, w.readEdge(t, first.Edge.ID))
	require.Equal(t, 1, first.Edge.Version)
	parallel, loop := w.newEdge(t, a, b), w.newEdge(t, a, a)
	require.NotEqual(t, first.Edge.ID, parallel)

	changed := w.mustExecute(
		t,
		`{"type":"UPDATE_EDGE","expectedVersion":1,"payload":{"id":"`+
			first.Edge.ID+`","relationType":"cools","properties":{"w":null}}}`,
	)
	require.Equal(t, []any{"cools", 2}, []any{changed.Edge.RelationType, changed.Edge.Version})
	require.Empty(t, changed.Edge.Properties)

	for field, body := range map[string]string{
		"payload.sourceId": createEdge(uuid.NewString(), b), "payload.targetId": createEdge(a, "no-uuid"),
	} {
		w.execute(t, body).RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "", map[string]any{"field": field})
	}
	gone := w.mustExecute(t, deleteNode(a))
	require.ElementsMatch(t, []string{first.Edge.ID, parallel, loop}, gone.Affected.Edges)
	require.Equal(t, 3, gone.Affected.Counts.Edges)
	for _, id := range []string{first.Edge.ID, parallel, loop} {
		require.Nil(t, w.readEdge(t, id), "the edges go with the node")
	}
	c := w.newEdge(t, b, b)
	deleted := w.mustExecute(t, `{"type":"DELETE_EDGE","payload":{"id":"`+c+`"}}`)
	require.True(t, deleted.Edge.Deleted)
	w.execute(
		t, `{"type":"DELETE_EDGE","payload":{"id":"`+c+`"}}`,
	).RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "", nil)
}

func TestAnotherVersionThanExpectedIsAConflict(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	a := w.newNode(t, "a")
	edge := w.newEdge(t, a, a)
	w.mustExecute(t, `{"type":"UPDATE_NODE","expectedVersion":1,"payload":{"id":"`+a+`","name":"b"}}`)
	for _, body := range []string{
		`{"type":"UPDATE_NODE","expectedVersion":%d,"payload":{"id":"` + a + `","name":"c"}}`,
		`{"type":"DELETE_NODE","expectedVersion":%d,"payload":{"id":"` + a + `"}}`,
	} {
		w.execute(t, fmt.Sprintf(body, 1)).RequireFailure(
			t, http.StatusConflict, "CONFLICT", "Version mismatch", map[string]any{"expectedVersion": 1.0, "actualVersion": 2.0},
		)
		huge := w.execute(t, fmt.Sprintf(body, int64(1<<63-1)))
		huge.RequireFailure(t, http.StatusConflict, "CONFLICT", "Version mismatch", nil)
		require.Contains(t, string(huge.Body), `"expectedVersion":9223372036854775807`)
	}
	for _, kind := range []string{"UPDATE_EDGE", "DELETE_EDGE"} {
		payload := `{"id":"` + edge + `","relationType":"x"}`
		if kind == "DELETE_EDGE" {
			payload = `{"id":"` + edge + `"}`
		}
		w.execute(t, `{"type":"`+kind+`","expectedVersion":7,"payload":`+payload+`}`).
			RequireFailure(
				t, http.StatusConflict, "CONFLICT", "Version mismatch",
				map[string]any{"expectedVersion": 7.0, "actualVersion": 1.0},
			)
	}
	require.Equal(t, "b", w.readNode(t, a).Name, "nothing changed")
	require.Equal(t, 2, w.readNode(t, a).Version)
}

func TestAnotherWorkspacesResourcesAreUnknown(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	other := w.NewWorkspace(t, "live")
	key := w.NewKey(t, []uuid.UUID{other}, request.Admin)
	a := w.newNode(t, "a")
	edge := w.newEdge(t, a, a)
	theirs := decode[commandResult](
		t,
		w.Do(t, contract.Request{
			Method: http.MethodPost, Path: executePath, Key: key, Workspace: other.String(), Body: createNode("x"),
		}),
		http.StatusCreated,
	)
	require.Equal(t, 1, *theirs.Sequence, "each workspace has a sequence of its own")
	for _, body := range []string{
		updateNode(a, `"name":"x"`), deleteNode(a), createEdge(a, theirs.Node.ID), createEdge(theirs.Node.ID, a),
		`{"type":"UPDATE_EDGE","payload":{"id":"` + edge + `","relationType":"x"}}`,
		`{"type":"DELETE_EDGE","payload":{"id":"` + edge + `"}}`,
	} {
		got := w.Do(t, contract.Request{
			Method: http.MethodPost, Path: executePath, Key: key, Workspace: other.String(), Body: body,
		})
		got.RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "", nil)
		require.NotContains(t, string(got.Body), a)
	}
	mine := w.mustExecute(t, createNode("b"))
	path := "/api/commands/" + mine.CommandID
	w.Do(t, contract.Request{
		Path: path, Key: key, Workspace: other.String(),
	}).RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "No such command", nil)
	same := decode[commandResult](
		t, w.Do(t, contract.Request{Method: http.MethodPost, Path: executePath, Key: key, Workspace: other.String(),
			Body: `{"type":"CREATE_NODE","payload":{"id":"` +
				a + `","name":"same id","entityType":"actor"}}`}), http.StatusCreated,
	)
	require.Equal(t, a, same.Node.ID, "ids are unique in a workspace")
	require.Equal(t, "a", w.readNode(t, a).Name)
}

func TestWritingRequiresTheScopeOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	nodes, edges, reads := w.newActorKey(t, request.WriteNodes), w.newActorKey(t, request.WriteEdges), w.newActorKey(
		t, request.ReadNodes, request.ReadEdges, request.WriteLiveData,
	)
	a := w.mustExecuteAs(t, nodes, createNode("a")).Node.ID
	edge := w.mustExecuteAs(t, edges, createEdge(a, a)).Edge.ID
	refused := func(key, body string, required ...any) {
		t.Helper()
		w.executeAs(t, key, body).RequireFailure(
			t, http.StatusForbidden, authorization, "Forbidden", map[string]any{"required": required},
		)
	}
	for _, body := range []string{createNode("b"), updateNode(a, `"name":"b"`), deleteNode(a)} {
		refused(edges, body, "write:nodes")
		refused(reads, body, "write:nodes", "write:edges")
	}
	for _, body := range []string{
		createEdge(a, a), `{"type":"UPDATE_EDGE","payload":{"id":"` + edge + `","relationType":"x"}}`,
		`{"type":"DELETE_EDGE","payload":{"id":"` + edge + `"}}`,
	} {
		refused(nodes, body, "write:edges")
	}
	refused(reads, `{"type":"FLY"`, "write:nodes", "write:edges") // before the body is read
	refused(edges, `{"type":"CREATE_NODE","payload":{"name":"","entityType":"object"}}`, "write:nodes")
	w.Do(t, contract.Request{
		Method: http.MethodPost, Path: batchPath, Key: nodes,
		Body: `{"commands":[` + createNode("b") + `,` + createEdge(a, a) + `]}`,
	}).
		RequireFailure(t, http.StatusForbidden, authorization, "Forbidden", map[string]any{"required": []any{"write:edges"}})

	refused(nodes, `{"type":"UNDO","payload":{"scope":"workspace"}}`, "write:edges") // it would undo the edge
	require.Equal(t, "CREATE_EDGE", w.mustExecuteAs(t, edges, `{"type":"UNDO"}`).Target.Type)
	require.Equal(t, "CREATE_NODE", w.mustExecuteAs(t, nodes, `{"type":"UNDO"}`).Target.Type)
	refused(reads, `{"type":"UNDO"}`, "write:nodes", "write:edges")
	for key, status := range map[string]int{nodes: 404, edges: 404, reads: 403} {
		require.Equal(t, status, w.Do(t, contract.Request{Path: "/api/commands/" + uuid.NewString(), Key: key}).Status)
	}
}

func TestTextsOfTheGraphComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	for _, text := range hostile {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		made := w.mustExecute(
			t,
			`{"type":"CREATE_NODE","payload":{"name":`+
				string(quoted)+
				`,"entityType":"concept","description":`+string(quoted)+`,"properties":{`+string(quoted)+`:`+string(quoted)+`}}}`,
		)
		got := w.readNode(t, made.Node.ID)
		require.Equal(t, []any{text, text, map[string]any{text: text}}, []any{got.Name, *got.Description, got.Properties})
		if len(text) <= 128 {
			edge := w.mustExecute(
				t,
				`{"type":"CREATE_EDGE","payload":{"sourceId":"`+
					got.ID+`","targetId":"`+got.ID+`","relationType":`+string(quoted)+`}}`,
			)
			require.Equal(t, text, w.readEdge(t, edge.Edge.ID).RelationType)
		}
	}
	a := w.mustExecute(t, createNode("caf\\u00e9"))
	b := w.mustExecute(t, createNode("cafe\\u0301"))
	require.NotEqual(t, a.Node.Name, b.Node.Name, "names are not normalised")
	odd := w.mustExecute(
		t,
		`{"type":"CREATE_NODE","payload":{"name":"a","entityType":"object","properties":{"":1,"a.b":{"":[]},
			"__proto__":{"x":true},"properties.a":"x","big":12345678901234567890,"small":1e-300}}}`,
	)
	require.Equal(t, odd.Node.Properties, w.readNode(t, odd.Node.ID).Properties)
}

func TestTheLimitsOfANodeAreExact(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	keys := &strings.Builder{}
	for i := range 256 {
		fmt.Fprintf(keys, `,"k%d":%d`, i, i)
	}
	deepest := strings.Repeat(`{"a":`, 7) + "{}" + strings.Repeat("}", 7)
	for _, members := range []string{
		`"name":"` + strings.Repeat("é", 512) + `"`, `"name":"a","description":"` + strings.Repeat("x", 64<<10) + `"`,
		`"name":"a","properties":{"a":"` + strings.Repeat("x", 32<<10-8) + `"}`,
		`"name":"a","properties":{` + keys.String()[1:] + `}`, `"name":"a","properties":` + deepest,
	} {
		made := w.mustExecute(t, `{"type":"CREATE_NODE","payload":{"entityType":"object",`+members+`}}`)
		require.Equal(t, made.Node, w.readNode(t, made.Node.ID))
	}
	id := w.newNode(t, "a")
	w.mustExecute(
		t,
		`{"type":"CREATE_EDGE","payload":{"sourceId":"`+
			id+`","targetId":"`+id+`","relationType":"`+strings.Repeat("é", 128)+`"}}`,
	)
	w.mustExecute(t, updateNode(id, `"properties":{"a":"`+strings.Repeat("x", 20<<10)+`"}`))
	w.execute(t, updateNode(id, `"properties":{"b":"`+strings.Repeat("x", 20<<10)+`"}`)).
		// together the properties are too large
		RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "payload.properties"})
	require.Equal(t, 2, w.readNode(t, id).Version)
}

func TestAKeyThatIsRolledKeepsItsActor(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	text, key := w.AddKey(t, access.NewKey{Mode: "live", Workspaces: []uuid.UUID{w.Workspace}}, request.Admin)
	made := w.mustExecuteAs(t, text, createNode("a"))
	rolled := apikey.Generate(apikey.Live)
	_, err := w.DB.RollKey(t.Context(), key.ID, rolled.Hash(), rolled.Display(), "test", time.Hour)
	require.NoError(t, err)
	undone := w.mustExecuteAs(t, rolled.Reveal(), `{"type":"UNDO"}`)
	require.Equal(t, made.CommandID, undone.Target.CommandID)
}
