package analysis_test

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/livegraph/livegraph/internal/graph/analysis"
)

func BenchmarkAMillionEdges(b *testing.B) {
	const nodes, edges = 100_000, 1_000_000
	random := rand.New(rand.NewPCG(7, 8))
	list := make([]edge, edges)
	for i := range list {
		a := random.IntN(nodes)
		list[i] = edge{a, (a + int(random.ExpFloat64()*50)) % nodes, 1}
	}
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			build(b, nodes, list)
		}
	})
	g := build(b, nodes, list)
	b.Run("pagerank", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = analysis.PageRank(b.Context(), g, analysis.Out, 0.85)
		}
	})
	b.Run("components", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			analysis.Components(g)
		}
	})
	b.Run("communities", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = analysis.Communities(b.Context(), g)
		}
	})
}

// BenchmarkGonum has the same graph in gonum.
func BenchmarkGonum(b *testing.B) {
	const nodes, edges = 100_000, 1_000_000
	random := rand.New(rand.NewPCG(7, 8))
	build := func() *simple.DirectedGraph {
		g := simple.NewDirectedGraph()
		for range edges {
			a := random.IntN(nodes)
			if c := (a + int(random.ExpFloat64()*50)) % nodes; c != a {
				g.SetEdge(simple.Edge{F: simple.Node(a), T: simple.Node(c)})
			}
		}
		return g
	}
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			build()
		}
	})
	g := build()
	b.Run("pagerank", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			network.PageRankSparse(g, 0.85, 1e-10)
		}
	})
}
