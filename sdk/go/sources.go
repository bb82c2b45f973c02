package livegraph

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
)

// SourceFilter selects sources.
type SourceFilter struct {
	// Name is a part of the name, in any case.
	Name   string
	NodeID string
	Tags   Filter
	Sort   string
}

func (f *SourceFilter) values() url.Values {
	q := url.Values{}
	setText(q, "name", f.Name)
	setText(q, "nodeId", f.NodeID)
	setFilter(q, "tag", f.Tags)
	setText(q, "sort", f.Sort)
	return q
}

// Sources are the sources of points.
type Sources struct{ t *transport }

// Create creates a source. The error is [ErrConflict] if the name or the id exists.
func (s *Sources) Create(ctx context.Context, source NewSource, options ...CallOption) (*Source, error) {
	r, err := createSource.withBody(source)
	if err != nil {
		return nil, err
	}
	r.set("Idempotency-Key", newCallOptions(options).idempotencyKey)
	return fetch[*Source](ctx, s.t, r)
}

// Ensure returns the source with the name, and whether it was created because there was none. An existing source is
// not changed.
func (s *Sources) Ensure(ctx context.Context, source NewSource) (result *Source, created bool, err error) {
	result, err = s.Create(ctx, source)
	if !errors.Is(err, ErrConflict) {
		return result, err == nil, err
	}
	result, err = s.Find(ctx, source.Name)
	return result, false, err
}

// Find returns the source with exactly this name. The error is [ErrNotFound] if there is none.
func (s *Sources) Find(ctx context.Context, name string) (*Source, error) {
	for source, err := range s.All(ctx, SourceFilter{Name: name}) {
		if err != nil {
			return nil, err
		}
		if source.Name == name {
			return &source, nil
		}
	}
	return nil, &APIError{Status: http.StatusNotFound, Code: "NOT_FOUND", Message: "No source has the name"}
}

// Get returns a source.
func (s *Sources) Get(ctx context.Context, id string) (*Source, error) {
	return fetch[*Source](ctx, s.t, getSource.request(id))
}

// List returns a page of the sources that match the filter.
func (s *Sources) List(ctx context.Context, filter SourceFilter, paging Paging) (*Page[Source], error) {
	return fetchPage[Source](ctx, s.t, listSources.withQuery(paging.values(filter.values())))
}

// All iterates over all sources that match the filter, page by page.
func (s *Sources) All(ctx context.Context, filter SourceFilter) iter.Seq2[Source, error] {
	return pages[Source](ctx, s.t, listSources.withQuery(filter.values()))
}

// Update changes a source and returns it. With an expected version, the request is not repeated if the server may
// have executed it. The error is [ErrConflict] if the name exists, or the source has another version.
func (s *Sources) Update(ctx context.Context, id string, changes SourcePatch, options ...CallOption) (*Source, error) {
	if version := newCallOptions(options).expectedVersion; version > 0 {
		changes.ExpectedVersion = Set(version)
	}
	r, err := patchSource.withBody(changes, id)
	if err != nil {
		return nil, err
	}
	r.Once = !changes.ExpectedVersion.IsZero()
	return fetch[*Source](ctx, s.t, r)
}

// Delete deletes a source with its points, which takes a second. It requires the scope admin. The error is
// [ErrNotFound] if the source does not exist; after a connection that broke, this may be the result of the repeated
// request.
func (s *Sources) Delete(ctx context.Context, id string) error {
	return execute(ctx, s.t, deleteSource.request(id))
}
