package graph_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
)

// timeless is a state without what undo and redo may change.
func timeless(s *memory) (map[uuid.UUID]graph.Node, map[uuid.UUID]graph.Edge) {
	nodes, edges := map[uuid.UUID]graph.Node{}, map[uuid.UUID]graph.Edge{}
	forget := func(l *graph.Lifecycle) { l.Version, l.ChangedBy, l.UpdatedAt = 0, 0, time.Time{} }
	for id, n := range s.Nodes {
		copied := *n
		forget(&copied.Lifecycle)
		nodes[id] = copied
	}
	for id, e := range s.Edges {
		copied := *e
		forget(&copied.Lifecycle)
		edges[id] = copied
	}
	return nodes, edges
}

func TestManyUndosAndAsManyRedosAreTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range h.steps() {
			h.step()
		}
		_, depth, _ := h.state.Depths(uuid.Nil)
		for range depth { // what is left to redo would be redone among the undone
			if _, err := h.state.Apply(graph.Command{Origin: h.origin(0), Action: graph.Action{Payload: graph.Redo{
				Pick: graph.Pick{Workspace: true},
			}}}); err != nil {
				return
			}
		}
		count, _, _ := h.state.Depths(uuid.Nil)
		count = rapid.IntRange(0, count).Draw(t, "undos")
		type moment struct {
			nodes map[uuid.UUID]graph.Node
			edges map[uuid.UUID]graph.Edge
		}
		var path []moment
		run := func(p graph.Payload) error {
			_, err := h.state.Apply(graph.Command{Origin: h.origin(0), Action: graph.Action{Payload: p}})
			return err
		}
		for range count {
			nodes, edges := timeless(h.state)
			// An older command that was redone, or a named one that was undone, may stand
			// in the way of a newer one: then that many undos is what there is.
			if err := run(graph.Undo{Pick: graph.Pick{Workspace: true}}); err != nil {
				require.Equal(t, "undo_blocked", reason(err))
				break
			}
			path = append(path, moment{nodes, edges})
		}
		for i := range path {
			require.NoError(t, run(graph.Redo{Pick: graph.Pick{Workspace: true}}))
			nodes, edges := timeless(h.state)
			require.Equal(t, path[len(path)-1-i].nodes, nodes)
			require.Equal(t, path[len(path)-1-i].edges, edges)
		}
	})
}
