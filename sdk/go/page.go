package livegraph

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/url"
	"strconv"
)

// Paging selects a page of a list. Zero fields are not sent, except that Limit is then 100, the most.
type Paging struct {
	// Limit is the number of items of a page.
	Limit int
	// Offset is the number of items to skip.
	Offset int
	// Cursor is the NextCursor of the previous page, in place of the offset. Not all lists have it.
	Cursor string
}

const maxLimit = 100

func (p Paging) values(q url.Values) url.Values {
	if q == nil {
		q = url.Values{}
	}
	limit := p.Limit
	if limit <= 0 {
		limit = maxLimit
	}
	q.Set("limit", strconv.Itoa(limit))
	if p.Offset > 0 {
		q.Set("offset", strconv.Itoa(p.Offset))
	}
	setText(q, "cursor", p.Cursor)
	return q
}

// Page is a page of a list.
type Page[T any] struct {
	Items []T
	PageMeta
}

// PageMeta describes a page. Fields that a list does not have are zero.
type PageMeta struct {
	// Total is the number of all items that match, on all pages.
	Total int `json:"total"`
	// Limit is the number of items of a page that the server applied.
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
	// HasMore reports whether another page follows.
	HasMore bool `json:"hasMore"`
	// NextCursor is the cursor of the next page; "" at the end and in lists that are paged by offset.
	NextCursor string `json:"nextCursor"`
	// Truncated reports whether the server stopped at a limit: neighbors or paths may be missing.
	Truncated bool `json:"truncated"`
	// AsOfSequence is the sequence of the state of the graph that neighbors as of a moment are of; otherwise 0.
	AsOfSequence int64 `json:"asOfSequence"`
	// Degraded lists what is missing while a part of the search is unavailable.
	Degraded []string `json:"degraded"`
	// Facets has the counted values of the results of a search whose query has Facets; otherwise nil.
	Facets *SearchFacets `json:"facets"`
	// Rerank describes the reranking of the results of a search whose query has Rerank; nil if they were not reranked.
	Rerank *Reranking `json:"rerank"`
	// Interval is the length of the buckets of aggregated points, such as 5m.
	Interval string `json:"interval"`
	// DeadLettered is the number of records of the query's checkpoint that became dead letters.
	DeadLettered int `json:"deadLettered"`
}

// envelope is the body of a response.
type envelope struct {
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Meta    *PageMeta       `json:"meta"`
}

// fetch sends a request and returns the data of the response.
func fetch[T any](ctx context.Context, t *transport, request *Request) (result T, err error) {
	response, err := t.send(ctx, request)
	if err != nil {
		return result, err
	}
	_, err = open(request, response, &result)
	return result, err
}

// execute sends a request whose response has no data.
func execute(ctx context.Context, t *transport, request *Request) error {
	_, err := t.send(ctx, request)
	return err
}

// fetchPage sends a request and returns the page of the response.
func fetchPage[T any](ctx context.Context, t *transport, request *Request) (*Page[T], error) {
	response, err := t.send(ctx, request)
	if err != nil {
		return nil, err
	}
	page := &Page[T]{}
	meta, err := open(request, response, &page.Items)
	if err != nil {
		return nil, err
	}
	if meta == nil {
		return nil, newResponseError(request, "the response is not a page of a list", nil)
	}
	page.PageMeta = *meta
	return page, nil
}

// open reads the envelope of a response.
func open(request *Request, response *Response, data any) (*PageMeta, error) {
	var content envelope
	err := json.Unmarshal(response.Body, &content)
	valid := content.Success && content.Data != nil && string(content.Data) != "null"
	if err == nil && valid {
		err = json.Unmarshal(content.Data, data)
	}
	if err != nil || !valid {
		return nil, newResponseError(request, "the response is not one of the API", err)
	}
	return content.Meta, nil
}

// pages iterates over the items of all pages, by cursor or by offset. The iteration ends with the first error.
func pages[T any](ctx context.Context, t *transport, request *Request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		following, offset := *request, 0
		following.Query = Paging{}.values(maps.Clone(request.Query))
		for {
			page, err := fetchPage[T](ctx, t, &following)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			offset += len(page.Items)
			switch {
			case page.NextCursor != "":
				following.Query.Set("cursor", page.NextCursor)
			case page.HasMore && len(page.Items) > 0:
				following.Query.Set("offset", strconv.Itoa(offset))
			default:
				return
			}
		}
	}
}

// Collect returns the items of an iterator over pages, or the first error. It holds all of them in memory.
func Collect[T any](items iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range items {
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, nil
}
