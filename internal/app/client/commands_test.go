package client

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

var pump = uuid.MustParse("00000000-0000-7000-8000-00000000000a")

func TestACommandIsOneIdempotentRequestHoweverOftenItIsTried(t *testing.T) {
	keys := map[string]int{}
	var calls atomic.Int32
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		keys[r.Header.Get("Idempotency-Key")]++
		require.Equal(t, "wait=30", r.Header.Get("Prefer"))
		body, _ := io.ReadAll(r.Body)
		switch calls.Add(1) {
		case 1: // the command is accepted, and its outcome is not known yet
			answerError(w, 504, "INTERNAL_ERROR")
		case 2: // still the same
			w.Header().Set("Retry-After", "0")
			answerError(w, 409, "CONFLICT")
		case 3:
			if r.URL.Path != "/api/commands/execute" {
				answerError(w, 404, "NOT_FOUND")
				return
			}
			require.JSONEq(t, `{"type":"CREATE_NODE","payload":{"id":"00000000-0000-7000-8000-00000000000a","name":"pump",
				"entityType":"object","properties":{"power":5}}}`, string(body))
			answerOK(w, 201, `{"commandId":"00000000-0000-7000-8000-000000000001","type":"CREATE_NODE","status":"applied",
				"node":{"id":"00000000-0000-7000-8000-00000000000a","name":"pump","entityType":"object","description":null,
				"properties":{"power":5},"createdAt":"2026-11-21T07:40:08.290296Z",
				"updatedAt":"2026-11-21T07:40:08.290296Z","version":1},
				"affected":{"nodes":["00000000-0000-7000-8000-00000000000a"],"edges":[],"counts":{"nodes":1,"edges":0}},
				"undoDepth":1,"redoDepth":0,"sequence":7}`)
		}
	})
	command := Command{Type: CreateNode, Payload: NewNode{
		ID: pump, Name: "pump", EntityType: "object", Properties: Properties{"power": jsontext.Value("5")},
	}}
	_, err := c.Execute(t.Context(), command)
	require.Equal(t, fault.Conflict, fault.KindOf(err), "a conflict without Retry-After is final")
	require.Len(t, keys, 1)

	applied, err := c.Execute(t.Context(), command)
	require.NoError(t, err)
	require.Len(t, keys, 2, "another command, another key")
	require.NotContains(t, keys, "")
	require.Equal(t, pump, applied.Node.ID)
	require.EqualValues(t, 7, applied.Sequence)
}

func TestACommandThatIsStillBeingWorkedOnIsAskedForAgain(t *testing.T) {
	var calls atomic.Int32
	c := newTestClient(t, quick, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			answerError(w, 409, "CONFLICT")
			return
		}
		answerOK(w, 200, `{"type":"DELETE_NODE","sequence":null}`)
	})
	applied, err := c.Execute(t.Context(), Command{Type: DeleteNode, Payload: Resource{pump}})
	require.NoError(t, err)
	require.Zero(t, applied.Sequence)
	require.EqualValues(t, 2, calls.Load())
}

func TestABatchHasAResultForEachCommand(t *testing.T) {
	results := `{"index":0,"status":"applied","data":{"type":"CREATE_NODE","sequence":3}},
		{"index":1,"status":"failed","error":{"code":"CONFLICT","message":"taken","details":{"reason":"already_exists"}}}`
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		require.JSONEq(
			t, `{"atomic":false,"commands":[{"type":"DELETE_EDGE","payload":{"id":"00000000-0000-7000-8000-00000000000a"}},
			{"type":"UNDO"}]}`, string(body),
		)
		answerOK(w, 200, `{"batchId":"00000000-0000-7000-8000-000000000009","results":[`+results+`]}`)
	})
	commands := []Command{{Type: DeleteEdge, Payload: Resource{pump}}, {Type: "UNDO"}}
	answer, err := c.Batch(t.Context(), commands, false)
	require.NoError(t, err)
	require.EqualValues(t, 3, answer.Results[0].Sequence)
	require.NoError(t, answer.Results[0].Err)
	require.Equal(t, fault.Conflict, fault.KindOf(answer.Results[1].Err))
	var fe *fault.Error
	require.ErrorAs(t, answer.Results[1].Err, &fe)
	require.Equal(t, "already_exists", fe.Details["reason"])
	for code, kind := range map[string]fault.Kind{
		"VALIDATION_ERROR": fault.Invalid, "AUTHORIZATION_ERROR": fault.Forbidden, "NOT_FOUND": fault.NotFound,
		"INTERNAL_ERROR": fault.Internal,
	} {
		require.Equal(t, kind, fault.KindOf(apiError{Code: code}.toFault(statusOf(code))))
	}

	results = `{"index":0,"status":"applied"}`
	_, err = c.Batch(t.Context(), commands, false)
	require.Equal(t, fault.BadGateway, fault.KindOf(err), "an answer that omits a command is invalid")
}

func TestWhatBecameOfACommandCanBeAsked(t *testing.T) {
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		answerOK(w, 200, fmt.Sprintf(`{"commandId":%q,"status":"pending"}`, r.URL.Path[len("/api/commands/"):]))
	})
	state, err := c.CommandByID(t.Context(), pump)
	require.NoError(t, err)
	require.Equal(t, CommandState{CommandID: pump, Status: "pending"}, state)
}

func TestListsAreReadToTheirEndByCursor(t *testing.T) {
	var queries []url.Values
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		queries = append(queries, query)
		cursor, node := `"next"`, "00000000-0000-7000-8000-000000000001"
		if query.Get("cursor") == "next" {
			cursor, node = "null", "00000000-0000-7000-8000-000000000002"
		}
		_, _ = fmt.Fprintf(
			w, `{"success":true,"data":[{"id":%q,"name":"n","entityType":"object","description":null,"properties":{"a":[1]},
			"version":2}],"meta":{"total":2,"limit":100,"offset":0,"hasMore":true,"nextCursor":%s}}`, node, cursor,
		)
	})
	var ids []string
	filter := Filter{
		IDs: []uuid.UUID{pump, uuid.Nil}, EntityType: "object", Relation: "r", Properties: map[string]string{"a.b": "c d"},
	}
	require.NoError(t, c.EachNode(t.Context(), filter, func(n Node) error {
		require.Equal(t, Properties{"a": jsontext.Value("[1]")}, n.Properties)
		ids = append(ids, n.ID.String())
		return nil
	}))
	require.Equal(t, []string{"00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"}, ids)
	require.Equal(t, url.Values{
		"limit": {"100"}, "ids": {pump.String() + "," + uuid.Nil.String()}, "property.a.b": {"c d"},
		"entityType": {"object"}, "relationType": {"r"},
	}, queries[0])
	require.Len(t, queries, 2)

	stopped := fmt.Errorf("enough")
	require.ErrorIs(t, c.EachEdge(t.Context(), Filter{}, func(Edge) error { return stopped }), stopped)
}

func TestOneResourceIsReadByItsID(t *testing.T) {
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/queries/nodes/" + pump.String():
			answerOK(w, 200, `{"id":"`+pump.String()+`","name":"pump","version":4}`)
		case "/api/queries/nodes/" + pump.String() + "/neighbors":
			require.Equal(t, "2", r.URL.Query().Get("depth"))
			answerOK(w, 200, `[{"node":{"name":"valve"},"depth":2,"edges":[{"relationType":"feeds"}]}]`)
		default:
			answerError(w, 404, "NOT_FOUND")
		}
	})
	node, err := c.Node(t.Context(), pump)
	require.NoError(t, err)
	require.Equal(t, "pump", node.Name)
	_, err = c.Edge(t.Context(), pump)
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	neighbors, err := c.Neighbors(t.Context(), pump, 2)
	require.NoError(t, err)
	require.Equal(t, "valve", neighbors[0].Node.Name)
	require.Equal(t, "feeds", neighbors[0].Edges[0].RelationType)
}

func TestASourceIsLinkedToANode(t *testing.T) {
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPatch || r.URL.Path != "/api/live-data/sources/s1" ||
			string(body) != `{"nodeId":"`+pump.String()+`"}` {
			answerError(w, 400, "VALIDATION_ERROR")
			return
		}
		answerOK(w, 200, `{"id":"s1","nodeId":"`+pump.String()+`"}`)
	})
	require.NoError(t, c.LinkSource(t.Context(), "s1", pump.String()))
}
