package retrieval

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
)

// hubs links each of the nodes from 0 to count-1 to the given number of new nodes. It
// returns the number of the next node.
func hubs(m *memory, count, edges int, relation string) (next int) {
	next = len(m.nodes)
	for hub := range count {
		for range edges {
			m.node(graph.Node{ID: wikiID(next), Name: fmt.Sprintf("leaf %d", next), EntityType: graph.Object})
			m.link(next, hub, next, relation)
			next++
		}
	}
	return next
}

// addSeeds lets the text lane find the nodes from 0 to count-1, the first as the best.
func addSeeds(s *fakeLanes, count int) {
	for i := range count {
		s.text = append(s.text, TextHit{wikiID(i), 5, 0.9 - float64(i)/1000})
	}
}

func TestHubsLeaveEdgesToOtherSeedsAndToTheHopsThatFollow(t *testing.T) {
	m := nodesOf(10)
	next := hubs(m, 9, 1_500, "feeds")
	for i, name := range []string{"near", "far", "farther"} {
		m.node(graph.Node{ID: wikiID(next + i), Name: name, EntityType: graph.Object})
	}
	m.link(next, 9, next, "feeds") // from the last seed
	m.link(next+1, next, next+1, "feeds")
	m.link(next+2, next+1, next+2, "feeds")
	s := newFakeLanes()
	addSeeds(s, 10)
	r := hybrid(t, s, m, func(q *HybridQuery) { q.Hops = 3 })
	require.Equal(t, []string{LaneGraph}, r.Degraded, "omitted edges are reported")
	edges := 0
	for _, step := range m.steps {
		require.LessOrEqual(t, step.Limit, maxEdges)
		edges += step.Limit
	}
	require.LessOrEqual(t, edges, 2*maxEdges, "the number of edges read is bounded")
	for _, name := range []string{"near", "far", "farther"} {
		require.True(t, reaches(t, s, m, name), name)
	}
}

// reaches reports whether a walk of three hops reaches a node.
func reaches(t *testing.T, s *fakeLanes, m *memory, name string) bool {
	t.Helper()
	e := s.engine(m)
	q := HybridQuery{Query: Query{Text: "x", Limit: 100}, Hops: 3, Direction: AnyDirection, Weights: DefaultWeights()}
	f, err := e.queryLanes(t.Context(), &q.Query, q.laneWeights(), nil)
	require.NoError(t, err)
	subgraph, _, err := e.walk(t.Context(), &q, f.seeds(&q))
	require.NoError(t, err)
	require.LessOrEqual(t, len(subgraph.edges), maxEdges)
	for _, id := range subgraph.ids {
		if m.nodes[id].Name == name {
			return true
		}
	}
	return false
}

func TestARelationOfVeryManyEdgesLeavesRoomForOthers(t *testing.T) {
	m := nodesOf(1)
	next := hubs(m, 1, 12_000, "feeds")
	m.node(graph.Node{ID: wikiID(next), Name: "owner", EntityType: graph.Actor})
	m.link(next, 0, next, "owned by")
	s := newFakeLanes()
	addSeeds(s, 1)
	require.True(t, reaches(t, s, m, "owner"))
}

func TestAWalkThatFollowsEverythingIsNotDegraded(t *testing.T) {
	m := nodesOf(10)
	hubs(m, 10, 90, "feeds")
	s := newFakeLanes()
	addSeeds(s, 10)
	r := hybrid(t, s, m, func(*HybridQuery) {})
	require.Empty(t, r.Degraded)
	require.Equal(t, 910, r.Total)
	m = nodesOf(1)
	hubs(m, 1, 1_200, "feeds")
	s = newFakeLanes()
	addSeeds(s, 1)
	r = hybrid(t, s, m, func(q *HybridQuery) { q.Hops = 1 })
	require.Equal(t, []string{LaneGraph}, r.Degraded, "a seed has more edges than are followed of one")
}
