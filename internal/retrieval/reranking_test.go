package retrieval

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// fakeReranker scores texts by a function.
type fakeReranker struct {
	score func(text string) float64
	err   error
	calls [][]string
	wait  bool // until the context is done
}

func (r *fakeReranker) Model() string { return "fake" }

func (r *fakeReranker) Rerank(ctx context.Context, _ uuid.UUID, _ string, texts []string) ([]float64, error) {
	r.calls = append(r.calls, texts)
	if r.wait {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	scores := make([]float64, len(texts))
	for i, text := range texts {
		scores[i] = r.score(text)
	}
	return scores, r.err
}

// reranking returns an engine with a reranker.
func (s *fakeLanes) reranking(m *memory, r *fakeReranker) *Engine {
	return New(Deps{
		Text: s, Vectors: s, Graph: m, Embedder: s, Reranker: r, MaxRerank: 50, MaxRerankText: 200,
	})
}

// numbered returns lanes that find the nodes from 0 in descending order of scores, which are not the same.
func numbered(count int) *fakeLanes {
	s := newFakeLanes()
	for i := range count {
		share := 1 - float64(i)/float64(count)
		s.text = append(s.text, TextHit{wikiID(i), share, share})
	}
	return s
}

// numberOf returns the number of a node in a text for the reranker.
func numberOf(text string) (number int) {
	_, _ = fmt.Sscanf(text, "node %d", &number)
	return number
}

func TestTheOrderOfTheRerankerIsFusedWithThatOfTheSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 60).Draw(t, "count")
		asked := rapid.IntRange(0, 60).Draw(t, "asked")
		scores := rapid.SliceOfN(rapid.IntRange(-3, 3), count, count).Draw(t, "scores")
		hybrid := rapid.Bool().Draw(t, "hybrid")
		weight := rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(t, "weight")
		r := &fakeReranker{score: func(text string) float64 { return float64(scores[numberOf(text)]) }}
		e := numbered(count).reranking(nodesOf(count), r)
		search := func(limit, offset int) Result {
			q := Query{Text: "description", Limit: limit, Offset: offset, Rerank: RerankQuery{asked, weight}}
			var found Result
			var err error
			if hybrid {
				found, err = e.Hybrid(context.Background(), HybridQuery{
					Query: q, Direction: AnyDirection, Weights: DefaultWeights(),
				})
			} else {
				found, err = e.Search(context.Background(), q)
			}
			require.NoError(t, err)
			require.Equal(t, count, found.Total)
			require.Empty(t, found.Degraded)
			return found
		}
		best := min(count, asked, 50)
		want := make([]int, count) // numbers of nodes
		fused := map[int]float64{}
		for i := range want {
			want[i] = i
			better := 0
			for other, score := range scores[:best] {
				if score > scores[i] || score == scores[i] && other < i {
					better++
				}
			}
			fused[i] = weight/float64(60+better) + (1-weight)/float64(60+i)
		}
		sort.SliceStable(want[:best], func(a, b int) bool { return fused[want[a]] > fused[want[b]] })

		size := rapid.IntRange(1, 20).Draw(t, "size")
		for offset := 0; offset == 0 || offset < count; offset += size {
			r.calls = nil
			page := search(size, offset)
			for i, hit := range page.Hits {
				number := want[offset+i]
				require.Equal(t, wikiID(number), hit.Node.ID)
				require.Equal(t, offset+i < best, hit.RerankScore != nil)
				if hit.RerankScore != nil {
					require.InDelta(t, float64(scores[number]), *hit.RerankScore, 0)
				}
			}
			require.Len(t, page.Hits, min(size, count-offset))
			if offset >= best {
				require.Nil(t, page.Reranked)
				require.Empty(t, r.calls, "no result of the page is reranked")
				continue
			}
			require.Equal(t, "fake", page.Reranked.Model)
			require.Equal(t, best, page.Reranked.Candidates)
			require.Len(t, r.calls, 1)
			require.Len(t, r.calls[0], best, "the same results on all pages")
		}
	})
}

func TestRerankingDoesNotChangeScores(t *testing.T) {
	r := &fakeReranker{score: func(text string) float64 { return float64(numberOf(text)) }}
	e := numbered(10).reranking(nodesOf(10), r)
	found, err := e.Search(t.Context(), Query{Text: "description", Limit: 10, MinScore: 0.3, Rerank: RerankQuery{3, 1}})
	require.NoError(t, err)
	require.Equal(
		t, []string{"node 2", "node 1", "node 0", "node 3", "node 4"}, names(found.Hits), "minScore is that of the search",
	)
	require.InDelta(t, 0.4, found.Hits[0].Score, 1e-9)
	require.InDelta(t, 2, *found.Hits[0].RerankScore, 0)
	require.Equal(t, 5, found.Total)

	plain, err := e.Search(t.Context(), Query{Text: "description", Limit: 10, MinScore: 0.3})
	require.NoError(t, err)
	require.Equal(t, []string{"node 0", "node 1", "node 2", "node 3", "node 4"}, names(plain.Hits))
	require.Nil(t, plain.Reranked)
	require.Len(t, r.calls, 1)
}

func TestWithoutAnAnswerOfTheRerankerTheOrderStays(t *testing.T) {
	for _, cause := range []error{errUnavailable, fault.New(fault.Invalid, "refused"), errors.New("a defect")} {
		r := &fakeReranker{score: func(text string) float64 { return float64(numberOf(text)) }, err: cause}
		s := numbered(4)
		s.errVector = errUnavailable
		var observed []error
		e := New(Deps{
			Text: s, Vectors: s, Graph: nodesOf(4), Embedder: s, Reranker: r, MaxRerank: 50, MaxRerankText: 200,
			Observe: func(lane string, _ time.Duration, err error) {
				if lane == laneRerank {
					observed = append(observed, err)
				}
			},
		})
		q := Query{Text: "description", Limit: 4, Rerank: RerankQuery{4, 1}}
		found, err := e.Search(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, []string{"node 0", "node 1", "node 2", "node 3"}, names(found.Hits))
		require.Equal(t, []string{LaneVector, DegradedRerank}, found.Degraded)
		require.Nil(t, found.Reranked)
		require.Nil(t, found.Hits[0].RerankScore)
		answer, err := e.Answer(t.Context(), AnswerQuery{HybridQuery: HybridQuery{
			Query: q, Direction: AnyDirection, Weights: DefaultWeights(),
		}, MaxSentences: 1})
		require.NoError(t, err)
		require.Contains(t, answer.Degraded, DegradedRerank)
		require.Equal(t, []error{cause, cause}, observed)
	}
}

func TestASearchIsAnsweredInTimeAlthoughTheRerankerIsNot(t *testing.T) {
	r := &fakeReranker{wait: true}
	e := numbered(3).reranking(nodesOf(3), r)
	q := Query{Text: "description", Limit: 3, Rerank: RerankQuery{3, 1}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	found, err := e.Search(ctx, q)
	require.NoError(t, err)
	require.Equal(t, []string{"node 0", "node 1", "node 2"}, names(found.Hits))
	require.Equal(t, []string{DegradedRerank}, found.Degraded)

	reason := errors.New("the client disconnected")
	cancelled, disconnect := context.WithCancelCause(t.Context())
	go disconnect(reason)
	_, err = e.Search(cancelled, q)
	require.ErrorIs(t, err, reason)
}

func TestTheRerankerReadsTheNameAndTheBestPartOfATextOnly(t *testing.T) {
	m := newMemory()
	texts := []string{"Zeroth.|The pump leaks.|It is blue.", "Nothing.|Pumps that leak, leak again.|A pump.", "Other.", ""}
	for i, text := range texts {
		m.node(graph.Node{ID: wikiID(i), Name: fmt.Sprintf("node %d", i), EntityType: graph.Object, Description: &text})
	}
	s := newFakeLanes()
	s.text = []TextHit{ // node 9 was deleted meanwhile
		{wikiID(0), 1, 0.9}, {wikiID(9), 1, 0.85}, {wikiID(1), 1, 0.8}, {wikiID(2), 1, 0.7}, {wikiID(3), 1, 0.6},
	}
	s.vectors = []VectorHit{{wikiID(0), 2, 0.5}}
	r := &fakeReranker{score: func(string) float64 { return 0 }}
	e := New(Deps{
		Text: s, Vectors: s, Graph: m, Embedder: s, Reranker: r, MaxRerank: 50, MaxRerankText: 25,
		Chunks: func(n *graph.Node) (list []Chunk) {
			for i, part := range strings.Split(n.Name+"\n"+*n.Description, "|") {
				list = append(list, Chunk{Index: i, Text: part})
			}
			return list
		},
	})
	found, err := e.Search(t.Context(), Query{Text: "does a pump leak", Limit: 10, Rerank: RerankQuery{5, 1}})
	require.NoError(t, err)
	require.Equal(t, [][]string{{
		"node 0\nIt is blue.",        // the chunk that the vector lane found
		"node 1\nPumps that leak, l", // the one with most words of the query, cut off
		"node 2\nOther.", "node 3",
	}}, r.calls)
	require.Equal(
		t, []string{"node 0", "node 1", "node 2", "node 3"}, names(found.Hits), "the same scores: the order stays",
	)
	require.Equal(t, 4, found.Reranked.Candidates)
}

func TestDocumentsAreGroupedBeforeTheyAreReranked(t *testing.T) {
	c := &catalogue{memory: newMemory()}
	c.addDocument(t, nil, nil, 3)
	c.addDocument(t, nil, nil, 1)
	s := newFakeLanes()
	for i, item := range c.items {
		s.text = append(s.text, TextHit{item.id, 1, 0.9 - float64(i)/10})
	}
	r := &fakeReranker{score: func(string) float64 { return 1 }}
	found, err := s.reranking(c.memory, r).Search(t.Context(), Query{
		Text: "n", Limit: 10, Rerank: RerankQuery{2, 1}, ByDocument: true,
		Facets: FacetQuery{Names: []FacetName{FacetEntityType}, Limit: 5},
	})
	require.NoError(t, err)
	require.Len(t, r.calls[0], 2, "one of each document")
	require.Equal(t, 2, found.Total)
	require.Equal(t, []FacetValue{{"object", 2}}, found.Facets[0].Values)
	for _, hit := range found.Hits {
		require.NotNil(t, document.MarkOf(&hit.Node).Passage)
	}
}

func TestWithoutARerankerNothingIsReranked(t *testing.T) {
	e := numbered(3).engine(nodesOf(3))
	require.Zero(t, e.MaxRerank())
	found, err := e.Search(t.Context(), Query{Text: "description", Limit: 3, Rerank: RerankQuery{3, 1}})
	require.NoError(t, err)
	require.Nil(t, found.Reranked)
	require.Empty(t, found.Degraded)
}
