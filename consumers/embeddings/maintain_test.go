package embeddings_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/milvus"
)

// hookEmbedder is an embedder that calls a function before it embeds.
type hookEmbedder struct {
	*embed.Static
	before func(ctx context.Context, texts []string) error
}

func (h *hookEmbedder) Embed(ctx context.Context, texts []string) ([]embed.Vector, error) {
	if err := h.before(ctx, texts); err != nil {
		return nil, err
	}
	return h.Static.Embed(ctx, texts)
}

func TestTheLiveIndexIsKeptWhileAnotherIsBuilt(t *testing.T) {
	f := newFixture(t)
	_, stop := f.runConsumer()
	a, b := f.newWorkspace(), f.newWorkspace()
	var nodes []graph.Payload
	for i := range 60 {
		nodes = append(nodes, node(fmt.Sprintf("Pump %d", i), "Lifts water."))
	}
	f.do(a, nodes...)
	f.do(b, node("Blocker", "The building waits here."))
	f.waitForConvergence(a, b)
	live, _ := f.live()
	stop()

	_, err := f.graph.RequestReindex(t.Context(), "me")
	require.NoError(t, err)
	stalled := make(chan struct{}, 100)
	f.runConsumer(func(d *embeddings.Deps) {
		d.Embedder = &hookEmbedder{Static: embed.NewStatic(), before: func(ctx context.Context, texts []string) error {
			if strings.Contains(strings.Join(texts, " "), "Blocker") { // blocks the embedder of the build only
				stalled <- struct{}{}
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}}
	})
	<-stalled
	var lost []milvus.EntryID
	for _, i := range []int{0, 7, 59} {
		lost = append(lost, milvus.EntryID{Workspace: a, Node: nodes[i].(graph.CreateNode).ID})
	}
	require.NoError(t, f.vectors.Delete(t.Context(), live.Collection, lost))
	require.Len(t, f.storedVectors(live.Collection), 58)
	f.eventually("lost vectors are repaired", func() bool { return len(f.storedVectors(live.Collection)) == 61 })
	open, err := f.graph.OpenIndexes(t.Context())
	require.NoError(t, err)
	require.Len(t, open, 2, "the other is still being built")
}
