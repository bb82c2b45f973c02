package graph_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

func TestWhatAChangeAffectedIsListedOnceAndCounted(t *testing.T) {
	node := func(n int) graph.Step { return graph.Step{Node: &graph.Node{ID: nodeID(n)}} }
	edge := func(n int) graph.Step { return graph.Step{Edge: &graph.Edge{ID: edgeID(n)}} }
	deletion := node(1)
	deletion.Cascade = &graph.Cascade{Count: 100_000, Edges: []uuid.UUID{edgeID(1), edgeID(2)}}
	c := graph.Change{Steps: []graph.Step{node(1), edge(1), node(1), node(2), edge(1), deletion}}
	require.Equal(t, graph.Affected{
		Nodes: []uuid.UUID{nodeID(1), nodeID(2)}, NodeCount: 2,
		Edges: []uuid.UUID{edgeID(1), edgeID(2)}, EdgeCount: 100_000,
	}, c.Affected())
	require.Equal(t, graph.Affected{}, graph.AffectedBy(nil))
}

func TestAtMostAThousandAffectedAreListed(t *testing.T) {
	var steps []graph.Step
	for range graph.MaxListed + 5 {
		steps = append(steps, graph.Step{Node: &graph.Node{ID: uuid.New()}})
	}
	a := graph.AffectedBy(steps)
	require.Len(t, a.Nodes, graph.MaxListed)
	require.Equal(t, int64(graph.MaxListed+5), a.NodeCount)
}

// Apply evaluates a command against a State. The result is a Change, which the owner of
// the state appends to the journal.
func ExampleApply() {
	state := graphtest.NewMemory()
	apply := func(sequence graph.Sequence, p graph.Payload) {
		command := graph.Command{ID: uuid.UUID{1}, Action: graph.Action{Payload: p}}
		command.Scopes = []string{"write:nodes"}
		outcome, err := graph.Apply(state, command, sequence, state.Now())
		if err != nil {
			fmt.Println(err)
			return
		}
		state.Record(outcome.Change)
		node := outcome.Change.Steps[0].Node
		fmt.Println(outcome.Change.Type, node.Name, node.Version, node.Deleted)
	}
	id := uuid.UUID{2}
	name := "reactor"
	apply(1, graph.CreateNode{ID: id, Name: "pump", EntityType: graph.Object})
	apply(2, graph.UpdateNode{ID: id, Name: &name})
	apply(3, graph.Undo{})
	apply(4, graph.DeleteNode{ID: id})
	apply(5, graph.UpdateNode{ID: id, Name: &name})
	// Output:
	// CREATE_NODE pump 1 false
	// UPDATE_NODE reactor 2 false
	// UNDO pump 3 false
	// DELETE_NODE pump 4 true
	// Node not found
}
