package graphjson_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/internal/graph"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

var (
	nodeID = uuid.MustParse("00000000-0000-7000-8000-00000000000a")
	edgeID = uuid.MustParse("00000000-0000-7000-8000-00000000000e")
	when   = time.Date(2026, 11, 21, 7, 40, 8, 290296000, time.UTC)
)

func ptr[T any](v T) *T { return &v }

func node() *graph.Node {
	return &graph.Node{ID: nodeID, Name: "pump", EntityType: graph.Object, Description: ptr("of water"),
		Properties: graph.Properties{"b": []byte(`[1,null]`), "a": []byte(`"x"`)},
		Lifecycle:  graph.Lifecycle{CreatedAt: when, UpdatedAt: when.Add(time.Second), Version: 2}}
}

func recordedNode() *eventsv1.Node {
	return &eventsv1.Node{Id: nodeID[:], Name: "pump", EntityType: "object", Description: ptr("of water"),
		Properties: []byte(`{"a":"x","b":[1,null]}`),
		Life: &eventsv1.Lifecycle{
			CreatedAtUs: when.UnixMicro(), UpdatedAtUs: when.Add(time.Second).UnixMicro(), Version: 2,
		}}
}

func text(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

func TestAResourceLooksTheSameWhereverItComesFrom(t *testing.T) {
	require.Equal(t, graphjson.OfNode(node()), *graphjson.RecordedNode(recordedNode()))

	life := graph.Lifecycle{CreatedAt: when, UpdatedAt: when, Version: 1, Deleted: true}
	edge := &graph.Edge{ID: edgeID, SourceID: nodeID, TargetID: nodeID, RelationType: "feeds", Lifecycle: life}
	recorded := &eventsv1.Edge{Id: edgeID[:], SourceId: nodeID[:], TargetId: nodeID[:], RelationType: "feeds",
		Life: &eventsv1.Lifecycle{CreatedAtUs: when.UnixMicro(), UpdatedAtUs: when.UnixMicro(), Version: 1, Deleted: true}}
	require.Equal(t, graphjson.OfEdge(edge), *graphjson.RecordedEdge(recorded))
	require.JSONEq(t, `{"id":"00000000-0000-7000-8000-00000000000e","sourceId":"00000000-0000-7000-8000-00000000000a",
		"targetId":"00000000-0000-7000-8000-00000000000a","relationType":"feeds","properties":{},
		"createdAt":"2026-11-21T07:40:08.290296Z","updatedAt":"2026-11-21T07:40:08.290296Z","version":1,"deleted":true}`,
		text(t, graphjson.OfEdge(edge)))
}

func TestACommandsAnswerHasWhatItsBatchHasAsAWhole(t *testing.T) {
	batch, own := uuid.New(), uuid.New()
	outcome := &eventsv1.Outcome{Id: batch[:], UndoDepth: 3, RedoDepth: 1, Sequence: 7, Results: []*eventsv1.Result{
		{Type: "CREATE_NODE", Resource: &eventsv1.Result_Node{Node: recordedNode()},
			Affected: &eventsv1.Affected{NodeIds: [][]byte{nodeID[:]}, Nodes: 1}},
		{Type: "UPDATE_NODE", CommandId: own[:], UndoDepth: 4, Resource: &eventsv1.Result_Node{Node: recordedNode()}},
	}}
	atomic := graphjson.OfResult(outcome, 0)
	require.Equal(t, batch, atomic.CommandID)
	require.Equal(t, []any{int32(3), int32(1), int64(7)}, []any{atomic.UndoDepth, atomic.RedoDepth, *atomic.Sequence})
	require.Equal(t, []uuid.UUID{nodeID}, atomic.Affected.Nodes)
	require.Equal(t, "pump", atomic.Node.Name)

	separate := graphjson.OfResult(outcome, 1)
	require.Equal(t, own, separate.CommandID)
	require.Nil(t, separate.Sequence, "it changed nothing")
	require.Equal(t, []any{int32(4), int32(0)}, []any{separate.UndoDepth, separate.RedoDepth})
	require.Contains(t, text(t, separate), `"affected":{"nodes":[],"edges":[],"counts":{"nodes":0,"edges":0}}`)
}

func TestAChangeShowsOneResourceAloneAndSeveralAsSteps(t *testing.T) {
	command := uuid.New()
	step := &eventsv1.Step{Type: "DELETE_NODE", After: &eventsv1.Step_Node{Node: recordedNode()},
		Cascade: &eventsv1.Cascade{Restored: true, Count: 5000, EdgeIds: [][]byte{edgeID[:]}}}
	change := &eventsv1.Change{
		Sequence: 4, CommandId: command[:], Type: "UNDO", AtUs: when.UnixMicro(), RequestId: "req_1",
		Target: &eventsv1.Target{CommandId: command[:], Type: "DELETE_NODE"}, Steps: []*eventsv1.Step{step},
	}
	one := graphjson.OfChange(change)
	require.Empty(t, one.Steps)
	require.Equal(t, "pump", one.Node.Name)
	require.Equal(t, &graphjson.Cascade{Restored: true, Count: 5000, Edges: []uuid.UUID{edgeID}}, one.Cascade)
	require.Equal(t, &graphjson.Target{CommandID: command, Type: "DELETE_NODE"}, one.Target)
	require.Equal(t, when, one.At)

	change.Steps = append(change.Steps, step)
	several := graphjson.OfChange(change)
	require.Nil(t, several.Node)
	require.Len(t, several.Steps, 2)
	require.Equal(t, "DELETE_NODE", several.Steps[1].Type)
}

func ExampleOfNode() {
	raw, _ := json.Marshal(graphjson.OfNode(node()), jsontext.WithIndent("  "))
	fmt.Println(string(raw))
	// Output:
	// {
	//   "id": "00000000-0000-7000-8000-00000000000a",
	//   "name": "pump",
	//   "entityType": "object",
	//   "description": "of water",
	//   "properties": {
	//     "a": "x",
	//     "b": [
	//       1,
	//       null
	//     ]
	//   },
	//   "createdAt": "2026-11-21T07:40:08.290296Z",
	//   "updatedAt": "2026-11-21T07:40:09.290296Z",
	//   "version": 2
	// }
}
