package embeddings_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

func TestWhatIsWrittenIsIndexedAndWhatIsDeletedIsNot(t *testing.T) {
	f := newFixture(t)
	f.runConsumer()
	a, b := f.newWorkspace(), f.newWorkspace()
	pump, long, gone, silent := node("Pump 7", "Feeds the boiler."),
		node("Log", strings.Repeat("It hummed all night long. ", 200)), node("Old", "Scrap."), node("😀", "😀 😀")
	f.do(a, pump, long, gone, silent)
	f.do(b, node("Pump 7", "Feeds the boiler."))
	f.waitForConvergence(a, b)
	require.Greater(t, len(f.expectedVectors(a)), 5, "a long text has many vectors")
	f.waitForStatus(a, ready)

	f.do(a, graph.DeleteNode{ID: gone.ID}, graph.UpdateNode{ID: long.ID, Description: text("Short now.")},
		graph.UpdateNode{ID: pump.ID, Properties: []byte(`{"maker":"KSB"}`)})
	f.waitForConvergence(a, b)
	require.Len(t, f.expectedVectors(a), 2)
	f.waitForStatus(a, func(s textindex.IndexStatus) bool {
		return ready(s) && s.Nodes.Total == 3 && s.LastIndexedAt != nil
	})

	f.do(a, graph.Undo{})
	f.do(a, graph.Undo{})
	f.do(a, graph.Undo{})
	f.waitForConvergence(a, b)
	require.Greater(t, len(f.expectedVectors(a)), 5)
}

func TestAnEntityTypeThatChangesIsOneInTheIndex(t *testing.T) {
	f := newFixture(t)
	f.runConsumer()
	a := f.newWorkspace()
	n := node("Pump", "")
	f.do(a, n)
	f.waitForConvergence(a)
	process := graph.Process
	f.do(a, graph.UpdateNode{ID: n.ID, EntityType: &process})
	f.waitForConvergence(a)
	index, _ := f.live()
	require.Contains(t, f.storedVectors(index.Collection)[0], "process")
}

func TestTheLiveIndexIsFoundByItsAliasToo(t *testing.T) {
	f := newFixture(t)
	f.runConsumer()
	a := f.newWorkspace()
	f.do(a, node("Pump", "It pumps."))
	f.waitForConvergence(a)
	vectors, err := f.embedder.Embed(t.Context(), []string{"pumps"})
	require.NoError(t, err)
	hits, err := f.vectors.Search(t.Context(), f.config.Collections, a, vectors[0], milvus.Filter{}, 5)
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

func TestWithoutAnIndexThereIsNothingToSearch(t *testing.T) {
	f := newFixture(t)
	a := f.newWorkspace()
	_, err := f.graph.LiveIndex(context.Background())
	require.Error(t, err)
	f.waitForStatus(a, func(s textindex.IndexStatus) bool {
		return s.Status == textindex.StatusDegraded && s.Model == nil
	})
}
