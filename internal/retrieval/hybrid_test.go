package retrieval

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// link adds an edge between numbered nodes.
func (m *memory) link(number, from, to int, relation string) {
	m.edge(graph.Edge{
		ID: wikiID(1_000_000 + number), SourceID: wikiID(from), TargetID: wikiID(to), RelationType: relation,
	})
}

// chain returns the graph 0 -> 1 -> 2 -> 3 -> 4.
func chain() *memory {
	m := nodesOf(8)
	for i := range 4 {
		m.link(i, i, i+1, []string{"feeds", "owns"}[i%2])
	}
	return m
}

func hybrid(t testing.TB, s *fakeLanes, m *memory, change func(q *HybridQuery)) Result {
	t.Helper()
	q := HybridQuery{Query: Query{Text: "x", Limit: 100}, Hops: 2, Direction: AnyDirection, Weights: DefaultWeights()}
	change(&q)
	r, err := s.engine(m).Hybrid(t.Context(), q)
	require.NoError(t, err)
	return r
}

func TestScoreSpreadsWithinHopsDirectionAndRelations(t *testing.T) {
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(2), 5, 0.8}}
	for name, c := range map[string]struct {
		change func(q *HybridQuery)
		want   []string
	}{
		"seeds only": {func(q *HybridQuery) { q.Hops = 0 }, []string{"node 2"}},
		"one":        {func(q *HybridQuery) { q.Hops = 1 }, []string{"node 2", "node 1", "node 3"}},
		"two":        {func(*HybridQuery) {}, []string{"node 2", "node 1", "node 3", "node 0", "node 4"}},
		"out":        {func(q *HybridQuery) { q.Direction = Outgoing }, []string{"node 2", "node 3", "node 4"}},
		"in":         {func(q *HybridQuery) { q.Direction = Incoming }, []string{"node 2", "node 1", "node 0"}},
		"relation":   {func(q *HybridQuery) { q.RelationTypes = []string{"feeds"} }, []string{"node 2", "node 3"}},
		"no graph":   {func(q *HybridQuery) { q.Weights.Graph = 0 }, []string{"node 2"}},
	} {
		r := hybrid(t, s, chain(), c.change)
		require.Equal(t, c.want, names(r.Hits), name)
		require.Equal(t, 1.0, r.Hits[0].Score, name)
		require.Empty(t, r.Degraded)
	}
}

func TestAPathLeadsFromTheSeed(t *testing.T) {
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(0), 5, 0.8}}
	r := hybrid(t, s, chain(), func(q *HybridQuery) { q.Hops = 3; q.Explain = true })
	require.Equal(t, []string{"node 0", "node 1", "node 2", "node 3"}, names(r.Hits))
	require.Empty(t, r.Hits[0].Path)
	require.Len(t, r.Hits[3].Path, 3)
	for i, edge := range r.Hits[3].Path {
		require.Equal(t, wikiID(i), edge.SourceID)
	}
	require.Nil(t, r.Hits[3].Scores.Text)
	require.Equal(t, 1.0, *r.Hits[1].Scores.Graph)
	require.Equal(
		t, []Reason{{Kind: LaneGraph, From: wikiID(0), Detail: `linked to "node 0"`, Share: 1}}, r.Hits[3].Reasons,
	)
	require.Equal(t, LaneText, r.Hits[0].Reasons[0].Kind)
	require.Equal(t, "it matches 80 % of the query's words by weight", r.Hits[0].Reasons[0].Detail)
}

func TestStartsAndNamesAreSeedsOfFullWeight(t *testing.T) {
	s := newFakeLanes()
	s.names = []NamedNode{{wikiID(4), 1}}
	m := chain()
	r := hybrid(t, s, m, func(q *HybridQuery) {
		q.Starts = []uuid.UUID{wikiID(0), wikiID(99)}
		q.Hops = 1
		q.Explain = true
	})
	require.Equal(t, []string{"node 4", "node 0", "node 1", "node 3"}, names(r.Hits), "a start that is not there is none")
	require.Equal(t, "named", r.Hits[0].Reasons[0].Kind)
	require.Equal(t, "start", r.Hits[1].Reasons[0].Kind)
	require.Nil(t, r.Hits[1].Scores.Text)
	filtered := hybrid(t, s, m, func(q *HybridQuery) {
		q.Starts = []uuid.UUID{wikiID(0)}
		q.Filter = Filter{EntityTypes: []string{"actor"}}
	})
	require.NotContains(t, names(filtered.Hits), "node 0", "a start that does not pass is none")
}

func TestWithTheGraphAloneWhatIsFoundIsOnlyWhereTheWalkBegins(t *testing.T) {
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(0), 5, 0.8}}
	r := hybrid(t, s, chain(), func(q *HybridQuery) { q.Weights = Weights{Graph: 1}; q.Hops = 1; q.Direction = Outgoing })
	require.Equal(t, []string{"node 1"}, names(r.Hits))
	r = hybrid(t, s, nodesOf(2), func(q *HybridQuery) { q.Weights = Weights{Graph: 1} })
	require.Empty(t, r.Hits)
}

func TestWhatIsLinkedToMuchOfWhatWasFoundComesFirst(t *testing.T) {
	m := nodesOf(400)
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(1), 5, 0.5}, {wikiID(2), 5, 0.5}}
	m.link(1, 1, 3, "near") // only both hits are linked to node 3
	m.link(2, 2, 3, "near")
	m.link(3, 1, 4, "near") // both hits and everything else are linked to node 4
	m.link(4, 2, 4, "near")
	for i := 10; i < 350; i++ {
		m.link(i, i, 4, "near")
	}
	r := hybrid(t, s, m, func(*HybridQuery) {})
	require.Equal(t, []string{"node 1", "node 2", "node 3", "node 4"}, names(r.Hits)[:4])
	require.Less(t, r.Hits[3].Score, r.Hits[2].Score/2, "a node to which everything is linked has a low score")
}

func TestAHubDoesNotTakeTheWalkAndItsEdgesToOtherSeedsAreFoundFromThere(t *testing.T) {
	m := nodesOf(1)
	s := newFakeLanes()
	for i := 1; i < 3_000; i++ {
		m.node(graph.Node{ID: wikiID(i), Name: fmt.Sprintf("node %d", i), EntityType: graph.Object})
		m.link(i, 0, i, "feeds")
	}
	s.text = []TextHit{{wikiID(2_998), 5, 0.5}, {wikiID(2_999), 5, 0.5}} // far beyond what is followed from the hub
	r := hybrid(t, s, m, func(q *HybridQuery) { q.Hops = 3 })
	require.Equal(t, "node 0", r.Hits[0].Node.Name)
	require.LessOrEqual(t, r.Total, maxNodeEdges+3)
	require.Len(t, m.steps, 4, "the hub's relations are asked for apart")
	for _, step := range m.steps {
		require.LessOrEqual(t, len(step.Frontier), maxFrontier)
	}
}

func TestAWalkThatTakesTooLongEndsWhereItIs(t *testing.T) {
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(0), 5, 0.8}}
	m := chain()
	m.err = fault.New(fault.Timeout, "too long")
	r := hybrid(t, s, m, func(*HybridQuery) {})
	require.Equal(t, []string{LaneGraph}, r.Degraded)
	require.Equal(t, []string{"node 0"}, names(r.Hits))
	m.err = errUnavailable
	_, err := s.engine(m).Hybrid(t.Context(), HybridQuery{
		Query: Query{Text: "x", Limit: 1}, Hops: 1, Weights: DefaultWeights(),
	})
	require.ErrorIs(t, err, errUnavailable, "without the graph no node can be shown either")
}

func TestWhatTheLanesFoundFurtherDownFollowsWhatScoreReached(t *testing.T) {
	s := newFakeLanes()
	for i := range 8 {
		s.text = append(s.text, TextHit{wikiID(i), 1, 1 - float64(i)/10})
	}
	m := nodesOf(40)
	for i := 8; i < 30; i++ {
		s.text = append(s.text, TextHit{wikiID(i), 1, 0.2 - float64(i)/1_000})
	}
	r := hybrid(t, s, m, func(q *HybridQuery) { q.Explain = true })
	require.Equal(t, 30, r.Total, "not the seeds alone")
	for i, h := range r.Hits {
		require.Equal(t, wikiID(i), h.Node.ID)
		require.NotEmpty(t, h.Reasons)
	}
}

func TestRankIsTheSolutionOfTheEquations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		subgraph := newSubgraph(rapid.SampledFrom([]Direction{AnyDirection, Outgoing, Incoming}).Draw(t, "direction"))
		count := rapid.IntRange(1, 12).Draw(t, "nodes")
		for i := range count {
			subgraph.addNode(wikiID(i), 0)
		}
		node := rapid.IntRange(0, count-1)
		for i := range rapid.IntRange(0, 40).Draw(t, "edges") {
			subgraph.addEdge(Link{wikiID(1_000 + i), wikiID(node.Draw(t, "from")), wikiID(node.Draw(t, "to"))}, 0)
		}
		transitions := subgraph.transitions()
		seeds := make([]float64, count)
		seeds[node.Draw(t, "seed")] += 0.75
		seeds[node.Draw(t, "seed")] += 0.25
		ranks := rank(transitions, seeds, rankRounds)
		sum := 0.0
		for n := range ranks {
			want := (1 - damping) * seeds[n]
			for from, f := range transitions {
				want += damping * ranks[from] * f.probabilityOf(n)
			}
			require.InDelta(t, want, ranks[n], 1e-6)
			sum += ranks[n]
			shares := 0.0
			for _, share := range transitions[n].probability {
				shares += share
			}
			require.True(t, len(transitions[n].to) == 0 || shares > 1-1e-9 && shares < 1+1e-9)
		}
		require.LessOrEqual(t, sum, 1+1e-9)
	})
}

// The test queries random graphs twice, the second time with the edges in another order.
func TestAnswersAreTheSameEachTimeAndTheirSharesMakeNoMoreThanTheScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, again := nodesOf(15), nodesOf(15)
		node := rapid.IntRange(0, 14)
		type pair struct{ from, to int }
		var pairs []pair
		for range rapid.IntRange(0, 40).Draw(t, "edges") {
			pairs = append(pairs, pair{node.Draw(t, "from"), node.Draw(t, "to")})
		}
		for i, p := range pairs {
			m.link(i, p.from, p.to, "near")
			last := len(pairs) - 1 - i
			again.link(last, pairs[last].from, pairs[last].to, "near")
		}
		s := newFakeLanes()
		for i := range rapid.IntRange(0, 14).Draw(t, "text") {
			s.text = append(s.text, TextHit{wikiID(i), 1, 0.9 - float64(i)/20})
		}
		for i := range rapid.IntRange(0, 14).Draw(t, "near") {
			s.vectors = append(s.vectors, VectorHit{wikiID(14 - i), 0, 0.8 - float64(i)/20})
		}
		weight := rapid.SampledFrom([]float64{0, 0.5, 1})
		q := HybridQuery{
			Query: Query{Text: "x", Limit: 100}, Hops: rapid.IntRange(0, 3).Draw(t, "hops"), Explain: true,
			Direction: rapid.SampledFrom([]Direction{AnyDirection, Outgoing, Incoming}).Draw(t, "direction"),
			Weights:   Weights{weight.Draw(t, "wt"), weight.Draw(t, "wv"), weight.Draw(t, "wg")},
		}
		first, err := s.engine(m).Hybrid(context.Background(), q)
		require.NoError(t, err)
		second, err := s.engine(again).Hybrid(context.Background(), q)
		require.NoError(t, err)
		require.Equal(t, first, second)
		for i, h := range first.Hits {
			require.True(t, h.Score > 0 && h.Score <= 1)
			require.True(t, i > 0 || h.Score == 1)
			require.LessOrEqual(t, len(h.Path), q.Hops)
			sum := 0.0
			for _, reason := range h.Reasons {
				sum += reason.Share
			}
			require.LessOrEqual(t, sum, 1+1e-9)
		}
	})
}
