package retrieval

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// tailShare is what words and meaning add to a score, of the top one: little, so that
// only what has no other is sorted by it, and what has next to none.
const tailShare = 0.001

// Hybrid ranks nodes by words, meaning and the graph: what the lanes find is where
// score begins, and the graph is where it goes. A lane that counts for nothing is not
// asked. Without a lane it goes on, and says so in Result.Degraded; with nowhere to begin
// it fails.
func (e *Engine) Hybrid(ctx context.Context, q HybridQuery) (Result, error) {
	f, err := e.seek(ctx, &q.Query, q.sought(), q.Starts)
	if err != nil {
		return Result{}, err
	}
	if len(f.away) == f.asked && len(q.Starts) == 0 {
		return Result{}, missing(f.away[0], f.why)
	}
	seeds := f.seeds(&q)
	t, whole, err := e.walk(ctx, &q, seeds)
	if err != nil {
		return Result{}, err
	}
	degraded := f.away
	if !whole {
		degraded = append(degraded, LaneGraph)
	}
	r := newRanking(&q, f, seeds, t)
	page, total := q.page(r.candidates())
	hits, err := e.showHybrid(ctx, r, page)
	return Result{Hits: hits, Total: total, Degraded: degraded}, err
}

// ranking is what a hybrid query made of a graph.
type ranking struct {
	query   *HybridQuery
	found   *findings
	seeds   []seed
	terrain *terrain
	flows   []flow
	weights []float64 // of the seeds, of the sum 1
	ranks   []float64
	trail   *trail
	top     float64 // the highest score before scaling
}

func newRanking(q *HybridQuery, f *findings, seeds []seed, t *terrain) *ranking {
	r := &ranking{query: q, found: f, seeds: seeds, terrain: t, flows: t.flows()}
	if len(seeds) > 0 {
		r.weights = t.weights(seeds)
		r.ranks = rank(r.flows, r.weights, rankRounds)
	}
	r.trail = t.trail(r.flows, r.ranks)
	for n := range r.ranks {
		r.top = max(r.top, r.score(n))
	}
	return r
}

// came is what came to a node over edges.
func (r *ranking) came(n int) float64 { return max(0, r.ranks[n]-(1-damping)*r.weights[n]) }

// direct is what a node scores by itself: nothing when words and meaning count for
// nothing, and only are where the walk begins.
func (r *ranking) direct(n int) float64 {
	if r.query.Weights.Text == 0 && r.query.Weights.Vector == 0 {
		return 0
	}
	return (1 - damping) * r.weights[n]
}

// score is a node's before it is scaled.
func (r *ranking) score(n int) float64 { return r.direct(n) + r.query.Weights.Graph*r.came(n) }

// candidates are the nodes that were met or found, with scores scaled to the top.
func (r *ranking) candidates() []candidate {
	var list []candidate
	most := 0.0
	for n := range r.ranks {
		most = max(most, r.came(n))
	}
	at := map[uuid.UUID]int{}
	for n, id := range r.terrain.ids {
		c := candidate{id: id, score: r.score(n) / max(r.top, minNormal)}
		if most > 0 {
			c.graph = r.came(n) / most
		}
		at[id] = len(list)
		list = append(list, c)
	}
	tail := r.query.Weights.Text > 0 || r.query.Weights.Vector > 0
	for i := range r.found.nodes {
		n := &r.found.nodes[i]
		place, met := at[n.id]
		if !met {
			place = len(list)
			list = append(list, candidate{id: n.id})
		}
		c := &list[place]
		c.found = n
		if tail {
			c.score += tailShare * n.weighed(r.query.Weights)
		}
	}
	highest := 0.0
	for i := range list {
		highest = max(highest, list[i].score)
	}
	for i := range list {
		list[i].score /= max(highest, minNormal)
	}
	return list
}

// minNormal keeps a division from being one by zero.
const minNormal = 1e-300

// weighed is the score of words and meaning by the weights of a query.
func (n *found) weighed(w Weights) float64 { return (w.Text*n.words() + w.Vector*n.cosine()) / 2 }

// showHybrid reads what a page shows.
func (e *Engine) showHybrid(ctx context.Context, r *ranking, page []candidate) ([]Hit, error) {
	paths := make(map[uuid.UUID][]uuid.UUID, len(page))
	wanted := map[uuid.UUID]struct{}{}
	for _, c := range page {
		if n, met := r.terrain.number[c.id]; met {
			paths[c.id] = r.trail.path(n)
			for _, edge := range paths[c.id] {
				wanted[edge] = struct{}{}
			}
		}
	}
	edges, err := e.deps.Graph.FoundEdges(ctx, r.query.Workspace, slices.SortedFunc(maps.Keys(wanted), compareIDs))
	if err != nil {
		return nil, err
	}
	var reasons *explanation
	var others []uuid.UUID
	if r.query.Explain {
		reasons = r.explain(page)
		others = reasons.seeds
	}
	return e.show(ctx, &r.query.Query, page, func(hit *Hit, c candidate, nodes map[uuid.UUID]graph.Node) {
		if c.graph > 0 {
			hit.Scores.Graph = new(min(c.graph, 1))
		}
		hit.Path = walkedPath(paths[c.id], edges, r.query.RelationTypes)
		if reasons != nil {
			hit.Reasons = reasons.of(c, nodes)
		}
	}, others...)
}

// walkedPath returns the edges of a path as they are now; nil when one is gone, or not
// of the kind that was to be walked any more.
func walkedPath(ids []uuid.UUID, edges map[uuid.UUID]graph.Edge, relationTypes []string) []graph.Edge {
	var path []graph.Edge
	for _, id := range ids {
		edge, stands := edges[id]
		if !stands || len(relationTypes) > 0 && !slices.Contains(relationTypes, edge.RelationType) {
			return nil
		}
		path = append(path, edge)
	}
	return path
}
