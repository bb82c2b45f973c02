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

// flakyEmbedder is an embedder that fails on demand and counts the texts of its calls.
type flakyEmbedder struct {
	*embed.Static
	name        string
	unavailable atomic.Bool
	calls       atomic.Int64
}

// refusedText is a text that flakyEmbedder refuses.
const refusedText = "unspeakable"

func (m *flakyEmbedder) Model() embed.Model {
	model := m.Static.Model()
	if m.name != "" {
		model.Name = m.name
	}
	return model
}

func (m *flakyEmbedder) Embed(ctx context.Context, texts []string) ([]embed.Vector, error) {
	m.calls.Add(int64(len(texts)))
	if m.unavailable.Load() {
		return nil, fault.New(fault.Unavailable, "away")
	}
	for _, t := range texts {
		if strings.Contains(t, refusedText) {
			return nil, fault.New(fault.Invalid, "refused")
		}
	}
	return m.Static.Embed(ctx, texts)
}

func TestATextThatTheEmbedderRefusesHasNoVectorAndDelaysNothing(t *testing.T) {
	f := newFixture(t)
	f.runConsumer(func(d *embeddings.Deps) { d.Embedder = &flakyEmbedder{Static: embed.NewStatic()} })
	a := f.newWorkspace()
	f.do(a, node("One", "Fine."), node("Two", refusedText), node("Three", "Fine too."))
	f.waitForStatus(a, ready)
	index, _ := f.live()
	require.Len(t, f.storedVectors(index.Collection), 2)
}

func TestWhileTheEmbedderIsUnavailableNothingIsLostAndCommandsContinue(t *testing.T) {
	f := newFixture(t)
	m := &flakyEmbedder{Static: embed.NewStatic()}
	c, _ := f.runConsumer(func(d *embeddings.Deps) { d.Embedder = m })
	a := f.newWorkspace()
	n := node("One", "Fine.")
	f.do(a, n)
	f.waitForConvergence(a)
	m.unavailable.Store(true)
	f.do(a, graph.UpdateNode{ID: n.ID, Description: text("Changed.")}, node("Two", "New."))
	before := c.Metrics().Retries.Load()
	f.eventually("it is tried again", func() bool { return c.Metrics().Retries.Load() > before })
	f.waitForStatus(a, func(s textindex.IndexStatus) bool { return s.Lag.Events == 2 && s.Nodes.Pending == 1 })
	m.unavailable.Store(false)
	f.waitForConvergence(a)
}

func TestTextThatDidNotChangeIsNotEmbeddedAgain(t *testing.T) {
	f := newFixture(t)
	m := &flakyEmbedder{Static: embed.NewStatic()}
	_, stop := f.runConsumer(func(d *embeddings.Deps) { d.Embedder = m })
	a := f.newWorkspace()
	n := node("One", "Fine.")
	f.do(a, n)
	f.waitForConvergence(a)
	f.waitForStatus(a, ready)
	calls := m.calls.Load()
	f.do(
		a, graph.UpdateNode{ID: n.ID, Properties: []byte(`{"rpm":3}`)},
		graph.UpdateNode{ID: n.ID, Description: text("Fine.")},
	)
	f.waitForStatus(a, ready)
	stop()
	_, stop = f.runConsumer(func(d *embeddings.Deps) { d.Embedder, d.Config.Group = m, d.Config.Group+"again" })
	f.do(a, node("Two", "New."))
	f.waitForConvergence(a)
	stop()
	require.Equal(t, calls+1, m.calls.Load())
}

func TestMilvusDownDelaysOnlyTheIndex(t *testing.T) {
	server := testenv.StoppableMilvus(t)
	f := newFixtureOn(t, server.Address())
	f.runConsumer()
	a := f.newWorkspace()
	f.do(a, node("One", "Fine."))
	f.waitForConvergence(a)
	require.NoError(t, server.Stop(t.Context()))
	f.do(a, node("Two", "Written while Milvus is down."), node("Three", "This too."))
	f.waitForStatus(a, func(s textindex.IndexStatus) bool { return s.Lag.Events == 2 })
	require.NoError(t, server.Start(t.Context()))
	f.waitForConvergence(a)
	f.waitForStatus(a, ready)
}

func TestMilvusThatIsUnavailableAtTheStartIsAwaited(t *testing.T) {
	server := testenv.StoppableMilvus(t)
	f := newFixtureOn(t, server.Address())
	require.NoError(t, server.Stop(t.Context()))
	f.runConsumer()
	a := f.newWorkspace()
	f.do(a, node("One", "Fine."))
	require.NoError(t, server.Start(t.Context()))
	f.waitForConvergence(a)
}

func TestAnIndexThatMilvusLostIsBuiltAgain(t *testing.T) {
	f := newFixture(t)
	f.runConsumer()
	a, b := f.newWorkspace(), f.newWorkspace()
	for range 3 {
		f.do(a, node("Pump", f.randomText(5)), node("Log", f.randomText(900)))
	}
	f.do(b, node("Pump", "It pumps."))
	f.waitForConvergence(a, b)
	was, _ := f.live()
	require.NoError(t, f.vectors.DropCollection(t.Context(), was.Collection))
	f.do(a, node("Later", "Written to nowhere."))
	f.waitForConvergence(a, b)
	now, _ := f.live()
	require.Equal(t, textindex.CauseLost, now.Cause)
	f.waitForStatus(a, ready)

	// An index that has lost most of its vectors is rebuilt like one that has lost all.
	var some []milvus.EntryID
	for _, n := range f.nodes(a) {
		for chunk := range 4 {
			some = append(some, milvus.EntryID{Workspace: a, Node: n.Node, Chunk: chunk})
		}
	}
	require.NoError(t, f.vectors.Delete(t.Context(), now.Collection, some))
	f.waitForConvergence(a, b)
	again, _ := f.live()
	require.NotEqual(t, now.ID, again.ID)
}

func TestAnotherModelIsBuiltBesideAndSwitchedTo(t *testing.T) {
	f := newFixture(t)
	_, stop := f.runConsumer()
	a := f.newWorkspace()
	for range 5 {
		f.do(a, node("Pump", f.randomText(8)))
	}
	f.waitForConvergence(a)
	was, _ := f.live()
	stop()

	m := &flakyEmbedder{Static: embed.NewStatic(), name: "another"}
	m.unavailable.Store(true)
	f.runConsumer(func(d *embeddings.Deps) { d.Embedder = m })
	f.eventually("it is being built", func() bool {
		open, err := f.graph.OpenIndexes(t.Context())
		return err == nil && len(open) == 2 && open[1].Prepared
	})
	f.waitForStatus(a, func(s textindex.IndexStatus) bool {
		return s.Reindex.Running && s.Reindex.Total == 5 && s.Model.Name == was.Model.Name
	})
	vectors, err := f.embedder.Embed(t.Context(), []string{"pump"})
	require.NoError(t, err)
	hits, err := f.vectors.Search(t.Context(), was.Collection, a, vectors[0], milvus.Filter{}, 10)
	require.NoError(t, err)
	require.Len(t, hits, 5, "the old index is searched until then")

	m.unavailable.Store(false)
	f.eventually("it is switched to", func() bool {
		live, ok := f.live()
		return ok && live.Model.Name == "another"
	})
	f.waitForConvergence(a)
	f.eventually("the old one is dropped", func() bool {
		there, err := f.vectors.HasCollection(t.Context(), was.Collection)
		return err == nil && !there
	})
	f.waitForStatus(a, func(s textindex.IndexStatus) bool {
		return ready(s) && s.Model.Name == "another" && !s.Reindex.Running
	})
}

func TestARequestedReindexResumesAndIncludesConcurrentWrites(t *testing.T) {
	f := newFixture(t)
	m := &flakyEmbedder{Static: embed.NewStatic()}
	_, stop := f.runConsumer(func(d *embeddings.Deps) { d.Embedder = m })
	a, b := f.newWorkspace(), f.newWorkspace()
	var payloads []graph.Payload
	for range 700 { // several pages
		payloads = append(payloads, node("Pump", f.randomText(8)))
	}
	f.do(a, payloads...)
	f.do(b, node("Belt", "It runs."))
	f.waitForConvergence(a, b)
	was, _ := f.live()
	stop()

	asked, err := f.graph.RequestReindex(t.Context(), "me")
	require.NoError(t, err)
	require.Equal(t, textindex.ReindexQueued, asked.State)
	same, err := f.graph.RequestReindex(t.Context(), "you")
	require.NoError(t, err)
	require.Equal(t, asked.ID, same.ID)

	for i := range 6 { // interrupted at an arbitrary point
		_, stop := f.runConsumer(func(d *embeddings.Deps) { d.Embedder, d.Config.Grace = m, 1 })
		f.do(a, node("Meanwhile", f.randomText(8+i)), graph.DeleteNode{ID: payloads[i].(graph.CreateNode).ID})
		stop()
	}
	f.runConsumer()
	f.eventually("it is done", func() bool {
		r, err := f.graph.Reindex(t.Context(), asked.ID)
		return err == nil && r.State == textindex.ReindexDone && r.FinishedAt != nil
	})
	f.waitForConvergence(a, b)
	now, _ := f.live()
	require.NotEqual(t, was.ID, now.ID)
	require.Equal(t, textindex.CauseRequested, now.Cause)
}

func TestTwoProcessesBuildOneIndex(t *testing.T) {
	f := newFixture(t)
	a := f.newWorkspace()
	for range 30 {
		f.do(a, node("Pump", f.randomText(8)))
	}
	f.runConsumer()
	f.runConsumer()
	f.runConsumer()
	f.waitForConvergence(a)
	indexes, err := f.graph.UndroppedIndexes(t.Context())
	require.NoError(t, err)
	require.Len(t, indexes, 1)
}

func TestAProcessWithAnOldModelDoesNotBuildItsIndexAgain(t *testing.T) {
	f := newFixture(t)
	a := f.newWorkspace()
	f.do(a, node("Pump", "It pumps."))
	_, stopOld := f.runConsumer()
	f.waitForConvergence(a)
	f.runConsumer(func(d *embeddings.Deps) { d.Embedder = &flakyEmbedder{Static: embed.NewStatic(), name: "newer"} })
	// The old process keeps the lease until it stops.
	stopOld()
	f.eventually("the newer one is live", func() bool { i, ok := f.live(); return ok && i.Model.Name == "newer" })
	f.waitForConvergence(a)
}
