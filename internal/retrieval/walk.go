package retrieval

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// Bounds of a walk, so that its cost does not depend on the graph. ADR 22 has the reasons.
const (
	// maxEdges is the maximum number of edges that a walk reads.
	maxEdges = 10_000
	// maxFrontier is the maximum number of nodes at one distance that are expanded: those
	// with the highest scores.
	maxFrontier = 200
	// maxSeedEdges and maxNodeEdges are the maximum numbers of edges of a node that are
	// followed in each direction. The other edges of a hub can be reached from their other
	// ends.
	maxSeedEdges = 1_000
	maxNodeEdges = 100
)

// walk traverses the edges from the seeds, hop by hop, and returns the subgraph. The limit
// of edges is divided among the hops; what a hop does not use is available to the next
// ones. complete is false if the walk timed out or omitted edges because of a limit.
func (e *Engine) walk(ctx context.Context, q *HybridQuery, seeds []seed) (t *subgraph, complete bool, err error) {
	t = newSubgraph(q.Direction)
	for _, s := range seeds {
		t.addNode(s.id, 0)
	}
	if q.Weights.Graph == 0 || q.Hops == 0 || len(seeds) == 0 {
		return t, true, nil
	}
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, e.deps.WalkTimeout)
	defer cancel()
	w := walker{engine: e, query: q, subgraph: t, seeds: seeds}
	remaining := maxEdges
	for hop := 0; hop < q.Hops && err == nil; hop++ {
		budget := remaining / (q.Hops - hop)
		var used int
		used, err = w.expand(limited, hop, budget)
		remaining -= used
	}
	late := err != nil && ctx.Err() == nil && (fault.Is(err, fault.Timeout) || errors.Is(err, context.DeadlineExceeded))
	e.deps.Observe(LaneGraph, time.Since(start), err)
	if late {
		e.deps.Logger.WarnContext(ctx, "a walk through the graph ended early", "error", err)
		err = nil
	}
	return t, !late && !w.truncated, err
}

// walker has the state of a walk.
type walker struct {
	engine    *Engine
	query     *HybridQuery
	subgraph  *subgraph
	seeds     []seed
	truncated bool // edges were omitted because of a limit
}

// expand follows at most budget edges of the nodes at a distance of hop from the seeds, and
// returns how many it added. Each node has the same quota. What some nodes do not use is
// available to those that have more edges; their quota is divided among relation types.
func (w *walker) expand(ctx context.Context, hop, budget int) (used int, err error) {
	q := w.query
	step := Step{
		Frontier: w.subgraph.frontier(w.seeds, hop), Direction: q.Direction, RelationTypes: q.RelationTypes, Filter: q.Filter,
		Limit: budget,
	}
	limit := maxNodeEdges
	if hop == 0 {
		limit = maxSeedEdges
	}
	if len(step.Frontier) == 0 || budget <= 0 {
		w.truncated = w.truncated || len(step.Frontier) > 0
		return 0, nil
	}
	step.MaxPerNode = w.quota(budget, len(step.Frontier), limit)
	used, walked, err := w.follow(ctx, step, hop, budget)
	if err == nil && len(walked.TruncatedNodes) > 0 && used < budget {
		step.Frontier, step.ByRelation, step.Limit = walked.TruncatedNodes, true, budget
		step.MaxPerNode = min(limit, step.MaxPerNode+w.quota(budget-used, len(walked.TruncatedNodes), limit))
		var more int
		more, walked, err = w.follow(ctx, step, hop, budget-used)
		used += more
	}
	// A walk is truncated if a seed has more edges than maxSeedEdges, but not if a node
	// further away has more than maxNodeEdges.
	w.truncated = w.truncated || walked.Truncated && (hop == 0 || step.MaxPerNode < limit)
	return used, err
}

// quota returns the number of edges per node and direction if edges are divided among
// nodes, at most limit.
func (w *walker) quota(edges, nodes, limit int) int {
	directions := 1
	if w.query.Direction != Outgoing && w.query.Direction != Incoming {
		directions = 2
	}
	return min(max(edges/(directions*nodes), 1), limit)
}

// follow reads the edges of a step, adds at most limit new ones to the subgraph, and
// returns how many it added.
func (w *walker) follow(ctx context.Context, step Step, hop, limit int) (added int, walked WalkResult, err error) {
	walked, err = w.engine.deps.Graph.WalkEdges(ctx, w.query.Workspace, step)
	before := len(w.subgraph.edges)
	for _, l := range walked.Edges {
		if added = len(w.subgraph.edges) - before; added == limit {
			walked.Truncated = true
			break
		}
		w.subgraph.addEdge(l, hop+1)
	}
	return len(w.subgraph.edges) - before, walked, err
}

// frontier returns the nodes at a distance that have the highest scores so far.
func (t *subgraph) frontier(seeds []seed, depth int) []uuid.UUID {
	ranks := rank(t.transitions(), t.weights(seeds), depth+1)
	var at []int
	for n, d := range t.depth {
		if d == depth {
			at = append(at, n)
		}
	}
	slices.SortFunc(at, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranks[b], ranks[a]), uuids.Compare(t.ids[a], t.ids[b]))
	})
	ids := make([]uuid.UUID, 0, min(len(at), maxFrontier))
	for _, n := range at[:cap(ids)] {
		ids = append(ids, t.ids[n])
	}
	return ids
}

// weights returns the weights of the seeds by node, scaled to the sum 1.
func (t *subgraph) weights(seeds []seed) []float64 {
	w := make([]float64, len(t.ids))
	sum := 0.0
	for _, s := range seeds {
		sum += s.weight()
	}
	for _, s := range seeds {
		w[t.index[s.id]] = s.weight() / sum
	}
	return w
}

// pathTree has for each node the last edge of a shortest path from a seed, and the node
// before it. Of several candidates it is the one that propagates the highest score.
type pathTree struct {
	edge []uuid.UUID
	from []int // -1: a seed
}

func (t *subgraph) paths(transitions []transition, ranks []float64) *pathTree {
	p := &pathTree{edge: make([]uuid.UUID, len(t.ids)), from: make([]int, len(t.ids))}
	scores := make([]float64, len(t.ids))
	for n := range p.from {
		p.from[n] = -1
	}
	consider := func(from, to int, edge uuid.UUID) {
		if t.depth[to] != t.depth[from]+1 {
			return
		}
		score := ranks[from] * transitions[from].probabilityOf(to)
		better := p.from[to] < 0 || cmp.Or(
			cmp.Compare(scores[to], score),
			uuids.Compare(t.ids[from], t.ids[max(p.from[to], 0)]),
			uuids.Compare(edge, p.edge[to]),
		) < 0
		if better {
			p.from[to], p.edge[to], scores[to] = from, edge, score
		}
	}
	for i := range t.edges {
		l := &t.edges[i]
		if t.forward {
			consider(l.from, l.to, l.id)
		}
		if t.back {
			consider(l.to, l.from, l.id)
		}
	}
	return p
}

func (f *transition) probabilityOf(to int) float64 {
	if i, ok := slices.BinarySearch(f.to, int32(to)); ok {
		return f.probability[i]
	}
	return 0
}

// path returns the edges from a seed to a node.
func (p *pathTree) path(node int) (edges []uuid.UUID) {
	for ; p.from[node] >= 0; node = p.from[node] {
		edges = append(edges, p.edge[node])
	}
	slices.Reverse(edges)
	return edges
}
