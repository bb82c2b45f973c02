package retrieval

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Bounds of a walk, so that it costs the same in any graph. ADR 22 has the reasons.
const (
	// mostEdges is how many edges a walk looks at.
	mostEdges = 10_000
	// mostExpanded is how many nodes at one distance are gone on from: those with most
	// of the score.
	mostExpanded = 200
	// edgesOfSeed and edgesOfNode are how many edges of a node are followed, each way.
	// A hub's others are met from their other ends.
	edgesOfSeed = 1_000
	edgesOfNode = 100
)

// walk goes from the seeds over the edges, hop by hop, and spreads the seeds' weights
// over what it meets. Each hop has its share of the edges, and what the hops before it
// left. whole is false when it ended early for lack of time, or was cut.
func (e *Engine) walk(ctx context.Context, q *HybridQuery, seeds []seed) (t *terrain, whole bool, err error) {
	t = newTerrain(q.Direction)
	for _, s := range seeds {
		t.meet(s.id, 0)
	}
	if q.Weights.Graph == 0 || q.Hops == 0 || len(seeds) == 0 {
		return t, true, nil
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, e.deps.WalkTimeout)
	defer cancel()
	w := walker{engine: e, query: q, terrain: t, seeds: seeds}
	left := mostEdges
	for hop := 0; hop < q.Hops && err == nil; hop++ {
		share := left / (q.Hops - hop)
		var used int
		used, err = w.expand(limited, hop, share)
		left -= used
	}
	late := err != nil && ctx.Err() == nil && (fault.Is(err, fault.Timeout) || errors.Is(err, context.DeadlineExceeded))
	e.deps.Observe(LaneGraph, time.Since(began), err)
	if late {
		e.deps.Logger.WarnContext(ctx, "a walk through the graph ended early", "error", err)
		err = nil
	}
	return t, !late && !w.cut, err
}

// walker is a walk under way.
type walker struct {
	engine  *Engine
	query   *HybridQuery
	terrain *terrain
	seeds   []seed
	cut     bool // edges were left out for which there was no room
}

// expand follows the edges of the nodes at a distance from the seeds, at most so many,
// and returns how many they were. Each node has the same share of them; what some do
// not need goes to those that have more, and of these each relation has its share.
func (w *walker) expand(ctx context.Context, hop, share int) (used int, err error) {
	q := w.query
	step := Step{
		Frontier: w.terrain.frontier(w.seeds, hop), Direction: q.Direction, RelationTypes: q.RelationTypes, Filter: q.Filter,
		Limit: share,
	}
	most := edgesOfNode
	if hop == 0 {
		most = edgesOfSeed
	}
	if len(step.Frontier) == 0 || share <= 0 {
		w.cut = w.cut || len(step.Frontier) > 0
		return 0, nil
	}
	step.OfNode = w.quota(share, len(step.Frontier), most)
	used, walked, err := w.follow(ctx, step, hop, share)
	if err == nil && len(walked.Cut) > 0 && used < share {
		step.Frontier, step.ByRelation, step.Limit = walked.Cut, true, share
		step.OfNode = min(most, step.OfNode+w.quota(share-used, len(walked.Cut), most))
		var more int
		more, walked, err = w.follow(ctx, step, hop, share-used)
		used += more
	}
	// That a node further off has more edges than are ever followed of one says little:
	// of a seed it does.
	w.cut = w.cut || walked.Truncated && (hop == 0 || step.OfNode < most)
	return used, err
}

// quota is the share of each of some nodes in a number of edges, each way, at most so
// many.
func (w *walker) quota(edges, nodes, most int) int {
	ways := 1
	if w.query.Direction != Outgoing && w.query.Direction != Incoming {
		ways = 2
	}
	return min(max(edges/(ways*nodes), 1), most)
}

// follow takes a step, and returns how many edges it brought that were not known, of
// which there is room for so many.
func (w *walker) follow(ctx context.Context, step Step, hop, room int) (fresh int, walked Walked, err error) {
	walked, err = w.engine.deps.Graph.WalkEdges(ctx, w.query.Workspace, step)
	before := len(w.terrain.links)
	for _, l := range walked.Edges {
		if fresh = len(w.terrain.links) - before; fresh == room {
			walked.Truncated = true
			break
		}
		w.terrain.add(l, hop+1)
	}
	return len(w.terrain.links) - before, walked, err
}

// frontier are the nodes at a distance that have most of the score so far.
func (t *terrain) frontier(seeds []seed, depth int) []uuid.UUID {
	ranks := rank(t.flows(), t.weights(seeds), depth+1)
	var at []int
	for n, d := range t.depth {
		if d == depth {
			at = append(at, n)
		}
	}
	slices.SortFunc(at, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranks[b], ranks[a]), compareIDs(t.ids[a], t.ids[b]))
	})
	ids := make([]uuid.UUID, 0, min(len(at), mostExpanded))
	for _, n := range at[:cap(ids)] {
		ids = append(ids, t.ids[n])
	}
	return ids
}

// weights are the seeds' as rank wants them.
func (t *terrain) weights(seeds []seed) []float64 {
	w := make([]float64, len(t.ids))
	sum := 0.0
	for _, s := range seeds {
		sum += s.weight()
	}
	for _, s := range seeds {
		w[t.number[s.id]] = s.weight() / sum
	}
	return w
}

// trail says for each node which edge leads to it on the way from the nearest seed,
// and from which node: of several, from where most of the score comes.
type trail struct {
	edge []uuid.UUID
	from []int // -1: a seed
}

func (t *terrain) trail(flows []flow, ranks []float64) *trail {
	p := &trail{edge: make([]uuid.UUID, len(t.ids)), from: make([]int, len(t.ids))}
	gives := make([]float64, len(t.ids))
	for n := range p.from {
		p.from[n] = -1
	}
	consider := func(from, to int, edge uuid.UUID) {
		if t.depth[to] != t.depth[from]+1 {
			return
		}
		given := ranks[from] * flows[from].shareOf(to)
		better := p.from[to] < 0 || cmp.Or(
			cmp.Compare(gives[to], given), compareIDs(t.ids[from], t.ids[max(p.from[to], 0)]), compareIDs(edge, p.edge[to]),
		) < 0
		if better {
			p.from[to], p.edge[to], gives[to] = from, edge, given
		}
	}
	for i := range t.links {
		l := &t.links[i]
		if t.forward {
			consider(l.from, l.to, l.edge)
		}
		if t.back {
			consider(l.to, l.from, l.edge)
		}
	}
	return p
}

func (f *flow) shareOf(to int) float64 {
	if i, ok := slices.BinarySearch(f.to, int32(to)); ok {
		return f.share[i]
	}
	return 0
}

// path lists the edges from a seed to a node.
func (p *trail) path(node int) (edges []uuid.UUID) {
	for ; p.from[node] >= 0; node = p.from[node] {
		edges = append(edges, p.edge[node])
	}
	slices.Reverse(edges)
	return edges
}
