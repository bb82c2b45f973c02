package retrieval

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// tieBreakWeight is the weight of the text and vector scores in the final score. It is so
// low that it orders only nodes whose other score is 0 or almost 0.
const tieBreakWeight = 0.001

// Hybrid ranks nodes by words, meaning and the graph: the nodes that the text and vector
// lanes find are seeds, and their scores are propagated over the graph. A lane of weight 0
// is not queried. If a lane is unavailable, Hybrid continues without it, and
// Result.Degraded names it. If all queried lanes are unavailable and the query has no
// Starts, Hybrid fails.
func (e *Engine) Hybrid(ctx context.Context, q HybridQuery) (Result, error) {
	f, err := e.queryLanes(ctx, &q.Query, q.laneWeights(), q.Starts)
	if err != nil {
		return Result{}, err
	}
	if len(f.unavailable) == f.lanes && len(q.Starts) == 0 {
		return Result{}, unavailableError(f.unavailable[0], f.cause)
	}
	seeds := f.seeds(&q)
	t, complete, err := e.walk(ctx, &q, seeds)
	if err != nil {
		return Result{}, err
	}
	degraded := f.unavailable
	if !complete {
		degraded = append(degraded, LaneGraph)
	}
	r := newRanking(&q, f, seeds, t)
	result, page, err := e.page(ctx, &q.Query, r.candidates())
	if err != nil {
		return Result{}, err
	}
	result.Degraded = slices.Concat(degraded, result.Degraded)
	result.Hits, err = e.showHybrid(ctx, r, page)
	return result, err
}

// ranking is the ranking of the subgraph of a hybrid query.
type ranking struct {
	query       *HybridQuery
	findings    *findings
	seeds       []seed
	subgraph    *subgraph
	transitions []transition
	weights     []float64 // of the seeds; the sum is 1
	ranks       []float64
	paths       *pathTree
	top         float64 // the highest score before scaling
}

func newRanking(q *HybridQuery, f *findings, seeds []seed, t *subgraph) *ranking {
	r := &ranking{query: q, findings: f, seeds: seeds, subgraph: t, transitions: t.transitions()}
	if len(seeds) > 0 {
		r.weights = t.weights(seeds)
		r.ranks = rank(r.transitions, r.weights, rankRounds)
	}
	r.paths = t.paths(r.transitions, r.ranks)
	for n := range r.ranks {
		r.top = max(r.top, r.score(n))
	}
	return r
}

// graphScore returns the score that was propagated to a node over edges.
func (r *ranking) graphScore(n int) float64 { return max(0, r.ranks[n]-(1-damping)*r.weights[n]) }

// directScore returns the score that a node has as a seed. It is 0 if the weights of the
// text and vector lanes are 0: the seeds are then only the start of the walk.
func (r *ranking) directScore(n int) float64 {
	if r.query.Weights.Text == 0 && r.query.Weights.Vector == 0 {
		return 0
	}
	return (1 - damping) * r.weights[n]
}

// score returns the score of a node before scaling.
func (r *ranking) score(n int) float64 {
	return r.directScore(n) + r.query.Weights.Graph*r.graphScore(n)
}

// candidates returns the nodes of the subgraph and of the lanes. The highest score is
// scaled to 1.
func (r *ranking) candidates() []candidate {
	var list []candidate
	maxGraph := 0.0
	for n := range r.ranks {
		maxGraph = max(maxGraph, r.graphScore(n))
	}
	indexes := map[uuid.UUID]int{}
	for n, id := range r.subgraph.ids {
		c := candidate{id: id, score: r.score(n) / max(r.top, minNormal)}
		if maxGraph > 0 {
			c.graph = r.graphScore(n) / maxGraph
		}
		indexes[id] = len(list)
		list = append(list, c)
	}
	breakTies := r.query.Weights.Text > 0 || r.query.Weights.Vector > 0
	for i := range r.findings.nodes {
		n := &r.findings.nodes[i]
		index, ok := indexes[n.id]
		if !ok {
			index = len(list)
			list = append(list, candidate{id: n.id})
		}
		c := &list[index]
		c.finding = n
		if breakTies {
			c.score += tieBreakWeight * n.weightedScore(r.query.Weights)
		}
	}
	maxScore := 0.0
	for i := range list {
		maxScore = max(maxScore, list[i].score)
	}
	for i := range list {
		list[i].score /= max(maxScore, minNormal)
	}
	return list
}

// minNormal prevents a division by zero.
const minNormal = 1e-300

// weightedScore returns the score of the text and vector lanes by the weights of a query.
func (n *finding) weightedScore(w Weights) float64 {
	return (w.Text*n.textScore() + w.Vector*n.vectorScore()) / 2
}

// showHybrid reads the nodes, paths and reasons of a page.
func (e *Engine) showHybrid(ctx context.Context, r *ranking, page []candidate) ([]Hit, error) {
	paths := make(map[uuid.UUID][]uuid.UUID, len(page))
	edgeIDs := map[uuid.UUID]struct{}{}
	for _, c := range page {
		if n, ok := r.subgraph.index[c.id]; ok {
			paths[c.id] = r.paths.path(n)
			for _, edge := range paths[c.id] {
				edgeIDs[edge] = struct{}{}
			}
		}
	}
	edges, err := e.deps.Graph.ReadEdges(ctx, r.query.Workspace, slices.SortedFunc(maps.Keys(edgeIDs), uuids.Compare))
	if err != nil {
		return nil, err
	}
	var reasons *explanation
	var seedIDs []uuid.UUID
	if r.query.Explain {
		reasons = r.explain(page)
		seedIDs = reasons.seeds
	}
	return e.readHits(ctx, &r.query.Query, page, func(hit *Hit, c candidate, nodes map[uuid.UUID]graph.Node) {
		if c.graph > 0 {
			hit.Scores.Graph = new(min(c.graph, 1))
		}
		hit.Path = walkedPath(paths[c.id], edges, r.query.RelationTypes)
		if reasons != nil {
			hit.Reasons = reasons.reasons(c, nodes)
		}
	}, seedIDs...)
}

// walkedPath returns the current edges of a path; nil if one is deleted, or its relation
// type is no longer one of relationTypes.
func walkedPath(ids []uuid.UUID, edges map[uuid.UUID]graph.Edge, relationTypes []string) []graph.Edge {
	var path []graph.Edge
	for _, id := range ids {
		edge, ok := edges[id]
		if !ok || len(relationTypes) > 0 && !slices.Contains(relationTypes, edge.RelationType) {
			return nil
		}
		path = append(path, edge)
	}
	return path
}
