package livegraph

import (
	"context"
	"iter"
	"net/url"
)

// SavedQueryFilter selects saved queries.
type SavedQueryFilter struct {
	// Name is a part of the name, in any case.
	Name string
	Kind SavedQueryKind
	Sort string
}

func (f *SavedQueryFilter) values() url.Values {
	q := textQuery("kind", f.Kind)
	setText(q, "name", f.Name)
	setText(q, "sort", f.Sort)
	return q
}

// SavedQueries are requests of search with names. Reading and running them requires the scopes of the search. Changing
// them requires write:nodes.
type SavedQueries struct{ t *transport }

// Create saves a query. The request of the query is the body of the route of its kind, with the names of the API. The
// error is [ErrConflict] if the name or the id exists, and [ErrInvalid] if the route would refuse the request, or the
// workspace has 1,000 saved queries.
func (s *SavedQueries) Create(ctx context.Context, query NewSavedQuery, options ...CallOption) (*SavedQuery, error) {
	r, err := createSavedQuery.withBody(query)
	if err != nil {
		return nil, err
	}
	r.set("Idempotency-Key", newCallOptions(options).idempotencyKey)
	return fetch[*SavedQuery](ctx, s.t, r)
}

// Get returns a saved query.
func (s *SavedQueries) Get(ctx context.Context, id string) (*SavedQuery, error) {
	return fetch[*SavedQuery](ctx, s.t, getSavedQuery.request(id))
}

// List returns a page of the saved queries that match the filter.
func (s *SavedQueries) List(ctx context.Context, filter SavedQueryFilter, paging Paging) (*Page[SavedQuery], error) {
	return fetchPage[SavedQuery](ctx, s.t, listSavedQueries.withQuery(paging.values(filter.values())))
}

// All iterates over all saved queries that match the filter, page by page.
func (s *SavedQueries) All(ctx context.Context, filter SavedQueryFilter) iter.Seq2[SavedQuery, error] {
	return pages[SavedQuery](ctx, s.t, listSavedQueries.withQuery(filter.values()))
}

// Update changes a saved query and returns it. The members of the request are merged; one that is nil is removed. With
// an expected version, the HTTP request is not repeated if the server may have executed it. The error is [ErrConflict]
// if the name exists, or the query has another version.
func (s *SavedQueries) Update(
	ctx context.Context, id string, changes SavedQueryPatch, options ...CallOption,
) (*SavedQuery, error) {
	if version := newCallOptions(options).expectedVersion; version > 0 {
		changes.ExpectedVersion = Set(version)
	}
	r, err := patchSavedQuery.withBody(changes, id)
	if err != nil {
		return nil, err
	}
	r.Once = !changes.ExpectedVersion.IsZero()
	return fetch[*SavedQuery](ctx, s.t, r)
}

// Delete deletes a saved query. The error is [ErrNotFound] if it does not exist; after a connection that broke, this
// may be the result of the repeated request.
func (s *SavedQueries) Delete(ctx context.Context, id string) error {
	return execute(ctx, s.t, deleteSavedQuery.request(id))
}

// RunNodes runs a query of kind search.
func (s *SavedQueries) RunNodes(ctx context.Context, id string, changes RunSavedQuery) (*Page[SearchHit], error) {
	r, err := runSavedQuery.withBody(changes, id)
	if err != nil {
		return nil, err
	}
	return fetchPage[SearchHit](ctx, s.t, r)
}

// RunHybrid runs a query of kind hybrid-search.
func (s *SavedQueries) RunHybrid(ctx context.Context, id string, changes RunSavedQuery) (*Page[HybridHit], error) {
	r, err := runSavedQuery.withBody(changes, id)
	if err != nil {
		return nil, err
	}
	return fetchPage[HybridHit](ctx, s.t, r)
}

// RunAnswer runs a query of kind answer, which has no offset.
func (s *SavedQueries) RunAnswer(ctx context.Context, id string, changes RunSavedQuery) (*Answer, error) {
	r, err := runSavedQuery.withBody(changes, id)
	if err != nil {
		return nil, err
	}
	return fetch[*Answer](ctx, s.t, r)
}
