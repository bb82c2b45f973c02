package analysis_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/graph/community"
	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph/analysis"
)

// edge is an edge of a test.
type edge struct {
	source, target int
	weight         float64
}

var unlimited = analysis.Limits{Nodes: math.MaxInt32, Edges: math.MaxInt32}

func id(n int) (id uuid.UUID) {
	binary.BigEndian.PutUint32(id[:], uint32(n))
	return id
}

func build(t require.TestingT, nodes int, edges []edge) *analysis.Graph {
	b := analysis.NewBuilder(unlimited, true)
	b.Reserve(int64(nodes), int64(len(edges)))
	for n := range nodes {
		require.NoError(t, b.AddNode(id(n)))
	}
	for _, e := range edges {
		added, err := b.AddEdge(id(e.source), id(e.target), e.weight)
		require.NoError(t, err)
		require.True(t, added)
	}
	return b.Graph()
}

// multigraphs draws graphs with self-loops, parallel edges, isolated nodes, nodes without edges out, and weights of 0.
func multigraphs(t *rapid.T) (nodes int, edges []edge) {
	nodes = rapid.IntRange(1, 12).Draw(t, "nodes")
	end := rapid.IntRange(0, nodes-1)
	weight := rapid.OneOf(rapid.Just(0.0), rapid.Just(1.0), rapid.Float64Range(0.001, 1000))
	return nodes, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) edge {
		return edge{end.Draw(t, "source"), end.Draw(t, "target"), weight.Draw(t, "weight")}
	}), 0, 30).Draw(t, "edges")
}

var directions = []analysis.Direction{analysis.Out, analysis.In, analysis.Both}

// matrix returns the sums of the weights from each node (row) to each (column) in a direction.
func matrix(nodes int, edges []edge, direction analysis.Direction) *mat.Dense {
	m := mat.NewDense(nodes, nodes, nil)
	for _, e := range edges {
		if direction != analysis.In {
			m.Set(e.source, e.target, m.At(e.source, e.target)+e.weight)
		}
		if direction != analysis.Out {
			m.Set(e.target, e.source, m.At(e.target, e.source)+e.weight)
		}
	}
	return m
}

func TestDegreesAreSumsOfWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, edges := multigraphs(t)
		direction := rapid.SampledFrom(directions).Draw(t, "direction")
		m := matrix(nodes, edges, direction)
		for n, degree := range analysis.Degrees(build(t, nodes, edges), direction) {
			require.InDelta(t, mat.Sum(m.RowView(n)), degree, 1e-9, "node %d", n)
		}
	})
}

// TestPageRankSolvesTheEquations compares the ranks with the direct solution of the linear equations by gonum.
func TestPageRankSolvesTheEquations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, edges := multigraphs(t)
		direction := rapid.SampledFrom(directions).Draw(t, "direction")
		damping := rapid.Float64Range(0, 0.95).Draw(t, "damping")
		m, left, right := matrix(nodes, edges, direction), mat.NewDense(nodes, nodes, nil), mat.NewVecDense(nodes, nil)
		for from := range nodes {
			strength := mat.Sum(m.RowView(from))
			right.SetVec(from, (1-damping)/float64(nodes))
			for to := range nodes {
				share := 1 / float64(nodes)
				if strength > 0 {
					share = m.At(from, to) / strength
				}
				left.Set(to, from, left.At(to, from)-damping*share)
			}
			left.Set(from, from, left.At(from, from)+1)
		}
		var expected mat.VecDense
		require.NoError(t, expected.SolveVec(left, right))

		found, err := analysis.PageRank(t.Context(), build(t, nodes, edges), direction, damping)

		require.NoError(t, err)
		require.True(t, found.Converged)
		sum := 0.0
		for n, rank := range found.Ranks {
			require.InDelta(t, expected.AtVec(n), rank, 1e-9, "node %d", n)
			sum += rank
		}
		require.InDelta(t, 1, sum, 1e-9)
	})
}

func TestPageRankIsThatOfGonum(t *testing.T) {
	nodes, edges := randomGraph(400, 2000)
	g := simple.NewDirectedGraph()
	for n := range nodes {
		g.AddNode(simple.Node(n))
	}
	for _, e := range edges {
		g.SetEdge(simple.Edge{F: simple.Node(e.source), T: simple.Node(e.target)})
	}
	expected := network.PageRankSparse(g, 0.85, 1e-13)
	found, err := analysis.PageRank(t.Context(), build(t, nodes, edges), analysis.Out, 0.85)
	require.NoError(t, err)
	for n, rank := range found.Ranks {
		require.InDelta(t, expected[int64(n)], rank, 1e-9, "node %d", n)
	}
}

// randomGraph returns a graph without self-loops and parallel edges. A tenth of its nodes have no edges out.
func randomGraph(nodes, count int) (int, []edge) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[[2]int]bool{}
	var edges []edge
	for len(edges) < count {
		e := edge{random.IntN(nodes * 9 / 10), random.IntN(nodes), 1}
		if pair := [2]int{e.source, e.target}; e.source != e.target && !seen[pair] {
			seen[pair] = true
			edges = append(edges, e)
		}
	}
	return nodes, edges
}

func TestComponentsAreThoseOfGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, edges := multigraphs(t)
		g := simple.NewUndirectedGraph()
		for n := range nodes {
			g.AddNode(simple.Node(n))
		}
		for _, e := range edges {
			if e.source != e.target {
				g.SetEdge(simple.Edge{F: simple.Node(e.source), T: simple.Node(e.target)})
			}
		}
		found := analysis.Components(build(t, nodes, edges))
		requireNumbered(t, nodes, found)
		expected := topo.ConnectedComponents(g)
		require.Len(t, found.Sizes, len(expected))
		for _, component := range expected {
			group := found.Of[component[0].ID()]
			require.Equal(t, len(component), found.Sizes[group])
			for _, n := range component {
				require.Equal(t, group, found.Of[n.ID()])
			}
		}
	})
}

// requireNumbered requires that groups are numbered by descending size, and then by their lowest node.
func requireNumbered(t require.TestingT, nodes int, groups analysis.Groups) {
	require.Len(t, groups.Of, nodes)
	sizes, first := make([]int, len(groups.Sizes)), make([]int, len(groups.Sizes))
	for n := len(groups.Of) - 1; n >= 0; n-- {
		sizes[groups.Of[n]]++
		first[groups.Of[n]] = n
	}
	require.Equal(t, groups.Sizes, sizes)
	for i := 1; i < len(sizes); i++ {
		if sizes[i-1] == sizes[i] {
			require.Less(t, first[i-1], first[i])
		} else {
			require.Greater(t, sizes[i-1], sizes[i])
		}
	}
}

// TestModularityIsThatOfTheDefinition compares with the sum over all pairs of nodes.
func TestModularityIsThatOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, edges := multigraphs(t)
		groups := analysis.Groups{Sizes: make([]int, nodes)}
		for range nodes {
			groups.Of = append(groups.Of, int32(rapid.IntRange(0, nodes-1).Draw(t, "group")))
		}
		m := matrix(nodes, edges, analysis.Both)
		total, expected := mat.Sum(m), 0.0
		for a := range nodes {
			for b := range nodes {
				if total > 0 && groups.Of[a] == groups.Of[b] {
					expected += (m.At(a, b) - mat.Sum(m.RowView(a))*mat.Sum(m.RowView(b))/total) / total
				}
			}
		}
		require.InDelta(t, expected, analysis.Modularity(build(t, nodes, edges), groups), 1e-9)
	})
}

// TestCommunitiesAreNearlyTheBest compares with the best of all partitions of small graphs.
func TestCommunitiesAreNearlyTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, edges := multigraphs(t)
		nodes = min(nodes, 7)
		var kept []edge
		for _, e := range edges {
			if e.source < nodes && e.target < nodes {
				kept = append(kept, e)
			}
		}
		g := build(t, nodes, kept)
		found, err := analysis.Communities(t.Context(), g)
		require.NoError(t, err)
		requireNumbered(t, nodes, found)
		requireConnected(t, found, kept)
		again, err := analysis.Communities(t.Context(), build(t, nodes, kept))
		require.NoError(t, err)
		require.Equal(t, found, again)
		require.GreaterOrEqual(t, analysis.Modularity(g, found), best(g, nil, nodes)-0.1)
	})
}

// TestANodeMayLeaveItsCommunity has a graph in which node 0 first joins node 4, and is better
// alone after node 1 followed.
func TestANodeMayLeaveItsCommunity(t *testing.T) {
	g := build(t, 5, []edge{{0, 0, 1}, {0, 4, 1}, {1, 1, 1}, {1, 4, 2.875}})
	found, err := analysis.Communities(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 0, 2, 3, 0}, found.Of)
	require.InDelta(t, 0.21005, analysis.Modularity(g, found), 1e-5)
}

// requireConnected requires that the nodes of each group are connected by edges inside of it.
func requireConnected(t require.TestingT, groups analysis.Groups, edges []edge) {
	var inside []edge
	for _, e := range edges {
		if groups.Of[e.source] == groups.Of[e.target] && e.weight > 0 {
			inside = append(inside, e)
		}
	}
	require.Equal(t, groups, analysis.Components(build(t, len(groups.Of), inside)))
}

// best returns the highest modularity of all partitions that begin with of.
func best(g *analysis.Graph, of []int32, nodes int) float64 {
	if len(of) == nodes {
		return analysis.Modularity(g, analysis.Groups{Of: of, Sizes: make([]int, nodes)})
	}
	next := int32(0)
	for _, group := range of {
		next = max(next, group+1)
	}
	highest := math.Inf(-1)
	for group := range next + 1 {
		highest = max(highest, best(g, append(of[:len(of):len(of)], group), nodes))
	}
	return highest
}

// TestCommunitiesAreAsGoodAsThoseOfGonum has a graph of 20 groups of 25 nodes, with edges inside of groups and fewer
// between them.
func TestCommunitiesAreAsGoodAsThoseOfGonum(t *testing.T) {
	const nodes, size = 500, 25
	random := rand.New(rand.NewPCG(3, 4))
	g := simple.NewWeightedUndirectedGraph(0, 0)
	var edges []edge
	for a := range nodes {
		for b := range a {
			p := 0.004
			if a/size == b/size {
				p = 0.3
			}
			if random.Float64() < p {
				w := 1 + random.Float64()
				edges = append(edges, edge{a, b, w})
				g.SetWeightedEdge(simple.WeightedEdge{F: simple.Node(a), T: simple.Node(b), W: w})
			}
		}
	}
	theirs := community.Q(g, community.Modularize(g, 1, rand.NewPCG(5, 6)).Communities(), 1)
	ours := build(t, nodes, edges)
	found, err := analysis.Communities(t.Context(), ours)
	require.NoError(t, err)
	require.GreaterOrEqual(t, analysis.Modularity(ours, found), theirs-0.005)
	require.Len(t, found.Sizes, nodes/size)
}

func TestAnEmptyGraphHasEmptyResults(t *testing.T) {
	g := build(t, 0, nil)
	ranking, err := analysis.PageRank(t.Context(), g, analysis.Out, 0.85)
	require.NoError(t, err)
	require.Empty(t, ranking.Ranks)
	require.True(t, ranking.Converged)
	communities, err := analysis.Communities(t.Context(), g)
	require.NoError(t, err)
	require.Empty(t, communities.Of)
	require.Empty(t, analysis.Components(g).Of)
	require.Empty(t, analysis.Degrees(g, analysis.Both))
	require.Zero(t, analysis.Modularity(g, communities))
}

func TestEdgesToOtherNodesAreNotAdded(t *testing.T) {
	b := analysis.NewBuilder(unlimited, false)
	require.NoError(t, b.AddNode(id(1)))
	require.NoError(t, b.AddNode(id(3)))
	for _, e := range []edge{{1, 2, 1}, {2, 1, 1}, {0, 4, 1}, {3, 1, 9}} {
		added, err := b.AddEdge(id(e.source), id(e.target), e.weight)
		require.NoError(t, err)
		require.Equal(t, e.weight == 9, added)
	}
	g := b.Graph()
	require.Equal(t, 1, g.Edges())
	require.Equal(t, []float64{0, 1}, analysis.Degrees(g, analysis.Out), "it is not weighted")
}

func TestAGraphHasLimits(t *testing.T) {
	b := analysis.NewBuilder(analysis.Limits{Nodes: 2, Edges: 1}, false)
	require.NoError(t, b.AddNode(id(1)))
	require.Error(t, b.AddNode(id(1)), "it is not in order")
	require.NoError(t, b.AddNode(id(2)))
	require.EqualError(t, b.AddNode(id(3)), "the graph has more than 2 nodes")
	_, err := b.AddEdge(id(1), id(2), 1)
	require.NoError(t, err)
	_, err = b.AddEdge(id(1), id(9), 1)
	require.NoError(t, err, "it is not in the graph")
	_, err = b.AddEdge(id(1), id(2), 1)
	require.EqualError(t, err, "the graph has more than 1 edges")
}

func TestComputationsAreCancelled(t *testing.T) {
	nodes, edges := randomGraph(2000, 70_000)
	g := build(t, nodes, edges)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := analysis.PageRank(ctx, g, analysis.Out, 0.85)
	require.ErrorIs(t, err, context.Canceled)
	_, err = analysis.Communities(ctx, g)
	require.ErrorIs(t, err, context.Canceled)
}

func TestPageRankReportsThatItDidNotConverge(t *testing.T) {
	g := build(t, 3, []edge{{0, 1, 1}, {1, 0, 1}, {2, 0, 1}})
	found, err := analysis.PageRank(t.Context(), g, analysis.Out, 0.999)
	require.NoError(t, err)
	require.Equal(t, analysis.MaxIterations, found.Iterations)
	require.False(t, found.Converged)
}

func TestParseWeight(t *testing.T) {
	for text, expected := range map[string]float64{"0": 0, "1.5": 1.5, "1e-300": 0, "5e-324": 0, "1e100": 1e100} {
		weight, ok := analysis.ParseWeight(text)
		require.True(t, ok, text)
		require.Equal(t, expected, weight, text)
	}
	for _, text := range []string{"", "-1", "1e101", "1e400", "NaN", "Infinity", "true", `"1"`, "null"} {
		_, ok := analysis.ParseWeight(text)
		require.False(t, ok, text)
	}
}
