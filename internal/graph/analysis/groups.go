package analysis

import (
	"cmp"
	"context"
	"slices"
)

// Groups is a partition of the nodes. Groups are numbered from 0 by descending size; of two of the same size, the one
// with the lowest node is first.
type Groups struct {
	Of    []int32 // the group of each node
	Sizes []int   // the number of nodes of each group
}

// Components returns the connected components of a graph, without regard to the direction of edges.
func Components(g *Graph) Groups {
	sets := newSets(g.Nodes())
	for i, source := range g.sources {
		sets.join(source, g.targets[i])
	}
	return sets.groups()
}

// sets are disjoint sets of nodes.
type sets []int32 // a node of the same set, with a lower number unless it is the first

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// find returns the first node of a node's set.
func (s sets) find(node int32) int32 {
	for s[node] != node {
		s[node] = s[s[node]]
		node = s[node]
	}
	return node
}

func (s sets) join(a, b int32) {
	a, b = s.find(a), s.find(b)
	if a < b {
		s[b] = a
	} else {
		s[a] = b
	}
}

func (s sets) groups() Groups {
	of := make([]int32, len(s))
	for i := range of {
		of[i] = s.find(int32(i))
	}
	return number(of)
}

// number numbers the groups of nodes, which are given by any numbers below the number of nodes. It overwrites of.
func number(of []int32) Groups {
	const unknown = -1
	seen := make([]int32, len(of))
	for i := range seen {
		seen[i] = unknown
	}
	var sizes []int // by order of the first node
	for i, group := range of {
		if seen[group] == unknown {
			seen[group] = int32(len(sizes))
			sizes = append(sizes, 0)
		}
		of[i] = seen[group]
		sizes[of[i]]++
	}
	order := make([]int32, len(sizes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(sizes[b], sizes[a]) })
	numbers, sorted := make([]int32, len(sizes)), make([]int, len(sizes))
	for to, from := range order {
		numbers[from], sorted[to] = int32(to), sizes[from]
	}
	for i := range of {
		of[i] = numbers[of[i]]
	}
	return Groups{Of: of, Sizes: sorted}
}

// Modularity returns the modularity of a partition: the share of the weight of edges inside of groups, less the share
// that random edges with the same degrees would have. The direction of edges does not matter. It is 0 without edges.
//
// See Newman, Analysis of weighted networks (2004).
func Modularity(g *Graph, groups Groups) float64 {
	inside, total := 0.0, 0.0
	strengths := make([]float64, len(groups.Sizes))
	for i, source := range g.sources {
		a, b, weight := groups.Of[source], groups.Of[g.targets[i]], g.weight(i)
		if total += weight; a == b {
			inside += weight
		}
		strengths[a] += weight
		strengths[b] += weight
	}
	if total == 0 {
		return 0
	}
	q := inside / total
	for _, s := range strengths {
		q -= (s / (2 * total)) * (s / (2 * total))
	}
	return q
}

// Communities returns groups of nodes that have more edges among them than to others, found by Louvain's method:
// each node moves to the group of a neighbor while that raises the modularity, in the order of the nodes; then each
// group becomes one node, and so on. A group that is not connected is divided, which raises the modularity. The
// direction of edges does not matter.
//
// See Blondel et al., Fast unfolding of communities in large networks (2008).
func Communities(ctx context.Context, g *Graph) (Groups, error) {
	l := newLevel(g)
	of := make([]int32, g.Nodes()) // the group of each node, a node of the level
	for i := range of {
		of[i] = int32(i)
	}
	check := newTicker(ctx)
	for range maxLevels {
		moved, err := l.move(check)
		if err != nil {
			return Groups{}, err
		}
		if !moved {
			break
		}
		if l, err = l.aggregate(check, of); err != nil {
			return Groups{}, err
		}
	}
	parts := newSets(g.Nodes())
	for i, source := range g.sources {
		if target := g.targets[i]; of[source] == of[target] && g.weight(i) > 0 {
			parts.join(source, target)
		}
	}
	return parts.groups(), nil
}
