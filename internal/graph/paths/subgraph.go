package paths

import (
	"math"

	"github.com/google/uuid"
)

// edge is an edge of the subgraph. Its ends are indexes of nodes.
type edge struct {
	id             uuid.UUID
	source, target int32
	cost           float64
}

// arc is an edge in a direction in which paths may follow it, at one of its ends.
type arc struct{ edge, node int32 }

// adjacency has the arcs of all nodes: those of node n are arcs[first[n]:first[n+1]].
type adjacency struct {
	first []int32
	arcs  []arc
}

func (a *adjacency) of(node int32) []arc { return a.arcs[a.first[node]:a.first[node+1]] }

// subgraph is the part of a graph that was read.
type subgraph struct {
	edges   []edge
	out, in adjacency // arcs that begin, that end at a node
	nodes   int
}

// newSubgraph returns the subgraph of edges that are followed from source to target or back.
func newSubgraph(nodes int, edges []edge, forth, back bool) *subgraph {
	g := &subgraph{edges: edges, nodes: nodes}
	g.out = newAdjacency(nodes, edges, forth, back)
	g.in = newAdjacency(nodes, edges, back, forth)
	return g
}

func newAdjacency(nodes int, edges []edge, atSource, atTarget bool) adjacency {
	a := adjacency{first: make([]int32, nodes+1)}
	each := func(visit func(at int32, way arc)) {
		for i := range edges {
			if atSource {
				visit(edges[i].source, arc{int32(i), edges[i].target})
			}
			if atTarget {
				visit(edges[i].target, arc{int32(i), edges[i].source})
			}
		}
	}
	total := 0
	each(func(at int32, _ arc) { a.first[at+1]++; total++ })
	for n := range nodes {
		a.first[n+1] += a.first[n]
	}
	a.arcs = make([]arc, total)
	next := append([]int32(nil), a.first...)
	each(func(at int32, way arc) {
		a.arcs[next[at]] = way
		next[at]++
	})
	return a
}

// labels has the keys of the best paths between one node and every other. A longer path can be
// cheaper, so a node has several: each has more edges and costs less than the one before.
type labels struct {
	entries []label
	last    []int32 // node -> index of its last entry, or -1
}

type label struct {
	key
	previous int32 // index of the entry of the same node with fewer edges, or -1
}

// labelsFrom returns the labels of paths with at most maxHops edges between start and the nodes
// along arcs. No path leads through stop or to a node for which skip returns true. It adds the
// number of its steps to work.
func (g *subgraph) labelsFrom(
	arcs *adjacency, start, stop int32, maxHops int, skip func(node int32) bool, work *int,
) *labels {
	l := &labels{last: make([]int32, g.nodes)}
	pending := make([]float64, g.nodes) // the best costs of a round; infinite: none
	for i := range l.last {
		l.last[i], pending[i] = -1, math.Inf(1)
	}
	l.last[start] = 0
	l.entries = append(l.entries, label{previous: -1})
	changed, reached := []int32{start}, []int32{}
	for hops := 1; hops <= maxHops && len(changed) > 0; hops++ {
		for _, node := range changed {
			if node == stop {
				continue
			}
			from := l.entries[l.last[node]].cost
			ways := arcs.of(node)
			*work += len(ways)
			for _, way := range ways {
				cost := g.edges[way.edge].cost + from
				if !l.improves(way.node, cost) || cost >= pending[way.node] || skip != nil && skip(way.node) {
					continue
				}
				if math.IsInf(pending[way.node], 1) {
					reached = append(reached, way.node)
				}
				pending[way.node] = cost
			}
		}
		// Entries are added after the round, so that no path of a round has more edges than its number.
		for _, node := range reached {
			l.entries = append(l.entries, label{key{pending[node], hops}, l.last[node]})
			l.last[node], pending[node] = int32(len(l.entries)-1), math.Inf(1)
		}
		changed, reached = reached, changed[:0]
	}
	return l
}

// improves reports whether a cost is less than that of all entries of a node.
func (l *labels) improves(node int32, cost float64) bool {
	last := l.last[node]
	return last < 0 || cost < l.entries[last].cost
}

// within returns the best key of a node with at most hops edges.
func (l *labels) within(node int32, hops int) (key, bool) {
	for i := l.last[node]; i >= 0; i = l.entries[i].previous {
		if l.entries[i].hops <= hops {
			return l.entries[i].key, true
		}
	}
	return key{}, false
}

// fewest returns the number of edges of the shortest path to a node.
func (l *labels) fewest(node int32) (hops int, found bool) {
	for i := l.last[node]; i >= 0; i = l.entries[i].previous {
		hops, found = l.entries[i].hops, true
	}
	return hops, found
}
