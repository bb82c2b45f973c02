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

// hooked is an embedder that calls a function before it embeds.
type hooked struct {
	*embed.Static
	before func(ctx context.Context, texts []string) error
}

func (h *hooked) Embed(ctx context.Context, texts []string) ([]embed.Vector, error) {
	if err := h.before(ctx, texts); err != nil {
		return nil, err
	}
	return h.Static.Embed(ctx, texts)
}

func TestTheLiveIndexIsKeptWhileAnotherIsBuilt(t *testing.T) {
	w := newWorld(t)
	_, stop := w.index()
	a, b := w.tenant(), w.tenant()
	var nodes []graph.Payload
	for i := range 60 {
		nodes = append(nodes, node(fmt.Sprintf("Pump %d", i), "Lifts water."))
	}
	w.do(a, nodes...)
	w.do(b, node("Blocker", "The building waits here."))
	w.converges(a, b)
	live, _ := w.live()
	stop()

	_, err := w.graph.RequestReindex(t.Context(), "me")
	require.NoError(t, err)
	stalled := make(chan struct{}, 100)
	w.index(func(d *embeddings.Deps) {
		d.Embedder = &hooked{Static: embed.NewStatic(), before: func(ctx context.Context, texts []string) error {
			if strings.Contains(strings.Join(texts, " "), "Blocker") { // an embedder that hangs, only of the building
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
	require.NoError(t, w.vectors.Delete(t.Context(), live.Collection, lost))
	require.Len(t, w.held(live.Collection), 58)
	w.eventually("what Milvus lost is put right", func() bool { return len(w.held(live.Collection)) == 61 })
	open, err := w.graph.OpenIndexes(t.Context())
	require.NoError(t, err)
	require.Len(t, open, 2, "the other is still being built")
}
