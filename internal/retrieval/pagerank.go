package retrieval

import (
	"math"
	"slices"

	"github.com/google/uuid"
)

// Bounds of personalised PageRank. ADR 22 has the reasons.
const (
	// damping is the share of a node's score that is propagated over its edges.
	damping = 0.5
	// rankRounds is the number of rounds of the power iteration. The remaining error
	// halves with each round: after 24 rounds it is 6e-8 of the total.
	rankRounds = 24
)

// subgraph is the part of a graph that a query has traversed. Nodes are numbered in the
// order in which they were added.
type subgraph struct {
	ids       []uuid.UUID
	index     map[uuid.UUID]int
	depth     []int // edges from the nearest seed
	edges     []subgraphEdge
	seenEdges map[uuid.UUID]struct{} // ids of edges
	forward   bool                   // edges are walked from source to target
	back      bool                   // edges are walked from target to source
}

// subgraphEdge is an edge with the numbers of its nodes. They are looked up only once,
// because there are up to ten thousand edges, and each is read many times.
type subgraphEdge struct {
	id       uuid.UUID
	from, to int
}

func newSubgraph(direction Direction) *subgraph {
	return &subgraph{
		index: map[uuid.UUID]int{}, seenEdges: map[uuid.UUID]struct{}{},
		forward: direction != Incoming, back: direction != Outgoing,
	}
}

// addNode adds a node, unless it exists, and returns its number.
func (t *subgraph) addNode(id uuid.UUID, depth int) int {
	if n, ok := t.index[id]; ok {
		return n
	}
	n := len(t.ids)
	t.index[id] = n
	t.ids, t.depth = append(t.ids, id), append(t.depth, depth)
	return n
}

// addEdge adds an edge, unless it exists. It adds missing ends with the given depth.
func (t *subgraph) addEdge(l Link, depth int) {
	if _, ok := t.seenEdges[l.Edge]; ok {
		return
	}
	t.seenEdges[l.Edge] = struct{}{}
	t.edges = append(t.edges, subgraphEdge{id: l.Edge, from: t.addNode(l.Source, depth), to: t.addNode(l.Target, depth)})
}

// transition has the nodes to which a node propagates its score, and the share of each.
type transition struct {
	to          []int32
	probability []float64 // the sum is 1
}

// transitions returns the transition of each node. Its targets are sorted, and each occurs
// once however many edges lead to it: two nodes with three relations are not three times
// as near as two nodes with one. An edge from a node to itself is ignored.
//
// A target with a high in-degree gets a lower share, by the logarithm (Adamic and Adar,
// "Friends and neighbors on the Web", 2003): a link to a node to which everything is
// linked is as uninformative as a frequent word.
func (t *subgraph) transitions() []transition {
	transitions := make([]transition, len(t.ids))
	t.addTargets(transitions)
	inDegree := make([]int, len(transitions))
	for n := range transitions {
		slices.Sort(transitions[n].to)
		transitions[n].to = slices.Compact(transitions[n].to)
		for _, to := range transitions[n].to {
			inDegree[to]++
		}
	}
	weights := make([]float64, len(transitions))
	for n, count := range inDegree {
		weights[n] = 1 / math.Log(math.E-1+float64(count)) // 1 for an in-degree of 1
	}
	for n := range transitions {
		transitions[n].normalise(weights)
	}
	return transitions
}

// addTargets adds the targets of each node, which may include duplicates. It allocates the
// slices of all nodes from two arrays.
func (t *subgraph) addTargets(transitions []transition) {
	counts := make([]int, len(transitions))
	each := func(visit func(from, to int)) {
		for i := range t.edges {
			l := &t.edges[i]
			if l.from == l.to {
				continue
			}
			if t.forward {
				visit(l.from, l.to)
			}
			if t.back {
				visit(l.to, l.from)
			}
		}
	}
	total := 0
	each(func(from, _ int) { counts[from]++; total++ })
	to, probability := make([]int32, total), make([]float64, total)
	for n, count := range counts {
		transitions[n] = transition{to: to[:0:count], probability: probability[:0:count]}
		to, probability = to[count:], probability[count:]
	}
	each(func(from, to int) { transitions[from].to = append(transitions[from].to, int32(to)) })
}

// normalise sets the probability of each target to its weight, scaled to the sum 1.
func (f *transition) normalise(weights []float64) {
	sum := 0.0
	for _, to := range f.to {
		f.probability = append(f.probability, weights[to])
		sum += weights[to]
	}
	for i := range f.probability {
		f.probability[i] /= sum
	}
}

// rank propagates the weights of the seeds (one per node, with the sum 1) over the
// transitions: r = (1-d)·s + d·P'r, with the given number of rounds of the power
// iteration. The score of a node without targets is dropped. This does not change the
// order: restarted at the seeds, it would scale all scores alike.
func rank(transitions []transition, seeds []float64, rounds int) []float64 {
	ranks, next := slices.Clone(seeds), make([]float64, len(seeds))
	for n := range ranks {
		ranks[n] *= 1 - damping
	}
	for range rounds {
		for n, s := range seeds {
			next[n] = (1 - damping) * s
		}
		for n, r := range ranks {
			if r == 0 {
				continue
			}
			for i, to := range transitions[n].to {
				next[to] += damping * r * transitions[n].probability[i]
			}
		}
		ranks, next = next, ranks
	}
	return ranks
}
