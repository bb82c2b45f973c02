package livegraph

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// Documents are texts that become nodes of the graph.
type Documents struct{ t *transport }

// Put creates or changes 1 to 1,000 documents with at most 24 MiB, and returns the result of each. A document is
// identified by its external id. The same content again changes nothing. Search finds the documents about a second
// later.
func (d *Documents) Put(ctx context.Context, documents ...NewDocument) ([]PutDocumentResult, error) {
	r, err := putDocuments.withBody(struct {
		Documents []NewDocument `json:"documents"`
	}{documents})
	if err != nil {
		return nil, err
	}
	r.set("Prefer", commandWait)
	result, err := fetch[struct{ Documents []PutDocumentResult }](ctx, d.t, r)
	return result.Documents, err
}

// Get returns a document with its passages, by the id of its node or its external id.
func (d *Documents) Get(ctx context.Context, id string) (*Document, error) {
	return fetch[*Document](ctx, d.t, getDocument.request(id))
}

// DocumentSort is an order of documents. Those that are equal in it are sorted by id.
type DocumentSort string

// The orders of documents.
const (
	DocumentSortCreated   DocumentSort = "created"   // the oldest first
	DocumentSortNewest    DocumentSort = "newest"    // the last change of the document first
	DocumentSortTimestamp DocumentSort = "timestamp" // the newest timestamp first, documents without one last
)

// DocumentFilter selects documents, which must meet all conditions that are set, and their order.
type DocumentFilter struct {
	Tags    []string // at least one of these
	AllTags []string // each of these
	// Timestamp is the range of the timestamps.
	Timestamp TimestampRange
	Sort      DocumentSort // the default is DocumentSortCreated
}

func (f *DocumentFilter) values() url.Values {
	q := url.Values{}
	setTexts(q, "tag", f.Tags)
	setTexts(q, "allTag", f.AllTags)
	for name, at := range map[string]time.Time{"timestampFrom": f.Timestamp.From, "timestampTo": f.Timestamp.To} {
		if !at.IsZero() {
			setText(q, name, At(at))
		}
	}
	setText(q, "sort", f.Sort)
	return q
}

// List returns a page of the documents, by default the oldest first, without their texts.
func (d *Documents) List(ctx context.Context, filter DocumentFilter, paging Paging) (*Page[Document], error) {
	return fetchPage[Document](ctx, d.t, listDocuments.withQuery(paging.values(filter.values())))
}

// All iterates over the documents, by default the oldest first, page by page, without their texts. Unless the order is
// that of creation, a document that changes meanwhile may be missing or occur twice.
func (d *Documents) All(ctx context.Context, filter DocumentFilter) iter.Seq2[Document, error] {
	return pages[Document](ctx, d.t, listDocuments.withQuery(filter.values()))
}

// Delete deletes a document with its passages. [Commands.Undo] with the id of the command restores them.
func (d *Documents) Delete(ctx context.Context, id string, options ...CallOption) (*DeletedDocument, error) {
	r := deleteDocument.request(id)
	r.set("Idempotency-Key", newCallOptions(options).idempotencyKey)
	r.set("Prefer", commandWait)
	return fetch[*DeletedDocument](ctx, d.t, r)
}

// Search finds nodes.
type Search struct{ t *transport }

// Nodes returns a page of the nodes that match a text by words and by meaning, best first. The page lists in Degraded
// what is missing while a part of the search is unavailable.
func (s *Search) Nodes(ctx context.Context, query SearchQuery) (*Page[SearchHit], error) {
	r, err := search.withBody(query)
	if err != nil {
		return nil, err
	}
	return fetchPage[SearchHit](ctx, s.t, r)
}

// Hybrid returns a page of the nodes that match a text by words, by meaning and by the edges that lead to them, best
// first. Path of a result contains the edges from the node where the traversal began.
func (s *Search) Hybrid(ctx context.Context, query HybridQuery) (*Page[HybridHit], error) {
	r, err := hybridSearch.withBody(query)
	if err != nil {
		return nil, err
	}
	return fetchPage[HybridHit](ctx, s.t, r)
}

// Answer returns the sentences of nodes and documents that answer a question, with their sources. The answer is ""
// if no sentence answers it. [1] in the answer is the first citation. The positions of a sentence are bytes of the
// node's description. With the mode generate, a chat model writes the answer, and Generated reports which of its
// sentences the sources contain; Generated is nil if the model is unavailable, and the answer is then quoted.
func (s *Search) Answer(ctx context.Context, query AnswerQuery) (*Answer, error) {
	r, err := answer.withBody(query)
	if err != nil {
		return nil, err
	}
	return fetch[*Answer](ctx, s.t, r)
}

// IndexStatus returns the status of the index of the workspace's nodes.
func (s *Search) IndexStatus(ctx context.Context) (*IndexStatus, error) {
	return fetch[*IndexStatus](ctx, s.t, indexStatus.request())
}
