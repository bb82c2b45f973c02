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
	w := newWorld(t)
	w.index()
	a, b := w.tenant(), w.tenant()
	pump, long, gone, silent := node("Pump 7", "Feeds the boiler."),
		node("Log", strings.Repeat("It hummed all night long. ", 200)), node("Old", "Scrap."), node("😀", "😀 😀")
	w.do(a, pump, long, gone, silent)
	w.do(b, node("Pump 7", "Feeds the boiler."))
	w.converges(a, b)
	require.Greater(t, len(w.wanted(a)), 5, "a long text has many vectors")
	w.status(a, ready)

	w.do(a, graph.DeleteNode{ID: gone.ID}, graph.UpdateNode{ID: long.ID, Description: text("Short now.")},
		graph.UpdateNode{ID: pump.ID, Properties: []byte(`{"maker":"KSB"}`)})
	w.converges(a, b)
	require.Len(t, w.wanted(a), 2)
	w.status(a, func(s textindex.IndexStatus) bool { return ready(s) && s.Nodes.Total == 3 && s.LastIndexedAt != nil })

	w.do(a, graph.Undo{})
	w.do(a, graph.Undo{})
	w.do(a, graph.Undo{})
	w.converges(a, b)
	require.Greater(t, len(w.wanted(a)), 5)
}

func TestAnEntityTypeThatChangesIsOneInTheIndex(t *testing.T) {
	w := newWorld(t)
	w.index()
	a := w.tenant()
	n := node("Pump", "")
	w.do(a, n)
	w.converges(a)
	process := graph.Process
	w.do(a, graph.UpdateNode{ID: n.ID, EntityType: &process})
	w.converges(a)
	index, _ := w.live()
	require.Contains(t, w.held(index.Collection)[0], "process")
}

func TestTheLiveIndexIsFoundByItsAliasToo(t *testing.T) {
	w := newWorld(t)
	w.index()
	a := w.tenant()
	w.do(a, node("Pump", "It pumps."))
	w.converges(a)
	vectors, err := w.embedder.Embed(t.Context(), []string{"pumps"})
	require.NoError(t, err)
	hits, err := w.vectors.Search(t.Context(), w.config.Collections, a, vectors[0], milvus.Near{}, 5)
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

func TestWithoutAnIndexThereIsNothingToSearch(t *testing.T) {
	w := newWorld(t)
	a := w.tenant()
	_, err := w.graph.LiveIndex(context.Background())
	require.Error(t, err)
	w.status(a, func(s textindex.IndexStatus) bool { return s.Status == textindex.StatusDegraded && s.Model == nil })
}
