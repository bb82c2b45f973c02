package embeddings_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/test/testenv"
)

// moody is an embedder that fails when it is told to.
type moody struct {
	*embed.Static
	name  string
	away  atomic.Bool
	calls atomic.Int64
}

// refusal is what no embedder of these tests takes.
const refusal = "unspeakable"

func (m *moody) Model() embed.Model {
	model := m.Static.Model()
	if m.name != "" {
		model.Name = m.name
	}
	return model
}

func (m *moody) Embed(ctx context.Context, texts []string) ([]embed.Vector, error) {
	m.calls.Add(int64(len(texts)))
	if m.away.Load() {
		return nil, fault.New(fault.Unavailable, "away")
	}
	for _, t := range texts {
		if strings.Contains(t, refusal) {
			return nil, fault.New(fault.Invalid, "refused")
		}
	}
	return m.Static.Embed(ctx, texts)
}

func TestATextThatTheEmbedderRefusesHasNoVectorAndHoldsNothingUp(t *testing.T) {
	w := newWorld(t)
	w.index(func(d *embeddings.Deps) { d.Embedder = &moody{Static: embed.NewStatic()} })
	a := w.tenant()
	w.do(a, node("One", "Fine."), node("Two", refusal), node("Three", "Fine too."))
	w.status(a, ready)
	index, _ := w.live()
	require.Len(t, w.held(index.Collection), 2)
}

func TestWhileTheEmbedderIsAwayNothingIsLostAndCommandsGoOn(t *testing.T) {
	w := newWorld(t)
	m := &moody{Static: embed.NewStatic()}
	c, _ := w.index(func(d *embeddings.Deps) { d.Embedder = m })
	a := w.tenant()
	n := node("One", "Fine.")
	w.do(a, n)
	w.converges(a)
	m.away.Store(true)
	w.do(a, graph.UpdateNode{ID: n.ID, Description: text("Changed.")}, node("Two", "New."))
	before := c.Metrics().Retries.Load()
	w.eventually("it is tried again", func() bool { return c.Metrics().Retries.Load() > before })
	w.status(a, func(s textindex.IndexStatus) bool { return s.Lag.Events == 2 && s.Nodes.Pending == 1 })
	m.away.Store(false)
	w.converges(a)
}

func TestTextThatDidNotChangeIsNotEmbeddedAgain(t *testing.T) {
	w := newWorld(t)
	m := &moody{Static: embed.NewStatic()}
	_, stop := w.index(func(d *embeddings.Deps) { d.Embedder = m })
	a := w.tenant()
	n := node("One", "Fine.")
	w.do(a, n)
	w.converges(a)
	w.status(a, ready)
	calls := m.calls.Load()
	w.do(
		a, graph.UpdateNode{ID: n.ID, Properties: []byte(`{"rpm":3}`)},
		graph.UpdateNode{ID: n.ID, Description: text("Fine.")},
	)
	w.status(a, ready)
	stop()
	_, stop = w.index(func(d *embeddings.Deps) { d.Embedder, d.Config.Group = m, d.Config.Group+"again" })
	w.do(a, node("Two", "New."))
	w.converges(a)
	stop()
	require.Equal(t, calls+1, m.calls.Load())
}

func TestMilvusDownHoldsOnlyTheIndexUp(t *testing.T) {
	server := testenv.StoppableMilvus(t)
	w := newWorldOn(t, server.Address())
	w.index()
	a := w.tenant()
	w.do(a, node("One", "Fine."))
	w.converges(a)
	require.NoError(t, server.Stop(t.Context()))
	w.do(a, node("Two", "Written while Milvus is down."), node("Three", "This too."))
	w.status(a, func(s textindex.IndexStatus) bool { return s.Lag.Events == 2 })
	require.NoError(t, server.Start(t.Context()))
	w.converges(a)
	w.status(a, ready)
}

func TestMilvusThatIsAwayAtTheStartIsWaitedFor(t *testing.T) {
	server := testenv.StoppableMilvus(t)
	w := newWorldOn(t, server.Address())
	require.NoError(t, server.Stop(t.Context()))
	w.index()
	a := w.tenant()
	w.do(a, node("One", "Fine."))
	require.NoError(t, server.Start(t.Context()))
	w.converges(a)
}

func TestAnIndexThatMilvusLostIsBuiltAgain(t *testing.T) {
	w := newWorld(t)
	w.index()
	a, b := w.tenant(), w.tenant()
	for range 3 {
		w.do(a, node("Pump", w.words(5)), node("Log", w.words(900)))
	}
	w.do(b, node("Pump", "It pumps."))
	w.converges(a, b)
	was, _ := w.live()
	require.NoError(t, w.vectors.DropCollection(t.Context(), was.Collection))
	w.do(a, node("Later", "Written to nowhere."))
	w.converges(a, b)
	now, _ := w.live()
	require.Equal(t, textindex.CauseLost, now.Cause)
	w.status(a, ready)

	// Most of it is as good as all.
	var some []milvus.EntryID
	for _, n := range w.standing(a) {
		for chunk := range 4 {
			some = append(some, milvus.EntryID{Workspace: a, Node: n.Node, Chunk: chunk})
		}
	}
	require.NoError(t, w.vectors.Delete(t.Context(), now.Collection, some))
	w.converges(a, b)
	again, _ := w.live()
	require.NotEqual(t, now.ID, again.ID)
}

func TestAnotherModelIsBuiltBesideAndSwitchedTo(t *testing.T) {
	w := newWorld(t)
	_, stop := w.index()
	a := w.tenant()
	for range 5 {
		w.do(a, node("Pump", w.words(8)))
	}
	w.converges(a)
	was, _ := w.live()
	stop()

	m := &moody{Static: embed.NewStatic(), name: "another"}
	m.away.Store(true)
	w.index(func(d *embeddings.Deps) { d.Embedder = m })
	w.eventually("it is being built", func() bool {
		open, err := w.graph.OpenIndexes(t.Context())
		return err == nil && len(open) == 2 && open[1].Prepared
	})
	w.status(a, func(s textindex.IndexStatus) bool {
		return s.Reindex.Running && s.Reindex.Total == 5 && s.Model.Name == was.Model.Name
	})
	vectors, err := w.embedder.Embed(t.Context(), []string{"pump"})
	require.NoError(t, err)
	hits, err := w.vectors.Search(t.Context(), was.Collection, a, vectors[0], milvus.Near{}, 10)
	require.NoError(t, err)
	require.Len(t, hits, 5, "the old index is searched until then")

	m.away.Store(false)
	w.eventually("it is switched to", func() bool {
		live, ok := w.live()
		return ok && live.Model.Name == "another"
	})
	w.converges(a)
	w.eventually("the old one is dropped", func() bool {
		there, err := w.vectors.HasCollection(t.Context(), was.Collection)
		return err == nil && !there
	})
	w.status(a, func(s textindex.IndexStatus) bool { return ready(s) && s.Model.Name == "another" && !s.Reindex.Running })
}

func TestAReindexThatIsAskedForGoesOnWhereItWasCutOffAndGetsWhatIsWrittenMeanwhile(t *testing.T) {
	w := newWorld(t)
	m := &moody{Static: embed.NewStatic()}
	_, stop := w.index(func(d *embeddings.Deps) { d.Embedder = m })
	a, b := w.tenant(), w.tenant()
	var payloads []graph.Payload
	for range 700 { // several portions
		payloads = append(payloads, node("Pump", w.words(8)))
	}
	w.do(a, payloads...)
	w.do(b, node("Belt", "It runs."))
	w.converges(a, b)
	was, _ := w.live()
	stop()

	asked, err := w.graph.RequestReindex(t.Context(), "me")
	require.NoError(t, err)
	require.Equal(t, textindex.ReindexQueued, asked.State)
	same, err := w.graph.RequestReindex(t.Context(), "you")
	require.NoError(t, err)
	require.Equal(t, asked.ID, same.ID)

	for i := range 6 { // cut off at any place
		_, stop := w.index(func(d *embeddings.Deps) { d.Embedder, d.Config.Grace = m, 1 })
		w.do(a, node("Meanwhile", w.words(8+i)), graph.DeleteNode{ID: payloads[i].(graph.CreateNode).ID})
		stop()
	}
	w.index()
	w.eventually("it is done", func() bool {
		r, err := w.graph.Reindex(t.Context(), asked.ID)
		return err == nil && r.State == textindex.ReindexDone && r.FinishedAt != nil
	})
	w.converges(a, b)
	now, _ := w.live()
	require.NotEqual(t, was.ID, now.ID)
	require.Equal(t, textindex.CauseAsked, now.Cause)
}

func TestTwoProcessesBuildOneIndex(t *testing.T) {
	w := newWorld(t)
	a := w.tenant()
	for range 30 {
		w.do(a, node("Pump", w.words(8)))
	}
	w.index()
	w.index()
	w.index()
	w.converges(a)
	indexes, err := w.graph.UndroppedIndexes(t.Context())
	require.NoError(t, err)
	require.Len(t, indexes, 1)
}

func TestAProcessWithAnOldModelDoesNotBuildItsIndexAgain(t *testing.T) {
	w := newWorld(t)
	a := w.tenant()
	w.do(a, node("Pump", "It pumps."))
	_, stopOld := w.index()
	w.converges(a)
	w.index(func(d *embeddings.Deps) { d.Embedder = &moody{Static: embed.NewStatic(), name: "newer"} })
	// The old one has the lease as long as it lives.
	stopOld()
	w.eventually("the newer one is live", func() bool { i, ok := w.live(); return ok && i.Model.Name == "newer" })
	w.converges(a)
}
