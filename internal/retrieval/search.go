package retrieval

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// mostCandidates is how many candidates an answer counts.
const mostCandidates = 1_000

// Search ranks nodes by words and meaning together. Without one of them it goes on, and
// says so in Result.Degraded; without both it fails: Unavailable, with a time after
// which to ask again.
func (e *Engine) Search(ctx context.Context, q Query) (Result, error) {
	f, err := e.seek(ctx, &q, DefaultWeights(), nil)
	if err != nil {
		return Result{}, err
	}
	if len(f.away) == f.asked {
		return Result{}, missing(f.away[0], f.why)
	}
	ranked := make([]candidate, 0, len(f.nodes))
	for i := range f.nodes {
		n := &f.nodes[i]
		ranked = append(ranked, candidate{id: n.id, score: n.fused(), found: n})
	}
	page, total := q.page(ranked)
	hits, err := e.show(ctx, &q, page, nil)
	return Result{Hits: hits, Total: total, Degraded: f.away}, err
}

// candidate is a node with its score.
type candidate struct {
	id    uuid.UUID
	score float64
	found *found  // nil: only the graph leads there
	graph float64 // what came over edges, of the most that came to any node
}

// fused is the score of words and meaning: the mean of two numbers that mean
// something by themselves, how much of what was asked a node has, and how near it is.
// The best of a bad lot scores low in both, and minScore holds whatever else is there.
func (n *found) fused() float64 { return (n.words() + n.cosine()) / 2 }

// words is the text lane's score, 0 to 1. Of a node that the query certainly names
// words cannot say more; of one of many namesakes they say as much as their share.
func (n *found) words() float64 { return min(max(n.share, n.named, 0), 1) }

// cosine is the vector lane's score, 0 to 1.
func (n *found) cosine() float64 {
	if n.chunk < 0 {
		return 0
	}
	return min(max(n.vector, 0), 1)
}

// page sorts the candidates and cuts out the page.
func (q *Query) page(ranked []candidate) (page []candidate, total int) {
	ranked = slices.DeleteFunc(ranked, func(c candidate) bool { return c.score <= 0 || c.score < q.MinScore })
	slices.SortFunc(ranked, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), compareIDs(a.id, b.id))
	})
	ranked = ranked[:min(len(ranked), mostCandidates)]
	from := min(max(q.Offset, 0), len(ranked))
	return ranked[from:min(from+max(q.Limit, 0), len(ranked))], len(ranked)
}

// show reads the nodes of a page and makes hits of them. What was deleted meanwhile is
// left out. others are nodes to be read with them; each sees all.
func (e *Engine) show(
	ctx context.Context, q *Query, page []candidate, with func(hit *Hit, c candidate, nodes map[uuid.UUID]graph.Node),
	others ...uuid.UUID,
) ([]Hit, error) {
	ids := slices.Clone(others)
	for _, c := range page {
		ids = append(ids, c.id)
	}
	slices.SortFunc(ids, compareIDs)
	nodes, err := e.deps.Graph.FoundNodes(ctx, q.Workspace, slices.Compact(ids), q.Filter)
	if err != nil {
		return nil, err
	}
	words := newWords(q.Text)
	hits := make([]Hit, 0, len(page))
	for _, c := range page {
		n, stands := nodes[c.id]
		if !stands {
			continue
		}
		hit := Hit{Node: n, Score: c.score}
		if f := c.found; f != nil {
			if words := f.words(); words > 0 {
				hit.Scores.Text = &words
			}
			if f.chunk >= 0 {
				hit.Scores.Vector = new(f.cosine())
				hit.Chunk = e.chunk(&n, f.chunk)
			}
		}
		hit.Snippet = words.snippet(passage(&hit))
		if with != nil {
			with(&hit, c, nodes)
		}
		hits = append(hits, hit)
	}
	return hits, nil
}

// chunk returns a chunk of a node's text as it is now; nil: there is none any more.
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
