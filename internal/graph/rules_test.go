package graph_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// fixture applies the commands of actors in order.
type fixture struct {
	t *testing.T
	*memory
	count int
}

func newFixture(t *testing.T) *fixture { return &fixture{t: t, memory: graphtest.NewMemory()} }

func (f *fixture) try(actor int, p graph.Payload) (graph.Outcome, error) {
	f.count++
	return f.Apply(graph.Command{
		ID: commandID(f.count), Origin: graph.Origin{Actor: actorID(actor), Scopes: []string{"admin"}},
		Action: graph.Action{Payload: p}})
}

// do applies a command, which must succeed, and returns its id.
func (f *fixture) do(actor int, p graph.Payload) uuid.UUID {
	_, err := f.try(actor, p)
	require.NoError(f.t, err)
	return commandID(f.count)
}

func (f *fixture) blocked(actor int, p graph.Payload) []graph.Conflict {
	_, err := f.try(actor, p)
	require.Equal(f.t, "undo_blocked", reason(err))
	return publicError(f.t, err).Details["conflicts"].([]graph.Conflict)
}

// publicError returns the public part of an error.
func publicError(t *testing.T, err error) *fault.Error {
	var faultErr *fault.Error
	require.ErrorAs(t, err, &faultErr)
	return faultErr
}

func node(n int) graph.CreateNode {
	return graph.CreateNode{ID: nodeID(n), Name: "n", EntityType: graph.Concept}
}

func edge(n, source, target int) graph.CreateEdge {
	return graph.CreateEdge{ID: edgeID(n), SourceID: nodeID(source), TargetID: nodeID(target), RelationType: "r"}
}

func rename(n int, name string) graph.UpdateNode { return graph.UpdateNode{ID: nodeID(n), Name: &name} }

func TestABlockedUndoNamesTheFieldAndTheCommandThatWroteIt(t *testing.T) {
	f := newFixture(t)
	f.do(1, node(1))
	f.do(1, rename(1, "mine"))
	theirs := f.do(2, rename(1, "theirs"))
	require.Equal(
		t, []graph.Conflict{{Kind: "node", ID: nodeID(1), Field: "name", ByCommandID: theirs}}, f.blocked(1, graph.Undo{}),
	)
	f.do(2, graph.Undo{})
	f.do(1, graph.Undo{})
	require.Equal(t, "n", f.Nodes[nodeID(1)].Name)
}

func TestUndoingACreationNamesTheEdgesThatOthersAdded(t *testing.T) {
	f := newFixture(t)
	f.do(1, node(1))
	theirs := f.do(2, edge(1, 1, 1))
	require.Equal(t, []graph.Conflict{{Kind: "edge", ID: edgeID(1), ByCommandID: theirs}}, f.blocked(1, graph.Undo{}))
}

func TestUndoingADeletionNamesTheEdgesWhoseOtherEndIsGone(t *testing.T) {
	f := newFixture(t)
	f.do(1, node(1))
	f.do(1, node(2))
	f.do(1, edge(1, 1, 2))
	f.do(1, graph.DeleteNode{ID: nodeID(1)})
	theirs := f.do(2, graph.DeleteNode{ID: nodeID(2)})
	require.Equal(t, []graph.Conflict{{Kind: "edge", ID: edgeID(1), ByCommandID: theirs}}, f.blocked(1, graph.Undo{}))
	f.do(1, graph.Undo{Pick: graph.Pick{CommandID: theirs}})
	f.do(1, graph.Undo{})
	require.False(t, f.Edges[edgeID(1)].Deleted)
	require.EqualValues(t, 3, f.Edges[edgeID(1)].Version, "made, taken, returned")
}

func TestRedoingADeletionIsBlockedByAnEdgeThatAnotherDeletionTook(t *testing.T) {
	f := newFixture(t)
	f.do(1, node(1))
	f.do(1, node(2))
	f.do(1, edge(1, 1, 2))
	f.do(1, graph.DeleteNode{ID: nodeID(1)})
	f.do(1, graph.Undo{})
	theirs := f.do(2, graph.DeleteNode{ID: nodeID(2)})
	require.Equal(t, []graph.Conflict{{Kind: "edge", ID: edgeID(1), ByCommandID: theirs}}, f.blocked(1, graph.Redo{}))
}

// Several deletions that deleted the same edge and were undone can each be redone,
// whichever deleted the edge last.
func TestADeletionIsRedoneAfterAnotherOfTheSameEdgeCameAndWasUndone(t *testing.T) {
	for name, theirs := range map[string]int{"of the other end": 2, "of the same node": 1} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.do(3, node(1))
			f.do(3, node(2))
			f.do(3, edge(1, 1, 2))
			f.do(1, graph.DeleteNode{ID: nodeID(1)})
			f.do(1, graph.Undo{})
			f.do(2, graph.DeleteNode{ID: nodeID(theirs)})
			f.do(2, graph.Undo{})
			f.do(1, graph.Redo{})
			require.True(t, f.Edges[edgeID(1)].Deleted)
			f.do(1, graph.Undo{})
			f.do(2, graph.Redo{})
			f.do(2, graph.Undo{})
			require.False(t, f.Edges[edgeID(1)].Deleted)
		})
	}
}

func TestADeletionIsNotRedoneWhereAnEdgeCameBackThatItDidNotTake(t *testing.T) {
	f := newFixture(t)
	f.do(3, node(1))
	f.do(3, node(2))
	f.do(3, edge(1, 1, 2))
	theirs := f.do(2, graph.DeleteEdge{ID: edgeID(1)})
	f.do(1, graph.DeleteNode{ID: nodeID(1)})
	f.do(1, graph.Undo{})
	f.do(2, graph.Undo{Pick: graph.Pick{CommandID: theirs}})
	returned := commandID(f.count)
	require.Equal(t, []graph.Conflict{{Kind: "edge", ID: edgeID(1), ByCommandID: returned}}, f.blocked(1, graph.Redo{}))
}

func TestTheUndoStackIsAHundredDeep(t *testing.T) {
	f := newFixture(t)
	first := f.do(1, node(0))
	for i := range 100 {
		f.do(1, rename(0, strings.Repeat("x", i+1)))
	}
	_, err := f.try(1, graph.Undo{Pick: graph.Pick{CommandID: first}})
	require.Equal(t, "nothing_to_undo", reason(err))
	for range 100 {
		f.do(1, graph.Undo{})
	}
	require.Equal(t, "n", f.Nodes[nodeID(0)].Name)
	undo, redo, _ := f.Depths(actorID(1))
	require.Equal(t, []int{1, 100}, []int{undo, redo})
	f.do(1, graph.Undo{Pick: graph.Pick{CommandID: first}})
	undo, redo, _ = f.Depths(actorID(1))
	require.Equal(t, []int{0, 100}, []int{undo, redo}, "of what is undone the last hundred")
	_, err = f.try(1, graph.Undo{})
	require.Equal(t, "nothing_to_undo", reason(err))
}

func TestAVersionThatIsNotTheExpectedOneIsRefused(t *testing.T) {
	f := newFixture(t)
	f.do(1, node(1))
	expected, name := int64(2), "x"
	update := graph.Action{Payload: graph.UpdateNode{ID: nodeID(1), Name: &name}, ExpectedVersion: &expected}
	command := graph.Command{Origin: graph.Origin{Scopes: []string{"write:nodes"}}, Action: update}
	_, err := f.Apply(command)
	require.Equal(t, map[string]any{"expectedVersion": int64(2), "actualVersion": int64(1)}, publicError(t, err).Details)
	require.Equal(t, "Version mismatch", publicError(t, err).Message)
	expected = 1
	_, err = f.Apply(command)
	require.NoError(t, err)
}

func TestTheScopesDecideWhatACommandMayTouch(t *testing.T) {
	f := newFixture(t)
	f.do(1, node(1))
	for _, c := range []struct {
		scope    string
		payload  graph.Payload
		required string
	}{
		{"write:edges", node(2), "write:nodes"},
		{"write:nodes", edge(1, 1, 1), "write:edges"},
		{"write:edges", graph.Undo{}, "write:nodes"},
	} {
		_, err := f.Apply(graph.Command{
			Origin: graph.Origin{Actor: actorID(1), Scopes: []string{c.scope}}, Action: graph.Action{Payload: c.payload},
		})
		require.True(t, fault.Is(err, fault.Forbidden), "%v", err)
		require.Equal(t, []string{c.required}, publicError(t, err).Details["required"])
	}
}

func TestABatchThatFailsChangesNothingAndReportsTheIndex(t *testing.T) {
	f := newFixture(t)
	batch := graph.Batch{
		Origin:  graph.Origin{Scopes: []string{"admin"}},
		Actions: []graph.Action{{Payload: node(1)}, {Payload: edge(1, 1, 2)}},
	}
	_, err := f.ApplyBatch(batch)
	require.Equal(t, map[string]any{"field": "commands[1].payload.targetId", "index": 1}, publicError(t, err).Details)
	require.Empty(t, f.Nodes)
	for _, c := range []struct {
		payload graph.Payload
		field   string
	}{
		{graph.Undo{}, "commands[1].type"},
		{graph.CreateNode{Name: "x\n", EntityType: graph.Concept}, "commands[1].payload.name"},
	} {
		batch.Actions[1] = graph.Action{Payload: c.payload}
		_, err := f.ApplyBatch(batch)
		require.Equal(t, c.field, publicError(t, err).Details["field"])
		require.Contains(t, err.Error(), c.field)
	}
}

func TestValuesBeyondTheirLimitsAreRefusedByName(t *testing.T) {
	long, zero := strings.Repeat("é", 513), int64(0)
	description := strings.Repeat("x", graph.MaxDescription+1)
	for _, c := range []struct {
		field  string
		action graph.Action
	}{
		{"payload.name", graph.Action{Payload: graph.CreateNode{Name: "", EntityType: graph.Concept}}},
		{"payload.name", graph.Action{Payload: graph.CreateNode{Name: long, EntityType: graph.Concept}}},
		{"payload.entityType", graph.Action{Payload: graph.CreateNode{Name: "x", EntityType: "person"}}},
		{"payload.description", graph.Action{Payload: graph.CreateNode{
			Name: "x", EntityType: graph.Concept, Description: &description,
		}}},
		{"payload.properties", graph.Action{Payload: graph.UpdateNode{Properties: []byte(`{"a":"\u0000"}`)}}},
		{"payload", graph.Action{Payload: graph.UpdateNode{}}},
		{"payload.relationType", graph.Action{Payload: graph.CreateEdge{RelationType: strings.Repeat("x", 129)}}},
		{"payload.scope", graph.Action{Payload: graph.Undo{Pick: graph.Pick{Workspace: true, CommandID: uuid.Max}}}},
		{"expectedVersion", graph.Action{Payload: graph.DeleteNode{}, ExpectedVersion: &zero}},
		{"expectedVersion", graph.Action{Payload: node(1), ExpectedVersion: &zero}},
	} {
		err := c.action.Validate()
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", c.field, err)
		require.Equal(t, c.field, publicError(t, err).Details["field"])
	}
}

func TestStampsOfPropertiesThatAreGoneAreBounded(t *testing.T) {
	f := newFixture(t)
	f.do(1, node(1))
	key := func(i int) string { return strings.Repeat("k", i%40) + string(rune('0'+i/40)) }
	for i := range graph.MaxStamps + 200 {
		f.do(1, graph.UpdateNode{ID: nodeID(1), Properties: jsontext.Value(`{"` + key(i) + `":1}`)})
		f.do(1, graph.UpdateNode{ID: nodeID(1), Properties: jsontext.Value(`{"` + key(i) + `":null}`)})
	}
	require.LessOrEqual(t, len(f.Nodes[nodeID(1)].Stamps), graph.MaxStamps)
	for range graph.StackDepth {
		f.do(1, graph.Undo{})
	}
	for range graph.StackDepth {
		f.do(1, graph.Redo{})
	}
	require.Nil(t, f.Nodes[nodeID(1)].Properties)
}
