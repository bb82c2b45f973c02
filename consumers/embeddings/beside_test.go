package embeddings_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres"
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

// A lost event has the index look up what changed. While it does, more is written than
// it can embed: it ends all the same.
func TestCatchingUpEndsHoweverMuchIsWrittenMeanwhile(t *testing.T) {
	w := newWorld(t)
	_, stop := w.index()
	a := w.tenant()
	many := func(n int) (list []graph.Payload) {
		for range n {
			one := node("Pump", w.words(3))
			one.ID = uuid.Must(uuid.NewV7()) // the newest has the greatest id
			list = append(list, one)
		}
		return list
	}
	w.do(a, many(1)...)
	w.converges(a)
	stop()
	w.do(a, many(300)...)
	w.eventually("the events are in the log", func() bool {
		left, err := w.graph.UnpublishedWorkspaces(context.Background(), 10)
		return err == nil && len(left) == 0
	})
	state, err := w.log.ObserveTopic(context.Background(), kafka.TopicEvents)
	require.NoError(t, err)
	for p, s := range state.State {
		w.broker.Trim(t, w.log.Topic(kafka.TopicEvents).Name, int32(p), s.End)
	}
	head, err := w.graph.GraphSequence(t.Context(), a)
	require.NoError(t, err)
	live, _ := w.live()
	const rounds = 8
	var written atomic.Int32
	var caughtUp atomic.Int32 // rounds until it was
	w.index(func(d *embeddings.Deps) {
		d.Config.BatchNodes = 1
		d.Embedder = &hooked{Static: embed.NewStatic(), before: func(context.Context, []string) error {
			progress, err := w.graph.IndexProgress(context.Background(), live.ID, []uuid.UUID{a})
			if err != nil {
				return err
			}
			if progress[a].Sequence >= head {
				caughtUp.CompareAndSwap(0, written.Load())
			} else if written.Load() < rounds {
				written.Add(1)
				w.do(a, many(260)...)
			}
			return nil
		}}
	})
	w.converges(a)
	require.Less(t, caughtUp.Load(), int32(rounds), "it goes on for as long as somebody writes")
	require.Positive(t, caughtUp.Load())
	w.status(a, func(s postgres.IndexStatus) bool { return ready(s) })
}
