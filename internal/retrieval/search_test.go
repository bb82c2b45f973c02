package retrieval

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// nodesOf creates a graph of nodes without edges, numbered from 0.
func nodesOf(count int) *memory {
	m := newMemory()
	for i := range count {
		text := fmt.Sprintf("This is the description of number %d.", i)
		m.node(graph.Node{ID: wikiID(i), Name: fmt.Sprintf("node %d", i), EntityType: graph.Object, Description: &text})
	}
	return m
}

func names(hits []Hit) (list []string) {
	for _, h := range hits {
		list = append(list, h.Node.Name)
	}
	return list
}

func TestWhatBothLanesFindComesBeforeWhatOneDoes(t *testing.T) {
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(1), 9, 0.6}, {wikiID(2), 7, 0.5}}
	s.vectors = []VectorHit{{wikiID(3), 0, 0.7}, {wikiID(2), 1, 0.4}, {wikiID(2), 0, 0.3}, {wikiID(4), 0, -0.2}}
	r, err := s.engine(nodesOf(6)).Search(t.Context(), Query{Text: "description number", Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []string{"node 2", "node 3", "node 1"}, names(r.Hits), "a negative cosine is no hit")
	require.Equal(t, 3, r.Total)
	require.InDelta(t, 0.45, r.Hits[0].Score, 1e-9)
	require.InDelta(t, 0.5, *r.Hits[0].Scores.Text, 1e-9)
	require.InDelta(t, 0.4, *r.Hits[0].Scores.Vector, 1e-9, "the nearest chunk")
	require.Nil(t, r.Hits[1].Scores.Text)
	require.Nil(t, r.Hits[2].Scores.Vector)
	require.Equal(t, "This is the description of number 2.", r.Hits[0].Snippet)
}

func TestCosinesOfAModelAreScaled(t *testing.T) {
	s := newFakeLanes()
	s.model = embed.Model{Name: "multilingual-e5-small", Dimensions: 384}
	s.otherModel = s.model.Name
	s.vectors = []VectorHit{{wikiID(1), 0, 0.9}, {wikiID(2), 0, 0.85}, {wikiID(3), 0, 0.79}}
	r, err := s.engine(nodesOf(4)).Search(t.Context(), Query{Text: "pump", Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []string{"node 1", "node 2"}, names(r.Hits), "the third has nothing in common with the query")
	require.InDelta(t, 0.5, *r.Hits[0].Scores.Vector, 1e-9)
	require.InDelta(t, 0.25, *r.Hits[1].Scores.Vector, 1e-9)
}

func TestAWeakMatchOfFrequentWordsDoesNotHideAParaphrase(t *testing.T) {
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(1), 2.2, 0.12}} // the best of only poor matches: it has "the"
	s.vectors = []VectorHit{{wikiID(2), 0, 0.55}, {wikiID(1), 0, 0.05}}
	e := s.engine(nodesOf(4))
	q := Query{Text: "the machine stopped responding", Limit: 10}
	r, err := e.Search(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, "node 2", r.Hits[0].Node.Name)
	r, err = e.Hybrid(t.Context(), HybridQuery{Query: q, Hops: 2, Weights: DefaultWeights()})
	require.NoError(t, err)
	require.Equal(t, "node 2", r.Hits[0].Node.Name)
}

func TestANodeThatTheQueryNamesHasAllItsWords(t *testing.T) {
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(1), 9, 0.8}}
	s.names = []NamedNode{{wikiID(2), 1}}
	r, err := s.engine(nodesOf(4)).Search(t.Context(), Query{Text: "node 2", Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []string{"node 2", "node 1"}, names(r.Hits))
	require.Equal(t, 1.0, *r.Hits[0].Scores.Text)
}

func TestPagesFitTogetherAndMinScoreAppliesBeforePaging(t *testing.T) {
	s := newFakeLanes()
	m := nodesOf(120)
	for i := range 100 {
		s.text = append(s.text, TextHit{wikiID(i), 1, float64(100-i/2) / 100})
	}
	e := s.engine(m)
	all, err := e.Search(t.Context(), Query{Text: "x", Limit: 100})
	require.NoError(t, err)
	require.Equal(t, 100, all.Total)
	var paged []string
	for offset := 0; offset < 130; offset += 7 {
		r, err := e.Search(t.Context(), Query{Text: "x", Limit: 7, Offset: offset})
		require.NoError(t, err)
		require.Equal(t, all.Total, r.Total)
		paged = append(paged, names(r.Hits)...)
	}
	require.Equal(t, names(all.Hits), paged)
	r, err := e.Search(t.Context(), Query{Text: "x", Limit: 5, MinScore: 0.4})
	require.NoError(t, err)
	require.Equal(t, 42, r.Total)
	require.Len(t, r.Hits, 5)
}

func TestASearchWorksWithoutOneLaneAndFailsWithoutBoth(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*fakeLanes)
		lane  string
	}{
		"Milvus is unavailable": {func(s *fakeLanes) { s.errVector = errUnavailable }, LaneVector},
		"the embedder fails":    {func(s *fakeLanes) { s.errEmbed = fault.New(fault.BadGateway, "nonsense") }, LaneVector},
		"another model":         {func(s *fakeLanes) { s.model.Name = "old" }, LaneVector},
		"no text lane":          {func(s *fakeLanes) { s.errText = errUnavailable }, LaneText},
		"the embedder waits": {func(s *fakeLanes) {
			s.errEmbed = fault.New(fault.Unavailable, "busy").After(7 * time.Second)
		}, LaneVector},
	} {
		s := newFakeLanes()
		s.text, s.vectors = []TextHit{{wikiID(1), 9, 0.6}}, []VectorHit{{wikiID(2), 0, 0.7}}
		c.spoil(s)
		e := s.engine(nodesOf(4))
		for _, ask := range []func() (Result, error){
			func() (Result, error) { return e.Search(t.Context(), Query{Text: "x", Limit: 10}) },
			func() (Result, error) {
				return e.Hybrid(t.Context(), HybridQuery{Query: Query{Text: "x", Limit: 10}, Hops: 1, Weights: DefaultWeights()})
			},
		} {
			r, err := ask()
			require.NoError(t, err, name)
			require.Equal(t, []string{c.lane}, r.Degraded, name)
			require.Len(t, r.Hits, 1, name)
		}
	}
	s := newFakeLanes()
	s.errText, s.errVector = errUnavailable, errUnavailable
	_, err := s.engine(nodesOf(1)).Search(t.Context(), Query{Text: "x", Limit: 10})
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.Unavailable, f.Kind)
	require.Equal(t, "The text search is not available", f.Message)
	require.Positive(t, f.RetryAfter)
	_, err = s.engine(nodesOf(1)).Hybrid(t.Context(), HybridQuery{
		Query: Query{Text: "x", Limit: 10}, Weights: DefaultWeights(),
	})
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	s.errVector = errors.New("a defect")
	_, err = s.engine(nodesOf(1)).Hybrid(t.Context(), HybridQuery{
		Query: Query{Text: "x", Limit: 10}, Weights: DefaultWeights(),
	})
	require.ErrorIs(t, err, s.errVector, "a defect is not treated as an unavailable store")
}

func TestAnIndexOfTheOldModelIsSearchedByItUntilTheNewOneTakesItsPlace(t *testing.T) {
	s := newFakeLanes()
	s.vectors = []VectorHit{{wikiID(2), 0, 0.7}}
	s.model.Name, s.otherModel = "old", "old"
	e := s.engine(nodesOf(4))
	for range 3 {
		r, err := e.Search(t.Context(), Query{Text: "x", Limit: 10})
		require.NoError(t, err)
		require.Empty(t, r.Degraded)
		require.Equal(t, []string{"node 2"}, names(r.Hits))
	}
	require.Equal(
		t, []string{"new", "old", "old", "old"}, s.embeddedModels, "later searches use the model of the last one",
	)
	s.model, s.embeddedModels = s.Model(), nil
	for range 2 {
		_, err := e.Search(t.Context(), Query{Text: "x", Limit: 10})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"old", "new", "new"}, s.embeddedModels)
}

// unresponsive is a vector store that does not answer.
type unresponsive struct {
	*fakeLanes
	calls *atomic.Int32
}

func (s unresponsive) Nearest(
	ctx context.Context, _ Index, _ uuid.UUID, _ embed.Vector, _ VectorFilter, _ int,
) ([]VectorHit, error) {
	s.calls.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAStoreOfVectorsThatDoesNotAnswerIsNotWaitedForByEverySearch(t *testing.T) {
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(1), 9, 0.6}}
	var calls atomic.Int32
	e := New(Deps{
		Text: s, Vectors: unresponsive{s, &calls}, Graph: nodesOf(4), Embedder: s, LaneTimeout: 50 * time.Millisecond,
	})
	began := time.Now()
	for range 100 {
		r, err := e.Search(t.Context(), Query{Text: "x", Limit: 10})
		require.NoError(t, err)
		require.Equal(t, []string{LaneVector}, r.Degraded)
		require.Len(t, r.Hits, 1)
	}
	require.LessOrEqual(t, int64(calls.Load()), 4+time.Since(began).Milliseconds()/500)
}

// slow is a text lane that returns only when its context is done.
type slow struct{ *fakeLanes }

func (s slow) SearchText(ctx context.Context, _ uuid.UUID, _ string, _ Filter, _, _ int) (TextFindings, error) {
	<-ctx.Done()
	return TextFindings{}, ctx.Err()
}

func TestALaneThatDoesNotAnswerTimesOutBeforeTheCaller(t *testing.T) {
	s := newFakeLanes()
	s.vectors = []VectorHit{{wikiID(2), 0, 0.7}}
	e := New(Deps{Text: slow{s}, Vectors: s, Graph: nodesOf(4), Embedder: s, LaneTimeout: 10 * time.Millisecond})
	q := HybridQuery{Query: Query{Text: "x", Limit: 10}, Weights: DefaultWeights()}
	r, err := e.Hybrid(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, []string{LaneText}, r.Degraded)
	require.Equal(t, []string{"node 2"}, names(r.Hits))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Hybrid(ctx, q)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAFilterThatFewPassIsAskedForByNodeAndOneThatManyPassByMoreHits(t *testing.T) {
	m := newMemory()
	for i := range MaxFilterNodes + 500 {
		value := `"many"`
		if i < 3 {
			value = `"few"`
		}
		m.node(graph.Node{
			ID: wikiID(i), Name: fmt.Sprint(i), EntityType: graph.Object,
			Properties: graph.Properties{"p": jsontext.Value(value)},
		})
	}
	s := newFakeLanes()
	for i := range 1_000 { // the nearest nodes do not pass
		s.vectors = append(s.vectors, VectorHit{wikiID(MaxFilterNodes + 1_000 + i), 0, 0.9})
	}
	for i := range 300 {
		s.vectors = append(s.vectors, VectorHit{wikiID(i), 0, 0.5})
	}
	filtered := func(value string) Query {
		return Query{Text: "x", Limit: 100, Filter: Filter{Properties: map[string][]jsontext.Value{"p": {
			jsontext.Value(value),
		}}}}
	}
	e := s.engine(m)
	r, err := e.Search(t.Context(), filtered(`"few"`))
	require.NoError(t, err)
	require.Equal(t, 3, r.Total)
	require.Len(t, s.filters[0].Nodes, 3)
	s.limits = nil
	r, err = e.Search(t.Context(), filtered(`"many"`))
	require.NoError(t, err)
	require.Equal(t, vectorNodes, r.Total)
	require.Equal(t, []int{256, 1_024, 4_096}, s.limits)
	s.limits = nil
	r, err = e.Search(t.Context(), filtered(`"none"`))
	require.NoError(t, err)
	require.Zero(t, r.Total)
	require.Empty(t, s.limits, "without passing nodes the vector store is not queried")
}

func TestTheNearestNodesAreFoundHoweverManyOfTheNearestChunksAreOfOne(t *testing.T) {
	s := newFakeLanes()
	for i := range 300 { // a long text of which every chunk is near
		s.vectors = append(s.vectors, VectorHit{wikiID(0), i, 0.9})
	}
	for i := 1; i < 150; i++ {
		s.vectors = append(s.vectors, VectorHit{wikiID(i), 0, 0.5})
	}
	r, err := s.engine(nodesOf(150)).Search(t.Context(), Query{Text: "x", Limit: 10})
	require.NoError(t, err)
	require.Equal(t, 150, r.Total)
	require.Equal(t, []int{256, 1_024}, s.limits)
}

func TestALaneThatCountsForNothingIsNotAsked(t *testing.T) {
	for name, c := range map[string]struct {
		weights      Weights
		starts       []uuid.UUID
		words, near  int // searches
		spoil, fails bool
	}{
		"words":                 {weights: Weights{Text: 1, Graph: 1}, words: 1},
		"meaning":               {weights: Weights{Vector: 1, Graph: 1}, near: 1},
		"both":                  {weights: Weights{Text: 0.1, Vector: 0.1}, words: 1, near: 1},
		"neither":               {weights: Weights{Graph: 1}, words: 1, near: 1},
		"unavailable meaning":   {weights: Weights{Vector: 1, Graph: 1}, near: 1, spoil: true, fails: true},
		"words without meaning": {weights: Weights{Text: 1, Graph: 1}, words: 1, spoil: true},
		"starts without meaning": {
			weights: Weights{Vector: 1, Graph: 1}, starts: []uuid.UUID{wikiID(3)}, near: 1, spoil: true,
		},
	} {
		s := newFakeLanes()
		s.text, s.vectors = []TextHit{{wikiID(1), 9, 0.6}}, []VectorHit{{wikiID(2), 0, 0.7}}
		if c.spoil {
			s.errVector = errUnavailable
		}
		r, err := s.engine(nodesOf(4)).Hybrid(t.Context(), HybridQuery{
			Query: Query{Text: "x", Limit: 10}, Hops: 1, Weights: c.weights, Starts: c.starts,
		})
		require.Equal(t, c.fails, err != nil, name)
		require.Equal(t, c.words, s.textCalls, name)
		require.Len(t, s.limits, c.near, name)
		require.Equal(t, c.spoil && !c.fails && c.near > 0, len(r.Degraded) > 0, name)
	}
}

func TestTheScoreOfAChunkIsShownWithItsText(t *testing.T) {
	s := newFakeLanes()
	s.vectors = []VectorHit{{wikiID(1), 2, 0.5}, {wikiID(2), 9, 0.4}}
	e := New(Deps{Text: s, Vectors: s, Graph: nodesOf(4), Embedder: s, Chunks: func(*graph.Node) []Chunk {
		return []Chunk{{Index: 0, Text: "zero"}, {Index: 2, Text: "two words"}}
	}})
	r, err := e.Search(t.Context(), Query{Text: "x", Limit: 10})
	require.NoError(t, err)
	require.Equal(t, &Chunk{Index: 2, Text: "two words"}, r.Hits[0].Chunk)
	require.Equal(t, "two words", r.Hits[0].Snippet)
	require.Nil(t, r.Hits[1].Chunk, "the text no longer has this chunk")
	require.Equal(t, "This is the description of number 2.", r.Hits[1].Snippet)
}

func TestScoresOrderAndStayWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newFakeLanes()
		hit := rapid.IntRange(0, 30)
		for _, i := range rapid.SliceOfDistinct(rapid.IntRange(0, 24), func(i int) int { return i }).Draw(t, "text") {
			s.text = append(s.text, TextHit{wikiID(i), 1, rapid.Float64Range(0.001, 3).Draw(t, "share")})
		}
		for range rapid.IntRange(0, 30).Draw(t, "near") {
			s.vectors = append(s.vectors, VectorHit{
				wikiID(hit.Draw(t, "node")), hit.Draw(t, "chunk"), rapid.Float64Range(-1, 1.000001).Draw(t, "cosine"),
			})
		}
		r, err := s.engine(nodesOf(25)).Search(context.Background(), Query{Text: "x", Limit: 100})
		require.NoError(t, err)
		require.Len(t, r.Hits, r.Total)
		for i, h := range r.Hits {
			require.Greater(t, h.Score, 0.0)
			require.LessOrEqual(t, h.Score, 1.0)
			if i > 0 {
				before := r.Hits[i-1]
				require.True(t, before.Score > h.Score || before.Score == h.Score && uuids.Compare(before.Node.ID, h.Node.ID) < 0)
			}
		}
	})
}
