package paths

import (
	"container/heap"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// enumerate returns the first paths in the subgraph. exhausted reports that the limit of work ended it.
//
// It is Yen's algorithm with Lawler's improvement: after a path is found, the paths that leave it
// at each of its nodes are candidates. Of a candidate only a lower bound is computed until it is
// the first.
func (s *search) enumerate(ctx context.Context, v *survey) (list []Path, exhausted bool) {
	e := &enumerator{
		search: s, graph: v.graph, base: v.distances[target], blocked: make([]bool, v.graph.nodes),
		dead: map[state]struct{}{},
	}
	e.push(candidate{nodes: []int32{start}})
	for len(e.queue) > 0 && len(list) < s.query.Limit {
		if s.work > s.limits.Work {
			return list, true
		}
		if ctx.Err() != nil {
			return nil, false
		}
		c := heap.Pop(&e.queue).(candidate)
		if !c.solved {
			e.solve(c)
			continue
		}
		list = append(list, s.path(&c))
		e.branch(&c)
	}
	return list, false
}

func (s *search) path(c *candidate) Path {
	p := Path{Cost: c.key.cost}
	for _, node := range c.nodes {
		p.Nodes = append(p.Nodes, s.ids[node])
	}
	for _, e := range c.edges {
		p.Edges = append(p.Edges, s.edges[e].id)
	}
	return p
}

// candidate is the set of the simple paths that begin with given nodes and edges and do not
// continue with certain edges. If it is solved, nodes and edges are those of its best path, of which
// the first prefix edges were given.
type candidate struct {
	nodes, edges []int32
	prefix       int
	banned       []int32
	key          key // of the best path, or a lower bound of it
	solved       bool
	ids          []uuid.UUID // of the edges of a solved candidate
}

// enumerator lists the paths of a subgraph.
type enumerator struct {
	*search
	graph   *subgraph
	base    *labels // distances to the target
	queue   candidates
	blocked []bool // nodes of the candidate that is being solved
	dead    map[state]struct{}
}

// state is a node and the number of edges from there to the target.
type state struct {
	node int32
	hops int
}

// push adds a candidate with its lower bound, unless it has no path.
func (e *enumerator) push(c candidate) {
	e.block(&c, true)
	best, ok := e.bestKey(&c, e.base)
	e.block(&c, false)
	if ok {
		c.prefix = len(c.edges)
		if c.key = e.withPrefix(c.edges, best); !math.IsInf(c.key.cost, 1) {
			heap.Push(&e.queue, c)
		}
	}
}

// branch adds the candidates whose paths leave a path at one of its nodes.
func (e *enumerator) branch(c *candidate) {
	for i := c.prefix; i < len(c.edges); i++ {
		next := candidate{
			nodes: slices.Clip(c.nodes[:i+1]), edges: slices.Clip(c.edges[:i]), banned: []int32{c.edges[i]},
		}
		if i == c.prefix {
			next.banned = append(next.banned, c.banned...)
		}
		e.push(next)
	}
}

// solve finds the best path of a candidate and adds the candidate again, unless it has no path.
func (e *enumerator) solve(c candidate) {
	e.block(&c, true)
	defer func(prefix candidate) { e.block(&prefix, false) }(c)
	distances := e.base
	nodes, edges, ok := e.follow(&c, distances)
	if !ok { // all such paths go through a node of the prefix
		distances = e.graph.labelsFrom(
			&e.graph.in, target, start, e.query.MaxLength-len(c.edges)-1, func(node int32) bool { return e.blocked[node] },
			&e.work,
		)
		if nodes, edges, ok = e.follow(&c, distances); !ok {
			return
		}
	}
	best, _ := e.bestKey(&c, distances)
	c.key = e.withPrefix(c.edges, best)
	c.nodes, c.edges, c.solved = append(c.nodes, nodes...), append(c.edges, edges...), true
	for _, i := range c.edges {
		c.ids = append(c.ids, e.search.edges[i].id)
	}
	if !math.IsInf(c.key.cost, 1) {
		heap.Push(&e.queue, c)
	}
}

func (e *enumerator) block(c *candidate, blocked bool) {
	for _, node := range c.nodes {
		e.blocked[node] = blocked
	}
}

// withPrefix returns the key of a path that continues edges. Costs are added from the last to the
// first, as in labels.
func (e *enumerator) withPrefix(edges []int32, k key) key {
	for _, i := range slices.Backward(edges) {
		k = k.after(e.search.edges[i].cost)
	}
	return k
}

// bestKey returns the key of the best continuation of a candidate, by distances to the target.
func (e *enumerator) bestKey(c *candidate, distances *labels) (best key, ok bool) {
	left := e.query.MaxLength - len(c.edges)
	for way, k := range e.continuations(c, distances, left) {
		if k = k.after(e.search.edges[way.edge].cost); !ok || k.compare(best) < 0 {
			best, ok = k, true
		}
	}
	return best, ok
}

// continuations returns the arcs with which a candidate may continue, each with the key of the best path after it.
func (e *enumerator) continuations(c *candidate, distances *labels, left int) iter.Seq2[arc, key] {
	return func(yield func(arc, key) bool) {
		ways := e.graph.out.of(c.nodes[len(c.nodes)-1])
		e.work += len(ways)
		for _, way := range ways {
			if e.blocked[way.node] || slices.Contains(c.banned, way.edge) {
				continue
			}
			if k, ok := distances.within(way.node, left-1); ok && !yield(way, k) {
				return
			}
		}
	}
}

// follow returns the best continuation of a candidate whose key is the distance to the target, and
// of several the first by the ids of edges.
func (e *enumerator) follow(c *candidate, distances *labels) (nodes, edges []int32, ok bool) {
	best, ok := e.bestKey(c, distances)
	if !ok {
		return nil, nil, false
	}
	clear(e.dead)
	var tight []arc
	for way, k := range e.continuations(c, distances, e.query.MaxLength-len(c.edges)) {
		if k.after(e.search.edges[way.edge].cost) == best {
			tight = append(tight, way)
		}
	}
	return e.first(tight, best.hops, distances)
}

// first returns the first path to the target that begins with one of the arcs.
func (e *enumerator) first(tight []arc, hops int, distances *labels) (nodes, edges []int32, ok bool) {
	slices.SortFunc(tight, func(a, b arc) int {
		return uuids.Compare(e.search.edges[a.edge].id, e.search.edges[b.edge].id)
	})
	for _, way := range tight {
		if nodes, edges, ok = e.descend(way.node, hops-1, distances); ok {
			return append([]int32{way.node}, nodes...), append([]int32{way.edge}, edges...), true
		}
	}
	return nil, nil, false
}

// descend returns the first path from a node to the target whose key is the distance. Its nodes are
// different, because the distance decreases with each.
func (e *enumerator) descend(node int32, hops int, distances *labels) (nodes, edges []int32, ok bool) {
	if node == target {
		return nil, nil, true
	}
	at := state{node, hops}
	if _, dead := e.dead[at]; dead {
		return nil, nil, false
	}
	distance, _ := distances.within(node, hops)
	ways := e.graph.out.of(node)
	e.work += len(ways)
	var tight []arc
	for _, way := range ways {
		if e.blocked[way.node] {
			continue
		}
		k, ok := distances.within(way.node, hops-1)
		if ok && k.after(e.search.edges[way.edge].cost) == distance {
			tight = append(tight, way)
		}
	}
	if nodes, edges, ok = e.first(tight, hops, distances); !ok {
		e.dead[at] = struct{}{}
	}
	return nodes, edges, ok
}

// candidates is a heap, the best first. A candidate that is not solved is before those that are as
// good, so that a solved one is the first of all with its key.
type candidates []candidate

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }

func (c candidates) Less(i, j int) bool {
	a, b := &c[i], &c[j]
	if order := a.key.compare(b.key); order != 0 {
		return order < 0
	}
	if a.solved != b.solved {
		return b.solved
	}
	return slices.CompareFunc(a.ids, b.ids, uuids.Compare) < 0
}

func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
