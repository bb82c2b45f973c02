package rag

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/retrieval"
)

const (
	// defaultRerank is the number of results that are reranked, unless the operator allows fewer.
	defaultRerank = 20
	// defaultRerankWeight gives both orders the same weight; see ADR 111.
	defaultRerankWeight = 0.5
)

// models are the optional models that the operator has configured.
type models struct {
	chat   bool // writes answers
	rerank int  // maximum number of results that are reranked; 0: there is no reranker
}

func (a *api) models() models {
	return models{chat: a.Engine.CanGenerate(), rerank: a.Engine.MaxRerank()}
}

// rerankBody enables reranking.
type rerankBody struct {
	Candidates *int64   `json:"candidates"`
	Weight     *float64 `json:"weight"`
}

// read validates the field and returns which results to rerank; zero: none.
func (b *rerankBody) read(c *request.Check, query string, m models) retrieval.RerankQuery {
	switch {
	case b == nil:
		return retrieval.RerankQuery{}
	case m.rerank == 0:
		c.Fail("rerank", "requires a reranking model, and the operator has configured none")
		return retrieval.RerankQuery{}
	case utf8.RuneCountInString(query) > maxModelQuery:
		c.Fail("query", fmt.Sprintf("must have at most %d characters with rerank", maxModelQuery))
	}
	q := retrieval.RerankQuery{Candidates: min(defaultRerank, m.rerank), Weight: defaultRerankWeight}
	if b.Candidates != nil {
		request.Between(c, "rerank.candidates", *b.Candidates, 1, int64(m.rerank))
		q.Candidates = int(min(*b.Candidates, int64(m.rerank)))
	}
	if b.Weight != nil {
		request.Between(c, "rerank.weight", *b.Weight, 0, 1)
		q.Weight = *b.Weight
	}
	return q
}

// reranked describes which results were reranked.
type reranked struct {
	Model        string  `json:"model"`
	Candidates   int     `json:"candidates"`
	Milliseconds float64 `json:"milliseconds"`
}

// rerankedOf returns the description of a result; nil: it was not reranked.
func rerankedOf(result *retrieval.Result) any {
	r := result.Reranked
	if r == nil {
		return nil
	}
	return &reranked{Model: r.Model, Candidates: r.Candidates, Milliseconds: float64(r.Took.Microseconds()) / 1000}
}

// measuredReranker counts the outcomes of requests to a reranker.
type measuredReranker struct {
	retrieval.Reranker
	metrics *Metrics
}

// Rerank requests scores.
func (r measuredReranker) Rerank(
	ctx context.Context, workspace uuid.UUID, query string, texts []string,
) ([]float64, error) {
	scores, err := r.Reranker.Rerank(ctx, workspace, query, texts)
	r.metrics.reranks.WithLabelValues(rerankOutcome(err)).Inc()
	return scores, err
}
