package retrieval

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// maxCandidates is the maximum number of ranked candidates of a result.
const maxCandidates = 1_000

// Search ranks nodes by the text and vector lanes. If one lane is unavailable, the result
// is that of the other, and Result.Degraded names the lane. If both are, the error is an
// Unavailable fault with a time after which to retry.
func (e *Engine) Search(ctx context.Context, q Query) (Result, error) {
	f, err := e.queryLanes(ctx, &q, DefaultWeights(), nil)
	if err != nil {
		return Result{}, err
	}
	if len(f.unavailable) == f.lanes {
		return Result{}, unavailableError(f.unavailable[0], f.cause)
	}
	ranked := make([]candidate, 0, len(f.nodes))
	for i := range f.nodes {
		n := &f.nodes[i]
		ranked = append(ranked, candidate{id: n.id, score: n.fused(), finding: n})
	}
	r, page, err := e.page(ctx, &q, ranked)
	if err != nil {
		return Result{}, err
	}
	r.Degraded = slices.Concat(f.unavailable, r.Degraded)
	r.Hits, err = e.readHits(ctx, &q, page, nil)
	return r, err
}

// candidate is a node with its score.
type candidate struct {
	id      uuid.UUID
	score   float64
	finding *finding // nil: only the graph lane found it
	graph   float64  // score of the graph lane, divided by the highest of all nodes

	rerankScore *float64 // nil: it is not reranked
}

// fused returns the mean of the scores of the text and vector lanes. Both scores are
// absolute: if all matches are poor, the best one has a low score, and MinScore filters
// independently of the other candidates.
func (n *finding) fused() float64 { return (n.textScore() + n.vectorScore()) / 2 }

// textScore returns the score of the text lane, 0 to 1. A node that the query certainly
// names has the highest score. A node that shares its name with many others has its share
// of the certainty, or its share of the query's weight if that is higher.
func (n *finding) textScore() float64 { return min(max(n.share, n.named, 0), 1) }

// vectorScore returns the score of the vector lane, 0 to 1.
func (n *finding) vectorScore() float64 {
	if n.chunk < 0 {
		return 0
	}
	return min(max(n.vector, 0), 1)
}

// page sorts the candidates, reranks the best, and returns the page of the query, and a result with what is counted
// over all of them.
func (e *Engine) page(ctx context.Context, q *Query, list []candidate) (r Result, page []candidate, err error) {
	ranked := q.rank(list)
	if q.ByDocument {
		if ranked, err = e.groupByDocument(ctx, q.Workspace, ranked); err != nil {
			return r, nil, err
		}
	}
	r.Total = len(ranked)
	if r.Facets, err = e.facets(ctx, q, ranked); err != nil {
		return r, nil, err
	}
	if err := e.rerank(ctx, q, ranked, &r); err != nil {
		return r, nil, err
	}
	from := min(max(q.Offset, 0), len(ranked))
	return r, ranked[from:min(from+max(q.Limit, 0), len(ranked))], nil
}

// rank returns the best candidates, best first.
func (q *Query) rank(ranked []candidate) []candidate {
	ranked = slices.DeleteFunc(ranked, func(c candidate) bool { return c.score <= 0 || c.score < q.MinScore })
	slices.SortFunc(ranked, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), uuids.Compare(a.id, b.id))
	})
	return ranked[:min(len(ranked), maxCandidates)]
}

// groupByDocument keeps one candidate of each document, at the place and with the score of the best:
// its best passage, or its own node if no passage was found. Other nodes stay.
func (e *Engine) groupByDocument(
	ctx context.Context, workspace uuid.UUID, ranked []candidate,
) ([]candidate, error) {
	ids := make([]uuid.UUID, len(ranked))
	for i := range ranked {
		ids[i] = ranked[i].id
	}
	parts, err := e.deps.Graph.DocumentParts(ctx, workspace, ids)
	if err != nil {
		return nil, err
	}
	type group struct {
		index      int // in kept
		hasPassage bool
	}
	groups := map[uuid.UUID]*group{}
	kept := ranked[:0:0]
	for _, c := range ranked {
		part, isPart := parts[c.id]
		g := groups[part.Document]
		switch {
		case !isPart:
			kept = append(kept, c)
		case g == nil:
			groups[part.Document] = &group{index: len(kept), hasPassage: part.Passage}
			kept = append(kept, c)
		case part.Passage && !g.hasPassage:
			c.score = kept[g.index].score
			kept[g.index], g.hasPassage = c, true
		}
	}
	return kept, nil
}

// readHits reads the nodes of a page and returns them as hits, without those that were
// deleted meanwhile. It also reads the extra nodes, and calls decorate for each hit with
// all nodes.
func (e *Engine) readHits(
	ctx context.Context, q *Query, page []candidate, decorate func(hit *Hit, c candidate, nodes map[uuid.UUID]graph.Node),
	extra ...uuid.UUID,
) ([]Hit, error) {
	ids := slices.Clone(extra)
	for _, c := range page {
		ids = append(ids, c.id)
	}
	slices.SortFunc(ids, uuids.Compare)
	nodes, err := e.deps.Graph.ReadNodes(ctx, q.Workspace, slices.Compact(ids), q.Filter)
	if err != nil {
		return nil, err
	}
	words := newQueryWords(q.Text)
	hits := make([]Hit, 0, len(page))
	for _, c := range page {
		n, ok := nodes[c.id]
		if !ok {
			continue
		}
		hit := Hit{Node: n, Score: c.score, RerankScore: c.rerankScore}
		if f := c.finding; f != nil {
			if textScore := f.textScore(); textScore > 0 {
				hit.Scores.Text = &textScore
			}
			if f.chunk >= 0 {
				hit.Scores.Vector = new(f.vectorScore())
				hit.Chunk = e.chunk(&n, f.chunk)
			}
		}
		hit.Snippet = words.snippet(snippetText(&hit))
		if decorate != nil {
			decorate(&hit, c, nodes)
		}
		hits = append(hits, hit)
	}
	return hits, nil
}

// chunk returns a chunk of the current text of a node; nil: it no longer exists.
func (e *Engine) chunk(n *graph.Node, index int) *Chunk {
	if e.deps.Chunks == nil {
		return nil
	}
	for _, c := range e.deps.Chunks(n) {
		if c.Index == index {
			return &c
		}
	}
	return nil
}
