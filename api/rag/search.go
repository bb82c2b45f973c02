package rag

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// engine finds and ranks.
type engine interface {
	Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
	Hybrid(ctx context.Context, q retrieval.HybridQuery) (retrieval.Result, error)
}

// hit is a node that was found, as both searches show it.
type hit struct {
	Node    graphjson.Node `json:"node"`
	Score   float64        `json:"score"`
	Snippet string         `json:"snippet"`
	// MatchedChunk is what of the description means what was asked; nil when the vector
	// lane did not find the node.
	MatchedChunk *matchedChunk `json:"matchedChunk"`
}

// matchedChunk is a part of a description. Its text is shown where it is asked for.
type matchedChunk struct {
	Index int     `json:"index"`
	Text  *string `json:"text,omitzero"`
}

type searchHit struct {
	hit
	Scores searchScores `json:"scores"`
}

// searchScores are what each lane gave, null where it did not find the node.
type searchScores struct {
	Text   *float64 `json:"text"`
	Vector *float64 `json:"vector"`
}

type hybridHit struct {
	hit
	Scores hybridScores     `json:"scores"`
	Path   []graphjson.Edge `json:"path"`
	// What is asked for by a flag is there only then.
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
	NodeID *uuid.UUID `json:"nodeId"` // graph: the node whose score came here
	Detail string     `json:"detail"`
	Share  float64    `json:"share"`
}

// measured has a search counted by how it ended.
func (a *api) measured(
	kind string, answer func(http.ResponseWriter, *http.Request) (retrieval.Result, error),
) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		done := a.Metrics.began(kind)
		result, err := answer(w, r)
		done(result.Degraded, err)
		return err
	}
}

// readBody reads the body of a request that takes no parameters beside it.
func readBody(r *http.Request, body any) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	return request.JSON(r, body)
}

func (a *api) search(w http.ResponseWriter, r *http.Request) (result retrieval.Result, err error) {
	var body searchBody
	if err := readBody(r, &body); err != nil {
		return result, err
	}
	var c request.Check
	q, page := body.read(&c, request.PrincipalOf(r.Context()).Workspace)
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
	if body.IncludeLiveData {
		if err := request.Require(r.Context(), request.ReadLiveData); err != nil {
			return result, err
		}
	}
	var c request.Check
	q, page := body.read(&c, request.PrincipalOf(r.Context()).Workspace)
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
		if err := a.addLiveData(ctx, q.Workspace, hits); err != nil {
			result.Degraded = append(result.Degraded, degradedLiveData)
		}
	}
	reply.List(w, r, hits, page.meta(&result, len(hits)))
	return result, nil
}

func hitOf(found *retrieval.Hit, content bool) hit {
	h := hit{Node: graphjson.OfNode(&found.Node), Score: found.Score, Snippet: found.Snippet}
	if found.Chunk != nil {
		h.MatchedChunk = &matchedChunk{Index: found.Chunk.Index}
		if content {
			h.MatchedChunk.Text = &found.Chunk.Text
		}
	}
	return h
}

func reasonsOf(reasons []retrieval.Reason) []reason {
	shown := make([]reason, len(reasons))
	for i, r := range reasons {
		shown[i] = reason{Kind: r.Kind, Detail: r.Detail, Share: r.Share}
		if r.From != uuid.Nil {
			shown[i].NodeID = &r.From
		}
	}
	return shown
}

func (p page) meta(result *retrieval.Result, shown int) reply.Meta {
	meta := reply.PageMeta(int64(result.Total), p.limit, min(p.offset, maxTotal), shown)
	meta.Offset, meta.Degraded = p.offset, result.Degraded
	return meta
}
