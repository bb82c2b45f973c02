package graph_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
)

// withoutVersions returns the resources of a state without the fields that differ after
// an undo and a redo.
func withoutVersions(s *memory) (map[uuid.UUID]graph.Node, map[uuid.UUID]graph.Edge) {
	nodes, edges := map[uuid.UUID]graph.Node{}, map[uuid.UUID]graph.Edge{}
	clearVersion := func(l *graph.Lifecycle) { l.Version, l.ChangedBy, l.UpdatedAt = 0, 0, time.Time{} }
	for id, n := range s.Nodes {
		clone := *n
		clearVersion(&clone.Lifecycle)
		nodes[id] = clone
	}
	for id, e := range s.Edges {
		clone := *e
		clearVersion(&clone.Lifecycle)
		edges[id] = clone
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
		for range depth { // empty the redo stack: its commands would mix with those that are undone below
			if _, err := h.state.Apply(graph.Command{Origin: h.origin(0), Action: graph.Action{Payload: graph.Redo{
				Pick: graph.Pick{Workspace: true},
			}}}); err != nil {
				return
			}
		}
		count, _, _ := h.state.Depths(uuid.Nil)
		count = rapid.IntRange(0, count).Draw(t, "undos")
		type stateCopy struct {
			nodes map[uuid.UUID]graph.Node
			edges map[uuid.UUID]graph.Edge
		}
		var path []stateCopy
		run := func(p graph.Payload) error {
			_, err := h.state.Apply(graph.Command{Origin: h.origin(0), Action: graph.Action{Payload: p}})
			return err
		}
		for range count {
			nodes, edges := withoutVersions(h.state)
			// An older command that was redone, or a named one that was undone, may block the
			// undo of a newer one. The path then ends here.
			if err := run(graph.Undo{Pick: graph.Pick{Workspace: true}}); err != nil {
				require.Equal(t, "undo_blocked", reason(err))
				break
			}
			path = append(path, stateCopy{nodes, edges})
		}
		for i := range path {
			require.NoError(t, run(graph.Redo{Pick: graph.Pick{Workspace: true}}))
			nodes, edges := withoutVersions(h.state)
			require.Equal(t, path[len(path)-1-i].nodes, nodes)
			require.Equal(t, path[len(path)-1-i].edges, edges)
		}
	})
}
