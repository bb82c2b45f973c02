package graph_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

func TestACommandInEffectCanBeUndoneAfterManyNewerOnesWereUndone(t *testing.T) {
	f := newFixture(t)
	first := f.do(1, node(0))
	for i := range 2 * graph.StackDepth {
		f.do(1, graph.CreateNode{ID: uuid.UUID{0: 9, 1: byte(i)}, Name: "n", EntityType: graph.Concept})
		f.do(1, graph.Undo{})
	}
	outcome, err := f.try(1, graph.Undo{})
	require.NoError(t, err)
	require.Equal(t, first, outcome.Change.Target.CommandID)
}

func TestStacksMatchTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := graphtest.NewMemory()
		b := &graphtest.Bursts{
			Actors: []uuid.UUID{actorID(1), actorID(2), actorID(3)},
			Roll:   func(n int) int { return (&history{t: t}).roll(n, "roll") },
			Apply:  m.Apply,
			Depths: m.Depths,
		}
		for range 25 - min(24, rapid.IntRange(0, 50).Draw(t, "fewer")) {
			require.NoError(t, b.Burst())
		}
	})
}
