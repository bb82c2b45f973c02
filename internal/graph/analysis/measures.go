package analysis

import (
	"context"
	"math"
)

// Degrees returns the sum of the weights of each node's edges in a direction. A self-loop counts once out, once in, and
// twice in both.
func Degrees(g *Graph, direction Direction) []float64 {
	degrees := make([]float64, g.Nodes())
	g.each(direction, func(node, _ int32, edge int) { degrees[node] += g.weight(edge) })
	return degrees
}

const (
	// tolerance is the largest sum of the errors of all ranks with which PageRank has converged.
	tolerance = 1e-10
	// MaxIterations is the maximum number of iterations of PageRank.
	MaxIterations = 1000
)

// Ranking is the result of PageRank.
type Ranking struct {
	Ranks      []float64 // they sum to 1
	Iterations int
	Converged  bool // false: MaxIterations was reached first
}

// PageRank returns the PageRank of each node: how often a surfer is there that follows an edge in the direction with
// probability damping, by its weight, and otherwise goes to any node. From a node without such edges it goes to any
// node. damping must be at least 0 and less than 1.
//
// See Brin and Page, The anatomy of a large-scale hypertextual Web search engine (1998). The sum of the errors after an
// iteration is at most damping/(1-damping) times the sum of its changes.
func PageRank(ctx context.Context, g *Graph, direction Direction, damping float64) (Ranking, error) {
	n := g.Nodes()
	r := Ranking{Ranks: make([]float64, n), Converged: true}
	if n == 0 {
		return r, nil
	}
	strengths := Degrees(g, direction)
	from := g.adjacency(reverse(direction))
	next, shares := make([]float64, n), make([]float64, n)
	for i := range r.Ranks {
		r.Ranks[i] = 1 / float64(n)
	}
	for check := newTicker(ctx); r.Iterations < MaxIterations; {
		change, err := step(check, from, strengths, r.Ranks, shares, next, damping)
		if err != nil {
			return Ranking{}, err
		}
		r.Ranks, next = next, r.Ranks
		r.Iterations++
		if change*damping/(1-damping) <= tolerance {
			return r, nil
		}
	}
	r.Converged = false
	return r, nil
}

func reverse(d Direction) Direction {
	switch d {
	case Out:
		return In
	case In:
		return Out
	}
	return d
}

// step computes the ranks after one more step of the surfer in next, and returns the sum of their changes.
func step(check *ticker, from *adjacency, strengths, ranks, shares, next []float64, damping float64) (float64, error) {
	lost := 0.0 // the rank of nodes without edges
	for i, rank := range ranks {
		if strengths[i] > 0 {
			shares[i] = rank / strengths[i]
		} else {
			shares[i] = 0
			lost += rank
		}
	}
	base := (1 - damping + damping*lost) / float64(len(ranks))
	change := 0.0
	for node := range next {
		first, end := from.row(node)
		sum := 0.0
		for i := first; i < end; i++ {
			sum += shares[from.neighbors[i]] * from.weight(i)
		}
		next[node] = base + damping*sum
		change += math.Abs(next[node] - ranks[node])
		if err := check.tick(int(end-first) + 1); err != nil {
			return 0, err
		}
	}
	return change, nil
}
