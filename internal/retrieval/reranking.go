package retrieval

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/truncate"
	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// Reranker scores texts by their relevance for a query; see [rerank.Client].
type Reranker interface {
	// Rerank returns a finite score for each text, in the order of the texts. A text with a higher score is more relevant.
	Rerank(ctx context.Context, workspace uuid.UUID, query string, texts []string) ([]float64, error)
	// Model returns the name of the model.
	Model() string
}

// DegradedRerank is the part of a result that is missing if the reranker failed: the hits are in the order of their
// scores.
const DegradedRerank = "rerank"

// laneRerank is the request to the reranker. It is observed like a lane.
const laneRerank = "rerank"

// Reranked describes which results were reranked.
type Reranked struct {
	Model      string
	Candidates int           // results that have a score by the reranker, on all pages
	Took       time.Duration // of the request to the reranker
}

// MaxRerank returns the maximum number of results that a query may have reranked; 0: no reranker is configured.
func (e *Engine) MaxRerank() int {
	if e.deps.Reranker == nil {
		return 0
	}
	return e.deps.MaxRerank
}

// rankOffset is the constant of reciprocal rank fusion: the higher, the less the first ranks count.
const rankOffset = 60

// rerank orders the best of the ranked candidates again; the others follow. All pages of a query have the same reranked
// candidates. If the reranker fails, the order stays, and r.Degraded reports it. The error is the cause of ctx, or that
// of the store.
func (e *Engine) rerank(ctx context.Context, q *Query, ranked []candidate, r *Result) error {
	best := ranked[:min(len(ranked), q.Rerank.Candidates, e.MaxRerank())]
	if len(best) == 0 || q.Offset >= len(best) {
		return nil
	}
	texts, err := e.rerankTexts(ctx, q, best)
	if err != nil {
		return err
	}
	var indexes []int // of the texts in best, without those of nodes that were deleted meanwhile
	var sent []string
	for i, text := range texts {
		if text != "" {
			indexes, sent = append(indexes, i), append(sent, text)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	start := time.Now()
	scores, err := e.requestScores(ctx, q, sent)
	took := time.Since(start)
	e.deps.Observe(laneRerank, took, err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		e.deps.Logger.WarnContext(ctx, "the results of a search were not reranked", "error", err)
		r.Degraded = append(r.Degraded, DegradedRerank)
		return nil
	}
	for i, index := range indexes {
		best[index].rerankScore = &scores[i]
	}
	fuse(best, q.Rerank.Weight)
	r.Reranked = &Reranked{Model: e.deps.Reranker.Model(), Candidates: len(sent), Took: took}
	return nil
}

// requestScores requests the scores of texts, in at most three quarters of the time that is left, so that the search
// can be answered without them.
func (e *Engine) requestScores(ctx context.Context, q *Query, texts []string) ([]float64, error) {
	if deadline, ok := ctx.Deadline(); ok {
		limited, cancel := context.WithTimeout(ctx, time.Until(deadline)*3/4)
		defer cancel()
		ctx = limited
	}
	return e.deps.Reranker.Rerank(ctx, q.Workspace, q.Text, texts)
}

// fuse orders candidates by the weighted sum of the reciprocals of two ranks: that by the reranker, and the one that
// they have. Those without a score by the reranker are last. Ranks are fused instead of scores because the range of a
// reranker's scores is not known.
func fuse(list []candidate, weight float64) {
	order := make([]int, len(list)) // indexes of the candidates, the best by the reranker first
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareRerankScores(&list[a], &list[b]) })
	type fused struct {
		candidate
		score float64
	}
	sorted := make([]fused, len(list))
	for rank, i := range order {
		c := fused{candidate: list[i]}
		if c.rerankScore != nil {
			c.score = weight/float64(rankOffset+rank) + (1-weight)/float64(rankOffset+i)
		}
		sorted[i] = c
	}
	slices.SortStableFunc(sorted, func(a, b fused) int { return cmp.Compare(b.score, a.score) })
	for i := range sorted {
		list[i] = sorted[i].candidate
	}
}

// compareRerankScores compares the scores by the reranker, the higher first; a candidate without one is last.
func compareRerankScores(a, b *candidate) int {
	switch {
	case a.rerankScore == nil && b.rerankScore == nil:
		return 0
	case a.rerankScore == nil:
		return 1
	case b.rerankScore == nil:
		return -1
	}
	return cmp.Compare(*b.rerankScore, *a.rerankScore)
}

// rerankTexts returns the text of each candidate for the reranker: the name of the node and the part of its text that
// matches best; empty: the node was deleted meanwhile, or has no text.
func (e *Engine) rerankTexts(ctx context.Context, q *Query, list []candidate) ([]string, error) {
	ids := make([]uuid.UUID, len(list))
	for i := range list {
		ids[i] = list[i].id
	}
	slices.SortFunc(ids, uuids.Compare)
	nodes, err := e.deps.Graph.ReadNodes(ctx, q.Workspace, ids, q.Filter)
	if err != nil {
		return nil, err
	}
	words := newQueryWords(q.Text)
	texts := make([]string, len(list))
	for i, c := range list {
		n, ok := nodes[c.id]
		if !ok {
			continue
		}
		text := strings.TrimSpace(e.rerankText(&n, c.finding, words))
		texts[i] = truncate.Bytes(text, e.deps.MaxRerankText)
	}
	return texts, nil
}

// rerankText returns the name of a node and the chunk that the vector lane found, or else the one with most words of
// the query.
func (e *Engine) rerankText(n *graph.Node, f *finding, words *queryWords) string {
	var chunks []Chunk
	if e.deps.Chunks != nil {
		chunks = e.deps.Chunks(n)
	}
	if len(chunks) == 0 {
		description := ""
		if n.Description != nil {
			description = *n.Description
		}
		return n.Name + "\n" + description
	}
	best := &chunks[0]
	if f != nil && f.chunk >= 0 && f.chunk < len(chunks) {
		best = &chunks[f.chunk]
	} else if len(chunks) > 1 {
		highest := words.weightIn(best.Text)
		for i := 1; i < len(chunks); i++ {
			if weight := words.weightIn(chunks[i].Text); weight > highest {
				best, highest = &chunks[i], weight
			}
		}
	}
	if best.Index == 0 {
		return best.Text // it begins with the name
	}
	return n.Name + "\n" + best.Text
}

// weightIn returns the sum of the weights of the words of the query that a text has.
func (w *queryWords) weightIn(text string) (sum float64) {
	counted := map[string]bool{}
	for _, m := range w.matches(text) {
		if !counted[m.word] {
			counted[m.word] = true
			sum += w.weights[m.word]
		}
	}
	return sum
}
