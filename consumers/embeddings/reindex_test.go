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

// recordingEmbedder records the texts that were embedded.
type recordingEmbedder struct {
	*embed.Static
	mu    sync.Mutex
	texts []string
}

// Embed implements embed.Embedder.
func (l *recordingEmbedder) Embed(ctx context.Context, texts []string) ([]embed.Vector, error) {
	l.mu.Lock()
	l.texts = append(l.texts, texts...)
	l.mu.Unlock()
	return l.Static.Embed(ctx, texts)
}

func (l *recordingEmbedder) drain() (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	texts, l.texts = l.texts, nil
	return texts
}

func TestOnlyTheRequestedWorkspaceIsIndexedAgain(t *testing.T) {
	f := newFixture(t)
	recorder := &recordingEmbedder{Static: embed.NewStatic()}
	_, stop := f.runConsumer(func(d *embeddings.Deps) { d.Embedder = recorder })
	a, b := f.newWorkspace(), f.newWorkspace()
	var nodes []graph.Payload
	for i := range 600 { // several pages
		nodes = append(nodes, node(fmt.Sprintf("Pump %d", i), "Lifts water."))
	}
	f.do(a, nodes...)
	f.do(b, node("Belt", "It runs."))
	f.waitForConvergence(a, b)
	stop()
	was, _ := f.live()
	recorder.drain()
	lost := nodes[400].(graph.CreateNode).ID
	require.NoError(t, f.vectors.Delete(t.Context(), was.Collection, []milvus.EntryID{{Workspace: a, Node: lost}}))

	asked, err := f.graph.RequestWorkspaceReindex(t.Context(), a, "me")
	require.NoError(t, err)
	_, err = f.graph.RequestWorkspaceReindex(t.Context(), a, "you")
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	status, err := f.graph.IndexStatus(t.Context(), a)
	require.NoError(t, err)
	require.True(t, status.Reindex.Running)
	require.Equal(t, int64(600), status.Reindex.Total)
	other, err := f.graph.IndexStatus(t.Context(), b)
	require.NoError(t, err)
	require.False(t, other.Reindex.Running)

	f.runConsumer(func(d *embeddings.Deps) { d.Embedder = recorder })
	f.eventually("it is done", func() bool {
		next, err := f.graph.NextWorkspaceReindex(t.Context())
		return err == nil && next == nil
	})
	f.waitForConvergence(a, b)
	now, _ := f.live()
	require.Equal(t, was.ID, now.ID, "the live index is kept")
	texts := recorder.drain()
	require.False(t, slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(text, "Belt")
	}), "another workspace's texts")
	for i := range nodes {
		require.True(t, slices.ContainsFunc(texts, func(text string) bool {
			return strings.HasPrefix(text, fmt.Sprintf("Pump %d", i))
		}), i)
	}
	again, err := f.graph.RequestWorkspaceReindex(t.Context(), a, "me")
	require.NoError(t, err, "the next request is accepted")
	require.NotEqual(t, asked.ID, again.ID)
}
