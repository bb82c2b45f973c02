package retrieval

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
)

func weightsOf(seeds []seed) map[uuid.UUID]float64 {
	weights := map[uuid.UUID]float64{}
	for _, s := range seeds {
		weights[s.id] = s.weight()
	}
	return weights
}

func TestTheBestTenOfALaneAreSeedsByTheSquareOfTheirPlace(t *testing.T) {
	f := &findings{}
	for i := range 12 {
		f.nodes = append(f.nodes, finding{id: wikiID(i), share: 1.2 - float64(i)/20, chunk: -1})
	}
	q := &HybridQuery{Weights: Weights{Text: 0.5}}
	weights := weightsOf(f.seeds(q))
	require.Len(t, weights, laneSeeds)
	require.InDelta(t, 0.5, weights[wikiID(0)], 1e-9, "the weight of the lane, as its best has all of the query")
	require.InDelta(t, 0.5*0.25, weights[wikiID(5)], 1e-9, "half way to the eleventh")
	f.nodes = f.nodes[6:8]
	weights = weightsOf(f.seeds(q))
	require.InDelta(t, 0.5*0.9, weights[wikiID(6)], 1e-9, "a lane whose best node has a lower score has less weight")
	require.Greater(t, weights[wikiID(7)], 0.4, "a lane with few nodes does not reduce the weight of the last one")
}

func TestSeedsThatAreNamedWeighWhatTheirNamesDoAndTogetherNoMoreThanTen(t *testing.T) {
	f := &findings{nodes: []finding{{id: wikiID(99), named: 1, chunk: -1}}}
	for i := range 20 {
		f.nodes = append(f.nodes, finding{id: wikiID(i), named: 0.05, chunk: -1})
	}
	weights := weightsOf(f.seeds(&HybridQuery{Weights: DefaultWeights()}))
	require.InDelta(t, 1, weights[wikiID(99)], 1e-9)
	require.InDelta(t, 0.05, weights[wikiID(1)], 1e-9, "one of twenty namesakes")
	for i := range f.nodes {
		f.nodes[i].named = 1
	}
	for _, weight := range weightsOf(f.seeds(&HybridQuery{Weights: DefaultWeights()})) {
		require.InDelta(t, 10.0/21, weight, 1e-9)
	}
}

func TestAStartThatIsFoundAsWellIsOneNodeAndOneThatIsGoneIsNone(t *testing.T) {
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(1), 5, 0.5}}
	r := hybrid(t, s, nodesOf(3), func(q *HybridQuery) { q.Starts = []uuid.UUID{wikiID(1), wikiID(1), wikiID(77)} })
	require.Equal(t, []string{"node 1"}, names(r.Hits))
	require.Equal(t, 1, r.Total)
	require.NotNil(t, r.Hits[0].Scores.Text)
}

func TestScoreSpreadsOncePerNeighborAndNeverBackToItself(t *testing.T) {
	subgraph := newSubgraph(AnyDirection)
	for i := range 3 {
		subgraph.addNode(wikiID(i), 0)
	}
	for i, l := range [][2]int{{0, 1}, {1, 0}, {0, 1}, {0, 2}, {0, 0}} {
		subgraph.addEdge(Link{wikiID(100 + i), wikiID(l[0]), wikiID(l[1])}, 0)
	}
	flows := subgraph.transitions()
	require.Equal(t, []int32{1, 2}, flows[0].to)
	require.Equal(t, []float64{0.5, 0.5}, flows[0].probability)
}

func TestAWalkContinuesFromTheNodesWithTheHighestScore(t *testing.T) {
	m := nodesOf(500)
	s := newFakeLanes()
	s.text = []TextHit{{wikiID(0), 5, 0.5}}
	for i := 1; i < 500; i++ {
		m.link(i, 0, i, "feeds")
	}
	hybrid(t, s, m, func(*HybridQuery) {})
	require.Len(t, m.steps, 2)
	require.Len(t, m.steps[1].Frontier, maxFrontier)
	require.Equal(t, m.steps[1].Limit, maxEdges-499, "the last hop has what is left")
	m.steps = nil
	hybrid(t, s, m, func(q *HybridQuery) { q.Weights.Graph = 0 })
	require.Empty(t, m.steps, "a graph of weight 0 is not walked")
}

func TestAPathWithAnEdgeThatIsAnotherByNowIsNotShown(t *testing.T) {
	edges := map[uuid.UUID]graph.Edge{
		wikiID(1): {ID: wikiID(1), RelationType: "feeds"}, wikiID(2): {ID: wikiID(2), RelationType: "owns"},
	}
	ids := []uuid.UUID{wikiID(1), wikiID(2)}
	require.Len(t, walkedPath(ids, edges, nil), 2)
	require.Nil(t, walkedPath(ids, edges, []string{"feeds"}))
	require.Nil(t, walkedPath([]uuid.UUID{wikiID(1), wikiID(3)}, edges, nil))
}
