// Package documentfilter has the conditions by which searches select nodes by the document to which they belong.
//
// A document's own node has its tags and its timestamp; its passages inherit them. No other package of the stores reads
// them in conditions.
package documentfilter

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Conditions of nodes n and of the nodes d of their documents. Anyone can set properties, so no text is converted that
// may have another form. Those of documents are those of their indexes.
const (
	isDocumentD = isMarkedD + `
		AND d.properties -> 'document' ->> 'id' = d.id::text`
	// isFoundDocumentD is the same for documents that are found by other indexes. It excludes those of documents: the
	// planner takes them for nearly empty, because it cannot estimate these conditions, and would read all of an index.
	isFoundDocumentD = isMarkedD + `
		AND d.properties -> 'document' ->> 'id' IS NOT DISTINCT FROM d.id::text`
	isMarkedD = `d.properties -> 'document' ->> 'externalId' IS NOT NULL
		AND d.properties -> 'document' -> 'passage' IS NULL AND NOT d.deleted`
	isPartN = `n.properties -> 'document' ->> 'externalId' IS NOT NULL AND NOT n.deleted`
	// documentIDOfN is the id of the document of n; NULL: it has none.
	documentIDOfN = `CASE WHEN n.properties -> 'document' ->> 'id' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
		THEN (n.properties -> 'document' ->> 'id')::uuid END`
	// belongsToD excludes other nodes than the document's own with a copy of its mark.
	belongsToD = `(n.id = d.id OR n.properties -> 'document' -> 'passage' IS NOT NULL)`
	timestampD = `d.properties -> 'document' ->> 'timestamp'`
	// sortedD has the order of the times that timestampText returns; NULL: the document has no timestamp in UTC.
	sortedD = `(CASE WHEN ` + timestampD + ` ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$'
		THEN rtrim(` + timestampD + `, 'Z') COLLATE "C" END)`
)

// Order is an order of documents. Those that are equal in it are sorted by id.
type Order string

// The orders.
const (
	ByCreation  Order = "created"   // oldest first
	ByChange    Order = "newest"    // the last change of the document first
	ByTimestamp Order = "timestamp" // newest first, documents without a timestamp last
)

// OrderBy returns the ORDER BY clause of the nodes d of documents, for which there is an index.
func (o Order) OrderBy() string {
	switch o {
	case ByChange:
		return `ORDER BY d.updated_at DESC, d.id`
	case ByTimestamp:
		return `ORDER BY ` + sortedD + ` DESC NULLS LAST, d.id`
	case ByCreation:
	}
	return `ORDER BY d.created_at, d.id`
}

// Add adds the condition that a node n belongs to a document that passes a filter. The document is looked
// up by key, so that no plan reads the whole table for a few thousand nodes.
func Add(w *postgres.Where, f *retrieval.DocumentFilter) {
	d := &postgres.Where{Args: w.Args, Conditions: []string{
		"d.workspace_id = n.workspace_id", "d.id = " + documentIDOfN, isFoundDocumentD, belongsToD,
		"d.properties -> 'document' ->> 'externalId' = n.properties -> 'document' ->> 'externalId'",
	}}
	addConditions(d, f)
	w.Args = d.Args
	w.Conditions = append(w.Conditions, "(SELECT true FROM nodes d WHERE "+d.Text()+")")
}

// AddDocuments adds the conditions that a node d is the own node of a document that passes a filter.
func AddDocuments(w *postgres.Where, f *retrieval.DocumentFilter) {
	w.Conditions = append(w.Conditions, isDocumentOf(f))
	addConditions(w, f)
}

// isDocumentOf returns the condition that a node d is the own node of a document, for the index by which the filter
// finds it.
func isDocumentOf(f *retrieval.DocumentFilter) string {
	if len(f.IDs) > 0 || len(f.AnyTags) > 0 || len(f.AllTags) > 0 {
		return isFoundDocumentD
	}
	return isDocumentD
}

// Matching returns the query of at most limit nodes n that belong to documents which pass a filter. It reads the
// documents that pass and then their nodes, until there are enough. addOthers adds further conditions of n.
func Matching(
	workspace uuid.UUID, f *retrieval.DocumentFilter, limit int, addOthers func(n *postgres.Where),
) (query string, args []any) {
	d := &postgres.Where{}
	d.Add("d.workspace_id = ?", workspace)
	d.Conditions = append(d.Conditions, isDocumentOf(f))
	addConditions(d, f)
	n := &postgres.Where{Args: d.Args, Conditions: []string{
		isPartN, belongsToD, "md5(n.properties -> 'document' ->> 'externalId') = md5(d.external_id)",
		"n.properties -> 'document' ->> 'externalId' = d.external_id", "n.properties -> 'document' ->> 'id' = d.id::text",
	}}
	n.Add("n.workspace_id = ?", workspace)
	addOthers(n)
	return fmt.Sprintf(`SELECT n.id FROM (
			SELECT d.id, d.properties -> 'document' ->> 'externalId' AS external_id FROM nodes d WHERE %s OFFSET 0) d
		CROSS JOIN LATERAL (SELECT n.id FROM nodes n WHERE %s OFFSET 0) n LIMIT %d`, d.Text(), n.Text(), limit), n.Args
}

// addConditions adds the conditions of a filter on the node d of a document.
func addConditions(w *postgres.Where, f *retrieval.DocumentFilter) {
	contains := func(tags ...string) string { return "d.properties @> " + w.Arg(markWith(tags)) + "::jsonb" }
	if len(f.IDs) > 0 {
		w.Add("d.id = ANY(?)", postgres.IDArray(f.IDs))
	}
	var alternatives []string
	for _, tag := range f.AnyTags { // one condition per tag, because only these can use the index
		alternatives = append(alternatives, contains(tag))
	}
	if len(alternatives) > 0 {
		w.Conditions = append(w.Conditions, "("+strings.Join(alternatives, " OR ")+")")
	}
	if len(f.AllTags) > 0 {
		w.Conditions = append(w.Conditions, contains(f.AllTags...))
	}
	if f.From != nil {
		w.Conditions = append(w.Conditions, sortedD+` >= `+w.Arg(timestampText(*f.From))+`::text`)
	}
	if f.To != nil {
		w.Conditions = append(w.Conditions, sortedD+` < `+w.Arg(timestampText(*f.To))+`::text`)
	}
}

// markWith returns the properties of a document with tags.
func markWith(tags []string) string {
	type mark struct {
		Tags []string `json:"tags"`
	}
	properties, _ := json.Marshal(map[string]mark{document.Key: {tags}}) // texts are valid UTF-8
	return string(properties)
}

// timestampText returns a time as marks have it, in UTC, without the Z: the order of these texts by code point is that
// of the times, also of those with fractions of different lengths.
func timestampText(t time.Time) string {
	return strings.TrimSuffix(t.UTC().Format(time.RFC3339Nano), "Z")
}
