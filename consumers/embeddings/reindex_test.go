package embeddings_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/milvus"
)

// listening remembers the texts that were embedded.
type listening struct {
	*embed.Static
	mu    sync.Mutex
	texts []string
}

// Embed implements embed.Embedder.
func (l *listening) Embed(ctx context.Context, texts []string) ([]embed.Vector, error) {
	l.mu.Lock()
	l.texts = append(l.texts, texts...)
	l.mu.Unlock()
	return l.Static.Embed(ctx, texts)
}

func (l *listening) take() (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	texts, l.texts = l.texts, nil
	return texts
}

func TestAWorkspaceIsIndexedAnewAndNoOther(t *testing.T) {
	w := newWorld(t)
	heard := &listening{Static: embed.NewStatic()}
	_, stop := w.index(func(d *embeddings.Deps) { d.Embedder = heard })
	a, b := w.tenant(), w.tenant()
	var nodes []graph.Payload
	for i := range 600 { // several pages
		nodes = append(nodes, node(fmt.Sprintf("Pump %d", i), "Lifts water."))
	}
	w.do(a, nodes...)
	w.do(b, node("Belt", "It runs."))
	w.converges(a, b)
	stop()
	was, _ := w.live()
	heard.take()
	lost := nodes[400].(graph.CreateNode).ID
	require.NoError(t, w.vectors.Delete(t.Context(), was.Collection, []milvus.EntryID{{Workspace: a, Node: lost}}))

	asked, err := w.graph.RequestWorkspaceReindex(t.Context(), a, "me")
	require.NoError(t, err)
	_, err = w.graph.RequestWorkspaceReindex(t.Context(), a, "you")
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	status, err := w.graph.IndexStatus(t.Context(), a)
	require.NoError(t, err)
	require.True(t, status.Reindex.Running)
	require.Equal(t, int64(600), status.Reindex.Total)
	other, err := w.graph.IndexStatus(t.Context(), b)
	require.NoError(t, err)
	require.False(t, other.Reindex.Running)

	w.index(func(d *embeddings.Deps) { d.Embedder = heard })
	w.eventually("it is done", func() bool {
		next, err := w.graph.NextWorkspaceReindex(t.Context())
		return err == nil && next == nil
	})
	w.converges(a, b)
	now, _ := w.live()
	require.Equal(t, was.ID, now.ID, "in the index there is")
	texts := heard.take()
	require.False(t, slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(text, "Belt")
	}), "another workspace's texts")
	for i := range nodes {
		require.True(t, slices.ContainsFunc(texts, func(text string) bool {
			return strings.HasPrefix(text, fmt.Sprintf("Pump %d", i))
		}), i)
	}
	again, err := w.graph.RequestWorkspaceReindex(t.Context(), a, "me")
	require.NoError(t, err, "another may be asked for then")
	require.NotEqual(t, asked.ID, again.ID)
}
