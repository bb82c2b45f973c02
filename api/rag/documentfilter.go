package rag

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// maxFilterTags is the maximum number of tags in a list: as many as a document can have.
const maxFilterTags = document.MaxTags

// maxFilterDocuments is the maximum number of ids of documents.
const maxFilterDocuments = 100

// documentBody has the fields of a search that select documents.
type documentBody struct {
	Documents []string   `json:"documents"`
	Tags      []string   `json:"tags"`
	AllTags   []string   `json:"allTags"`
	Timestamp *timeRange `json:"timestamp"`
}

// timeRange is a range of RFC 3339 times.
type timeRange struct {
	From *string `json:"from"` // inclusive
	To   *string `json:"to"`   // exclusive
}

// read validates the fields and returns their filter.
func (b *documentBody) read(c *request.Check) retrieval.DocumentFilter {
	f := retrieval.DocumentFilter{
		IDs: documentIDs(c, b.Documents), AnyTags: tagsOf(c, "tags", b.Tags), AllTags: tagsOf(c, "allTags", b.AllTags),
	}
	if b.Timestamp == nil {
		return f
	}
	f.From = timeOf(c, "timestamp.from", b.Timestamp.From)
	f.To = timeOf(c, "timestamp.to", b.Timestamp.To)
	switch {
	case b.Timestamp.From == nil && b.Timestamp.To == nil:
		c.Fail("timestamp", "must have from, to or both; leave it out for any")
	case f.From != nil && f.To != nil && !f.From.Before(*f.To):
		c.Fail("timestamp.to", "must be after from")
	}
	return f
}

// documentIDs parses ids of documents and returns them sorted and without duplicates. Unknown ids are not an error, so
// that a response does not show whether another workspace has a document with an id.
func documentIDs(c *request.Check, texts []string) []uuid.UUID {
	const field = "documents"
	if texts != nil && (len(texts) == 0 || len(texts) > maxFilterDocuments) {
		c.Fail(field, fmt.Sprintf("must have 1 to %d ids; leave it out for any", maxFilterDocuments))
		return nil
	}
	return slices.Compact(slices.SortedFunc(slices.Values(c.UUIDs(field, texts, maxFilterDocuments)), uuids.Compare))
}

// tagsOf validates tags and returns them sorted and without duplicates. A list must not be empty, because its meaning
// would be ambiguous.
func tagsOf(c *request.Check, field string, tags []string) []string {
	if tags != nil && (len(tags) == 0 || len(tags) > maxFilterTags) {
		c.Fail(field, fmt.Sprintf("must have 1 to %d tags; leave it out for any", maxFilterTags))
		return nil
	}
	for i, tag := range tags {
		c.Text(fmt.Sprintf("%s[%d]", field, i), tag, 1, document.MaxTag)
	}
	return slices.Compact(slices.Sorted(slices.Values(tags)))
}

// timeOf returns an RFC 3339 time, nil if it is absent.
func timeOf(c *request.Check, field string, text *string) *time.Time {
	if text == nil {
		return nil
	}
	t, ok := request.ParseTime(*text)
	if !ok {
		c.Fail(field, "must be an RFC 3339 time, such as 2026-11-21T07:40:08Z")
		return nil
	}
	return &t
}

// replace replaces the fields that are set in another body.
func (b *documentBody) replace(o *documentBody) {
	if o.Documents != nil {
		b.Documents = o.Documents
	}
	if o.Tags != nil {
		b.Tags = o.Tags
	}
	if o.AllTags != nil {
		b.AllTags = o.AllTags
	}
	if o.Timestamp != nil {
		b.Timestamp = o.Timestamp
	}
}
