package rag

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// engine finds and ranks nodes.
type engine interface {
	Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
	Hybrid(ctx context.Context, q retrieval.HybridQuery) (retrieval.Result, error)
	Answer(ctx context.Context, q retrieval.AnswerQuery) (retrieval.Answer, error)
	CanGenerate() bool
	MaxRerank() int
	Generate(
		ctx context.Context, q retrieval.GenerateQuery, receive func(part string) error,
	) (retrieval.Generated, error)
}

// hit is a found node in the responses of both searches.
type hit struct {
	Node  graphjson.Node `json:"node"`
	Score float64        `json:"score"`
	// RerankScore is the score by the reranker; nil: the hit was not reranked.
	RerankScore *float64 `json:"rerankScore,omitzero"`
	Snippet     string   `json:"snippet"`
	// MatchedChunk is the part of the description that matches the query; nil if the
	// vector lane did not find the node.
	MatchedChunk *matchedChunk `json:"matchedChunk"`
	// Document is the document of the node; absent if it belongs to none.
	Document *hitDocument `json:"document,omitzero"`
}

// hitDocument is the document to which a hit belongs.
type hitDocument struct {
	ID         uuid.UUID `json:"id"`
	ExternalID string    `json:"externalId"`
	Title      string    `json:"title"`
	// Page is the page on which the passage begins; 0: the content has no pages.
	Page int `json:"page,omitzero"`
}

// matchedChunk is a part of a description. Text is set only if the request includes content.
type matchedChunk struct {
	Index int     `json:"index"`
	Text  *string `json:"text,omitzero"`
}

type searchHit struct {
	hit
	Scores searchScores `json:"scores"`
}

// searchScores are the scores of each lane; null if it did not find the node.
type searchScores struct {
	Text   *float64 `json:"text"`
	Vector *float64 `json:"vector"`
}

type hybridHit struct {
	hit
	Scores hybridScores     `json:"scores"`
	Path   []graphjson.Edge `json:"path"`
	// Optional parts, which the request must enable.
	Explanation *[]reason         `json:"explanation,omitzero"`
	Edges       *[]graphjson.Edge `json:"edges,omitzero"`
	LiveData    *[]liveValue      `json:"liveData,omitzero"`
}

type hybridScores struct {
	Text   *float64 `json:"text"`
	Vector *float64 `json:"vector"`
	Graph  *float64 `json:"graph"`
}

// reason is a part of a score.
type reason struct {
	Kind   string     `json:"kind"`
	NodeID *uuid.UUID `json:"nodeId"` // graph: the node from which the score was propagated
	Detail string     `json:"detail"`
	Share  float64    `json:"share"`
}

// instrument returns a handler that records the metrics of a search.
func (a *api) instrument(
	kind string, answer func(http.ResponseWriter, *http.Request) (retrieval.Result, error),
) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		done := a.Metrics.start(kind)
		result, err := answer(w, r)
		done(result.Degraded, err)
		if sent := (*sentError)(nil); errors.As(err, &sent) {
			return nil
		}
		return err
	}
}

// sentError is an error that was sent to the client as an event of a stream, or cannot be sent because the stream has
// ended.
type sentError struct{ error }

func (e *sentError) Unwrap() error { return e.error }

// readBody decodes the body of a request that accepts no URL parameters.
func readBody(r *http.Request, body any) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	return request.JSON(r, body)
}

// requireScopes returns an error if the key lacks a scope for what the body includes.
func (b *graphBody) requireScopes(ctx context.Context) error {
	if !b.IncludeLiveData {
		return nil
	}
	return request.Require(ctx, request.ReadLiveData)
}

func (a *api) search(w http.ResponseWriter, r *http.Request) (result retrieval.Result, err error) {
	var body searchBody
	if err := readBody(r, &body); err != nil {
		return result, err
	}
	return a.respondToSearch(w, r, &body)
}

// respondToSearch responds with the page of results that a body requests.
func (a *api) respondToSearch(
	w http.ResponseWriter, r *http.Request, body *searchBody,
) (result retrieval.Result, err error) {
	var c request.Check
	q, page := body.read(&c, request.PrincipalOf(r.Context()).Workspace, a.models())
	if err := c.Err(); err != nil {
		return result, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	if result, err = a.Engine.Search(ctx, q); err != nil {
		return result, err
	}
	hits := make([]searchHit, len(result.Hits))
	for i := range result.Hits {
		found := &result.Hits[i]
		hits[i] = searchHit{
			hit: hitOf(found, body.IncludeContent), Scores: searchScores{found.Scores.Text, found.Scores.Vector},
		}
	}
	reply.List(w, r, hits, page.meta(&result, len(hits)))
	return result, nil
}

func (a *api) hybrid(w http.ResponseWriter, r *http.Request) (result retrieval.Result, err error) {
	var body hybridBody
	if err := readBody(r, &body); err != nil {
		return result, err
	}
	return a.respondToHybrid(w, r, &body)
}

// respondToHybrid responds with the page of results that a body requests.
func (a *api) respondToHybrid(
	w http.ResponseWriter, r *http.Request, body *hybridBody,
) (result retrieval.Result, err error) {
	if err := body.requireScopes(r.Context()); err != nil {
		return result, err
	}
	var c request.Check
	q, page := body.read(&c, request.PrincipalOf(r.Context()).Workspace, a.models())
	if err := c.Err(); err != nil {
		return result, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	if result, err = a.Engine.Hybrid(ctx, q); err != nil {
		return result, err
	}
	hits := make([]hybridHit, len(result.Hits))
	for i := range result.Hits {
		found := &result.Hits[i]
		hits[i] = hybridHit{
			hit: hitOf(found, body.IncludeContent), Scores: hybridScores(found.Scores), Path: graphjson.OfEdges(found.Path),
		}
		if q.Explain {
			reasons := reasonsOf(found.Reasons)
			hits[i].Explanation = &reasons
		}
	}
	if body.IncludeEdges {
		if err := a.addEdges(ctx, q.Workspace, q.RelationTypes, hits); err != nil {
			return result, err
		}
	}
	if body.IncludeLiveData {
		values, err := a.liveDataOf(ctx, q.Workspace, idsOf(hits))
		if err != nil {
			result.Degraded = append(result.Degraded, degradedLiveData)
		}
		for i := range hits {
			hits[i].LiveData = values[i]
		}
	}
	reply.List(w, r, hits, page.meta(&result, len(hits)))
	return result, nil
}

func hitOf(found *retrieval.Hit, content bool) hit {
	h := hit{
		Node: graphjson.OfNode(&found.Node), Score: found.Score, RerankScore: found.RerankScore, Snippet: found.Snippet,
		Document: documentOf(&found.Node),
	}
	if found.Chunk != nil {
		h.MatchedChunk = &matchedChunk{Index: found.Chunk.Index}
		if content {
			h.MatchedChunk.Text = &found.Chunk.Text
		}
	}
	return h
}

// documentOf returns the document of a node; nil: it belongs to none.
func documentOf(n *graph.Node) *hitDocument {
	mark := document.MarkOf(n)
	if mark == nil {
		return nil
	}
	d := &hitDocument{ID: mark.ID, ExternalID: mark.ExternalID, Title: mark.Title}
	if mark.Passage != nil {
		d.Page = mark.Passage.Page
	}
	return d
}

func reasonsOf(reasons []retrieval.Reason) []reason {
	list := make([]reason, len(reasons))
	for i, r := range reasons {
		list[i] = reason{Kind: r.Kind, Detail: r.Detail, Share: r.Share}
		if r.From != uuid.Nil {
			list[i].NodeID = &r.From
		}
	}
	return list
}

func (p pageRange) meta(result *retrieval.Result, returned int) reply.Meta {
	meta := reply.PageMeta(int64(result.Total), p.limit, min(p.offset, maxTotal), returned)
	meta.Offset, meta.Degraded = p.offset, result.Degraded
	if len(result.Facets) > 0 {
		meta.Facets = facetsOf(result.Facets)
	}
	meta.Rerank = rerankedOf(result)
	return meta
}
