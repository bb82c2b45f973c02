package load

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
)

func TestAnUndoOfWhatWasNotDueIsSeen(t *testing.T) {
	mine, other := uuid.New(), uuid.New()
	s := &undoOrder{}
	sequence := graph.Sequence(0)
	does := func(actor uuid.UUID, kind graph.Type, target graph.Sequence) []Violation {
		sequence++
		c := &graph.Change{Sequence: sequence, Actor: actor, Type: kind}
		if target != 0 {
			c.Target = &graph.Target{Sequence: target}
		}
		return s.follow(c, nil)
	}
	require.Empty(t, does(mine, graph.TypeCreateNode, 0))  // 1
	require.Empty(t, does(mine, graph.TypeUpdateNode, 0))  // 2
	require.Empty(t, does(other, graph.TypeUpdateNode, 0)) // 3
	require.Empty(t, does(mine, graph.TypeUndo, 2))
	require.Empty(t, does(mine, graph.TypeRedo, 2))
	require.Empty(t, does(mine, graph.TypeUndo, 3), "anybody's, if the workspace's turn is meant")
	require.Empty(t, does(mine, graph.TypeUndo, 2))
	requireFound(t, does(mine, graph.TypeUndo, 2), 8, "turn")
	requireFound(t, does(other, graph.TypeRedo, 1), 8, "turn")
}

func TestStacksThatLoseCommandsAreDetected(t *testing.T) {
	actor := uuid.New()
	s := &undoOrder{}
	sequence := graph.Sequence(0)
	does := func(target graph.Sequence, answered *depths) []Violation {
		sequence++
		c := &graph.Change{Sequence: sequence, Actor: actor, Type: graph.TypeCreateNode}
		if target != 0 {
			c.Type, c.Target = graph.TypeUndo, &graph.Target{Sequence: target}
		}
		return s.follow(c, answered)
	}
	require.Empty(t, does(0, &depths{undo: 1}))
	for range 150 {
		require.Empty(t, does(0, &depths{undo: 2}))
		require.Empty(t, does(sequence, &depths{undo: 1, redo: 1}))
	}
	requireFound(t, append(does(0, nil), does(sequence, &depths{redo: 1})...), 17, "another number")
	require.Empty(t, does(1, &depths{redo: 2}), "the first still stands")
}
