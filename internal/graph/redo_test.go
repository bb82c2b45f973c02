package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
)

func TestRedoingIsBlockedByWhatOthersDidSinceTheUndo(t *testing.T) {
	for name, c := range map[string]struct {
		mine, theirs graph.Payload
		conflict     graph.Conflict
	}{
		"another value": {
			rename(1, "mine"), rename(1, "theirs"), graph.Conflict{Kind: "node", ID: nodeID(1), Field: "name"}},
		"a deleted node changed": {
			graph.DeleteNode{ID: nodeID(1)}, rename(1, "theirs"), graph.Conflict{Kind: "node", ID: nodeID(1), Field: "name"}},
		"an edge added to a deleted node": {
			graph.DeleteNode{ID: nodeID(1)}, edge(2, 1, 2), graph.Conflict{Kind: "edge", ID: edgeID(2)}},
		"an edge of a deleted node changed": {
			graph.DeleteNode{ID: nodeID(1)}, graph.UpdateEdge{ID: edgeID(1), Properties: []byte(`{"a":1}`)},
			graph.Conflict{Kind: "edge", ID: edgeID(1)}},
		"an edge of a deleted node deleted": {
			graph.DeleteNode{ID: nodeID(1)}, graph.DeleteEdge{ID: edgeID(1)}, graph.Conflict{Kind: "edge", ID: edgeID(1)}},
		"an edge without its end": {
			edge(2, 1, 2), graph.DeleteNode{ID: nodeID(2)}, graph.Conflict{Kind: "node", ID: nodeID(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.do(3, node(1))
			f.do(3, node(2))
			f.do(3, edge(1, 1, 1))
			f.do(1, c.mine)
			f.do(1, graph.Undo{})
			c.conflict.ByCommandID = f.do(2, c.theirs)
			require.Equal(t, []graph.Conflict{c.conflict}, f.blocked(1, graph.Redo{}))
			f.do(2, graph.Undo{})
			f.do(1, graph.Redo{})
		})
	}
}

func TestRedoingABatchNeedsOnlyTheEndsOfTheEdgesThatRemain(t *testing.T) {
	for name, c := range map[string]struct {
		last    graph.Payload // of the batch
		blocked bool
	}{
		"an edge that remains":                              {rename(1, "x"), true},
		"an edge that the batch deletes":                    {graph.DeleteEdge{ID: edgeID(1)}, false},
		"an edge that the batch deletes with its other end": {graph.DeleteNode{ID: nodeID(1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.do(3, node(1))
			end := f.do(3, node(2))
			batch := commandID(100)
			_, err := f.ApplyBatch(graph.Batch{
				ID: batch, Origin: graph.Origin{Actor: actorID(1), Scopes: []string{"admin"}},
				Actions: []graph.Action{{Payload: edge(1, 1, 2)}, {Payload: c.last}},
			})
			require.NoError(t, err)
			if c.blocked {
				f.do(1, graph.Undo{})
			}
			undone := graph.Undo{Pick: graph.Pick{CommandID: end}}
			f.do(3, undone)
			if !c.blocked {
				f.do(1, graph.Undo{})
				f.do(1, graph.Redo{})
				return
			}
			require.Equal(
				t, []graph.Conflict{{Kind: "node", ID: nodeID(2), ByCommandID: commandID(f.count)}}, f.blocked(1, graph.Redo{}),
			)
			require.True(t, f.Edges[edgeID(1)].Deleted)
			require.Equal(t, "n", f.Nodes[nodeID(1)].Name, "the steps before are rolled back")
		})
	}
}
