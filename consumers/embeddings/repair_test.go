package embeddings_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/milvus"
)

// TestWhatMilvusHasLostOrKeptIsPutRight deletes vectors from Milvus and adds others, as if Milvus
// had lost writes or deletions in a crash. They are too few for a rebuild of the index.
func TestWhatMilvusHasLostOrKeptIsPutRight(t *testing.T) {
	for name, spoil := range map[string]struct{ lose, keep bool }{
		"lost entries":          {lose: true},
		"lost deletions":        {keep: true},
		"entries and deletions": {lose: true, keep: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.runConsumer()
			a, b, closed := f.newWorkspace(), f.newWorkspace(), f.newWorkspace()
			var nodes []graph.Payload
			for i := range 300 {
				nodes = append(nodes, node(fmt.Sprintf("Pump %d", i), "Lifts water."))
			}
			f.do(a, nodes...)
			f.do(b, node("Other", "Somebody else's."))
			f.waitForConvergence(a, b)
			index, _ := f.live()
			ctx := context.Background()
			if spoil.lose {
				var lost []milvus.EntryID
				for _, i := range []int{0, 7, 299} {
					lost = append(lost, milvus.EntryID{Workspace: a, Node: nodes[i].(graph.CreateNode).ID})
				}
				require.NoError(t, f.vectors.Delete(ctx, index.Collection, lost))
			}
			if spoil.keep {
				vectors, err := f.embedder.Embed(ctx, []string{"What was deleted."})
				require.NoError(t, err)
				stray := func(workspace, node uuid.UUID, chunk int) milvus.Entry {
					return milvus.Entry{Workspace: workspace, Node: node, Chunk: chunk, EntityType: "OBJECT", Vector: vectors[0]}
				}
				require.NoError(t, f.vectors.Upsert(ctx, index.Collection, []milvus.Entry{
					stray(a, uuid.New(), 0), stray(a, uuid.New(), 3), stray(a, uuid.Max, 0), // of deleted nodes
					stray(a, nodes[5].(graph.CreateNode).ID, 1), // of a text that was longer
					stray(b, uuid.New(), 0), stray(closed, uuid.New(), 0),
				}))
			}
			f.waitForConvergence(a, b)
			after, _ := f.live()
			require.Equal(t, index.ID, after.ID, "it is repaired, not rebuilt")
		})
	}
}
