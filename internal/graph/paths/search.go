package paths

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// readGrowth is the factor between the limits of two reads.
const readGrowth = 8

// side is what is known from one end of the paths.
type side struct {
	found    []int32 // nodes that are reached from the end, itself included
	isFound  map[int32]bool
	expanded map[int32]bool // nodes whose edges were read
	limit    int            // maximum number of edges of the next read; MaxInt: all that are left are too few
}

// search is the state of a search.
type search struct {
	reader    Reader
	query     Query
	limits    Limits
	index     map[uuid.UUID]int32
	ids       []uuid.UUID
	edges     []edge
	seen      map[uuid.UUID]struct{} // edges
	sides     [2]side                // from the start, from the target
	examined  int
	work      int
	truncated bool
}

const (
	start  = 0 // index of the node where paths begin, and of its side
	target = 1
)

func newSearch(reader Reader, q Query, limits Limits) *search {
	s := &search{
		reader: reader, query: q, limits: limits, ids: []uuid.UUID{q.From, q.To},
		index: map[uuid.UUID]int32{q.From: start, q.To: target}, seen: map[uuid.UUID]struct{}{},
	}
	for i := range s.sides {
		s.sides[i] = side{
			found: []int32{int32(i)}, isFound: map[int32]bool{int32(i): true}, expanded: map[int32]bool{},
			limit: limits.FirstRead,
		}
	}
	return s
}

// frontier has the nodes of a side that are not expanded and that paths may lead through, the nearest first.
type frontier struct {
	nodes []int32
	best  key // of the nearest
	hops  int // smallest number of edges to one of them
}

// survey is what the edges that were read say about paths.
type survey struct {
	graph     *subgraph
	distances [2]*labels // from the start, to the target
	frontiers [2]frontier
	maxLength int  // paths with more edges are not needed
	worst     key  // paths that are worse are not needed
	bound     key  // paths with an edge that was not read are not better
	complete  bool // all edges of the paths that are needed are in the subgraph
}

// survey computes the distances in the subgraph.
func (s *search) survey() *survey {
	g := newSubgraph(len(s.ids), s.edges, s.query.Out, s.query.In)
	return &survey{graph: g, maxLength: s.query.MaxLength, worst: infinite, bound: infinite, distances: [2]*labels{
		g.labelsFrom(&g.out, start, target, s.query.MaxLength, nil, &s.work),
		g.labelsFrom(&g.in, target, start, s.query.MaxLength, nil, &s.work),
	}}
}

// assess computes which other paths may be better than those in the subgraph.
func (s *search) assess(v *survey, list []Path) {
	if len(list) == s.query.Limit {
		last := &list[len(list)-1]
		v.worst = key{last.Cost, len(last.Edges)}
		if !s.query.Weighted {
			v.maxLength = len(last.Edges)
		}
	}
	for i := range v.frontiers {
		v.frontiers[i] = s.frontier(i, v.distances[i])
	}
	if v.complete = v.shortest() > v.maxLength; v.complete {
		return
	}
	for i := range v.frontiers {
		s.restrict(&v.frontiers[i], v.distances[i], v.maxLength-1-v.frontiers[1-i].hops)
	}
	a, b := v.frontiers[start].best, v.frontiers[target].best
	v.bound = key{a.cost + b.cost, a.hops + 1 + b.hops}
}

// shortest returns the smallest length of a path with an edge that was not read.
func (v *survey) shortest() int { return v.frontiers[start].hops + 1 + v.frontiers[target].hops }

// frontier returns the nodes of a side that are not expanded, in no order.
func (s *search) frontier(i int, distance *labels) frontier {
	f := frontier{hops: math.MaxInt32}
	for _, node := range s.sides[i].found {
		if s.sides[i].expanded[node] || int(node) == 1-i { // the other end
			continue
		}
		if hops, ok := distance.fewest(node); ok {
			f.nodes, f.hops = append(f.nodes, node), min(f.hops, hops)
		}
	}
	return f
}

// restrict removes the nodes of a frontier that are more than maxHops edges from their end, which is
// too far for a path, and sorts the others.
func (s *search) restrict(f *frontier, distance *labels, maxHops int) {
	f.nodes = slices.DeleteFunc(f.nodes, func(node int32) bool {
		hops, _ := distance.fewest(node)
		return hops > maxHops
	})
	best := func(node int32) key {
		k, _ := distance.within(node, s.query.MaxLength)
		return k
	}
	slices.SortFunc(f.nodes, func(a, b int32) int {
		return cmp.Or(best(a).compare(best(b)), uuids.Compare(s.ids[a], s.ids[b]))
	})
	f.best = best(f.nodes[0])
}

// expand reads the edges of the nearest nodes at one end: where a smaller read may suffice, or where
// there are fewer nodes.
func (s *search) expand(ctx context.Context, v *survey) error {
	left := s.limits.Edges - s.examined
	for {
		i := start
		if cmp.Or(
			cmp.Compare(s.sides[target].limit, s.sides[start].limit),
			cmp.Compare(len(v.frontiers[target].nodes), len(v.frontiers[start].nodes)),
		) < 0 {
			i = target
		}
		limit := min(s.sides[i].limit, left)
		if limit <= 0 || s.sides[i].limit == math.MaxInt {
			return s.expandPartly(ctx, i, v, left)
		}
		nodes := s.batch(i, v.frontiers[i].nodes)
		got, err := s.read(ctx, i, nodes, limit, limit)
		if err != nil {
			return err
		}
		switch {
		case !got.Truncated:
			s.sides[i].limit = s.limits.FirstRead
			s.add(i, nodes, got, v)
			return nil
		case limit == left:
			s.sides[i].limit = math.MaxInt
		default:
			s.sides[i].limit *= readGrowth
		}
	}
}

// expandPartly reads as many edges as the limit allows, the same number of each node, and ends the search.
func (s *search) expandPartly(ctx context.Context, i int, v *survey, limit int) error {
	s.truncated = true
	if limit <= 0 {
		return nil
	}
	nodes := s.batch(i, v.frontiers[i].nodes)
	got, err := s.read(ctx, i, nodes, limit, max(limit/len(nodes), 1))
	if err == nil {
		s.add(i, nodes, got, v)
	}
	return err
}

// batch returns those nodes of a frontier that are expanded at once: all that are as near, or of a
// weighted search the nearest.
func (s *search) batch(i int, nodes []int32) []int32 {
	if s.query.Weighted {
		nodes = nodes[:min(len(nodes), max(s.limits.FirstNodes, len(s.sides[i].expanded)/2))]
	}
	return nodes
}

func (s *search) read(ctx context.Context, i int, nodes []int32, limit, perNode int) (Batch, error) {
	read := Read{Out: s.query.Out, In: s.query.In, Limit: limit, MaxPerNode: perNode}
	if i == target {
		read.Out, read.In = read.In, read.Out
	}
	for _, node := range nodes {
		read.Nodes = append(read.Nodes, s.ids[node])
	}
	return s.reader.ReadEdges(ctx, read)
}

// add adds the edges of expanded nodes to the subgraph.
func (s *search) add(i int, nodes []int32, got Batch, v *survey) {
	own := &s.sides[i]
	for _, node := range nodes {
		own.expanded[node] = true
	}
	s.examined += got.Examined
	// If paths through the nearest nodes of both sides are as long as allowed, those through nodes that
	// are found only now are too long.
	last := v.shortest() == v.maxLength
	if len(s.ids)+len(got.Edges) > s.limits.Nodes { // the nodes that are cheap to reach are kept, always the same
		slices.SortFunc(got.Edges, func(a, b Edge) int {
			return cmp.Or(cmp.Compare(a.Cost, b.Cost), uuids.Compare(a.ID, b.ID))
		})
	}
	for _, e := range got.Edges {
		if !s.query.Weighted {
			e.Cost = 0
		}
		if e.Source == e.Target || s.isTooExpensive(&e, i, v) {
			continue
		}
		source, sourceOK := s.node(e.Source, last)
		target, targetOK := s.node(e.Target, last)
		if !sourceOK || !targetOK {
			continue
		}
		own.find(source)
		own.find(target)
		if _, seen := s.seen[e.ID]; seen {
			continue
		}
		s.seen[e.ID] = struct{}{}
		s.edges = append(s.edges, edge{e.ID, source, target, e.Cost})
	}
}

// isTooExpensive reports whether every path with an edge of a node of a frontier costs more than the
// worst path that is needed. The part of a path before the edge costs at least as much as the nearest node
// of the frontier, and the part after it as the nearest of the other side if that has not found the edge's
// ends.
func (s *search) isTooExpensive(e *Edge, i int, v *survey) bool {
	cost := e.Cost + v.frontiers[i].best.cost
	if other := &s.sides[1-i]; !other.knows(s.index, e.Source) && !other.knows(s.index, e.Target) {
		cost += v.frontiers[1-i].best.cost
	}
	return cost > v.worst.cost
}

func (s *side) knows(index map[uuid.UUID]int32, id uuid.UUID) bool {
	node, ok := index[id]
	return ok && s.isFound[node]
}

// find notes that a node is reached from an end. Of an edge, the end that was expanded is already
// noted.
func (s *side) find(node int32) {
	if !s.isFound[node] {
		s.isFound[node] = true
		s.found = append(s.found, node)
	}
}

// node returns the index of a node. ok is false for a node that is not known if known is required
// or the limit of nodes is reached.
func (s *search) node(id uuid.UUID, knownOnly bool) (index int32, ok bool) {
	if index, ok = s.index[id]; ok || knownOnly {
		return index, ok
	}
	if len(s.ids) >= s.limits.Nodes {
		s.truncated = true
		return 0, false
	}
	index = int32(len(s.ids))
	s.index[id] = index
	s.ids = append(s.ids, id)
	return index, true
}
