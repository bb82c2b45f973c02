package load

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

// TestAnEdgeCreatedAndDeletedWithItsNodeInOneChangeIsOneVersionFurther applies an undo that touches
// an edge twice: it restores the edge with its node and then undoes its creation.
func TestAnEdgeCreatedAndDeletedWithItsNodeInOneChangeIsOneVersionFurther(t *testing.T) {
	model, a, b := graphtest.NewMemory(), uuid.New(), uuid.New()
	origin := graph.Origin{Actor: ann, Scopes: []string{"admin"}, AcceptedAt: time.Now()}
	var actions []graph.Action
	for _, payload := range []graph.Payload{
		graph.CreateNode{ID: a, Name: "a", EntityType: graph.Object},
		graph.CreateNode{ID: b, Name: "b", EntityType: graph.Object},
		graph.CreateEdge{ID: uuid.New(), SourceID: a, TargetID: b, RelationType: "feeds"}, graph.DeleteNode{ID: a},
	} {
		actions = append(actions, graph.Action{Payload: payload})
	}
	_, err := model.ApplyBatch(graph.Batch{ID: uuid.New(), Origin: origin, Actions: actions})
	require.NoError(t, err)
	for _, payload := range []graph.Payload{graph.Undo{}, graph.Redo{}, graph.Undo{}} {
		_, err := model.Apply(graph.Command{ID: uuid.New(), Origin: origin, Action: graph.Action{Payload: payload}})
		require.NoError(t, err)
	}
	var journal []journalRow
	for _, c := range model.Journal {
		journal = append(journal, journalRow{int64(c.Sequence), c.CommandID, c})
	}
	require.Len(t, journal, 4)
	require.Empty(t, newHistory().follow(journal, nil))
}
