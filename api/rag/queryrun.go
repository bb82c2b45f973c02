package rag

import (
	"context"
	"net/http"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres/savedqueries"
)

// overrides is the body of a run: what replaces fields of the saved request.
type overrides struct {
	documentBody
	Query  *string `json:"query"`
	Limit  *int64  `json:"limit"`
	Offset *int64  `json:"offset"`
}

func (b *queryBody) overrideQuery(o *overrides) {
	if o.Query != nil {
		b.Query = o.Query
	}
	if o.Limit != nil {
		b.Limit = o.Limit
	}
	b.replace(&o.documentBody)
}

func (b *searchBody) override(o *overrides) error {
	b.overrideQuery(o)
	if o.Offset != nil {
		b.Offset = o.Offset
	}
	return nil
}

func (b *answerBody) override(o *overrides) error {
	b.overrideQuery(o)
	if o.Offset != nil { // the route does not have it, either
		return fault.Field(fault.Malformed, "offset", "is not a known field of an answer",
			"query", "limit", "documents", "tags", "allTags", "timestamp")
	}
	return nil
}

// runQuery responds as the route of the query's kind responds to the saved request.
func (a *api) runQuery(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := queryID(r)
	if err != nil {
		return err
	}
	var changes overrides
	if r.ContentLength != 0 {
		if err := request.JSON(r, &changes); err != nil {
			return err
		}
	}
	q, err := a.Queries.SavedQuery(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	if err := requireScopesOf(r.Context(), q.Kind); err != nil {
		return err
	}
	kinds := map[string]string{savedSearch: kindSearch, savedHybrid: kindHybrid, savedAnswer: kindAnswer}
	return a.instrument(kinds[q.Kind], func(w http.ResponseWriter, r *http.Request) (result retrieval.Result, err error) {
		return a.respondToSaved(w, r, &q, &changes)
	})(w, r)
}

// requireScopesOf returns an error if the key lacks a scope that the route of a kind requires.
func requireScopesOf(ctx context.Context, kind string) error {
	if kind == savedSearch {
		return nil
	}
	return request.Require(ctx, request.ReadEdges)
}

// respondToSaved responds to a saved request with changes.
func (a *api) respondToSaved(
	w http.ResponseWriter, r *http.Request, q *savedqueries.SavedQuery, changes *overrides,
) (result retrieval.Result, err error) {
	body := bodyOf(q.Kind)
	if err := request.DecodeJSON([]byte(q.Request), body); err != nil {
		return result, err
	}
	if err := body.override(changes); err != nil {
		return result, err
	}
	switch body := body.(type) {
	case *hybridBody:
		return a.respondToHybrid(w, r, body)
	case *answerBody:
		return a.respondToQuestion(w, r, body)
	case *searchBody:
		return a.respondToSearch(w, r, body)
	}
	return result, fault.Newf(fault.Internal, "No route answers queries of kind %s", q.Kind)
}
