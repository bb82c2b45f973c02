package retrieval

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// FacetName is the name of a field whose values are counted.
type FacetName string

// The facets. Tags and the timestamp are those of the document to which a result belongs.
const (
	FacetEntityType FacetName = "entityType"
	FacetTags       FacetName = "tags"
	FacetTimestamp  FacetName = "timestamp"
)

// Interval is a calendar interval in UTC.
type Interval string

// The intervals.
const (
	Day   Interval = "day"
	Month Interval = "month"
	Year  Interval = "year"
)

// layouts has the layout of the value of a bucket of each interval.
var layouts = map[Interval]string{Day: "2006-01-02", Month: "2006-01", Year: "2006"}

// FacetQuery is what is counted over the ranked results of a search.
type FacetQuery struct {
	Names []FacetName // each once; empty: nothing is counted
	Limit int         // maximum number of values of a facet, 1 to 50
	// Interval is that of the buckets of timestamps. Empty: the shortest of those with at most Limit values, or a year.
	Interval Interval
}

// Facet has the most frequent values of a field.
type Facet struct {
	Name     FacetName
	Interval Interval     // of timestamps; otherwise empty
	Values   []FacetValue // those with the highest count first, then by value
	Other    int          // sum of the counts of the values beyond the limit
	Missing  int          // results without a value
}

// FacetValue is a value of a facet.
type FacetValue struct {
	Value string
	Count int // results that have the value
}

// facets counts the values of the ranked results of a query.
func (e *Engine) facets(ctx context.Context, q *Query, ranked []candidate) ([]Facet, error) {
	if len(q.Facets.Names) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(ranked))
	for i := range ranked {
		ids[i] = ranked[i].id
	}
	marked, err := e.deps.Graph.ReadMarks(ctx, q.Workspace, ids)
	if err != nil {
		return nil, err
	}
	var documents map[uuid.UUID]*document.Mark
	if q.Facets.ofDocuments() {
		if documents, err = e.documentMarks(ctx, q.Workspace, marked); err != nil {
			return nil, err
		}
	}
	facets := make([]Facet, len(q.Facets.Names))
	for i, name := range q.Facets.Names {
		facets[i] = q.Facets.count(name, marked, documents)
	}
	return facets, nil
}

// ofDocuments reports whether a facet is a field of documents.
func (q *FacetQuery) ofDocuments() bool {
	return slices.Contains(q.Names, FacetTags) || slices.Contains(q.Names, FacetTimestamp)
}

// documentMarks returns the mark of the document's own node for each node that belongs to a document. The mark of a
// passage has neither tags nor a timestamp.
func (e *Engine) documentMarks(
	ctx context.Context, workspace uuid.UUID, marked map[uuid.UUID]graph.Node,
) (map[uuid.UUID]*document.Mark, error) {
	parents := map[uuid.UUID]uuid.UUID{}
	own := map[uuid.UUID]*document.Mark{}
	var unread []uuid.UUID
	for id, n := range marked {
		mark := document.MarkOf(&n)
		switch {
		case mark == nil:
			continue
		case mark.Passage == nil:
			own[id] = mark
		default:
			if _, read := marked[mark.ID]; !read {
				unread = append(unread, mark.ID)
			}
		}
		parents[id] = mark.ID
	}
	slices.SortFunc(unread, uuids.Compare)
	nodes, err := e.deps.Graph.ReadMarks(ctx, workspace, slices.Compact(unread))
	if err != nil {
		return nil, err
	}
	for id, n := range nodes {
		own[id] = document.OwnMark(&n)
	}
	documents := make(map[uuid.UUID]*document.Mark, len(parents))
	for id, parent := range parents {
		if mark := own[parent]; mark != nil { // anyone can set properties
			documents[id] = mark
		}
	}
	return documents, nil
}

// count returns a facet of the nodes.
func (q *FacetQuery) count(
	name FacetName, nodes map[uuid.UUID]graph.Node, documents map[uuid.UUID]*document.Mark,
) Facet {
	var valuesOf func(n *graph.Node) []string
	f := Facet{Name: name}
	switch name {
	case FacetEntityType:
		valuesOf = func(n *graph.Node) []string { return []string{string(n.EntityType)} }
	case FacetTags:
		valuesOf = func(n *graph.Node) []string { return tagsOf(documents[n.ID]) }
	case FacetTimestamp:
		f.Interval = q.interval(documents)
		valuesOf = func(n *graph.Node) []string { return bucketOf(documents[n.ID], f.Interval) }
	}
	counts := map[string]int{}
	for _, n := range nodes {
		values := valuesOf(&n)
		if len(values) == 0 {
			f.Missing++
		}
		for _, value := range values {
			counts[value]++
		}
	}
	f.Values = make([]FacetValue, 0, len(counts))
	for value, count := range counts {
		f.Values = append(f.Values, FacetValue{Value: value, Count: count})
	}
	slices.SortFunc(f.Values, func(a, b FacetValue) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	for _, v := range f.Values[min(len(f.Values), q.Limit):] {
		f.Other += v.Count
	}
	f.Values = f.Values[:min(len(f.Values), q.Limit)]
	return f
}

// tagsOf returns the tags of a document, each once. A document that was not written by the API may have any number of
// them, of which the first are read.
func tagsOf(m *document.Mark) []string {
	if m == nil {
		return nil
	}
	tags := slices.Clone(m.Tags[:min(len(m.Tags), document.MaxTags)])
	slices.Sort(tags)
	return slices.Compact(tags)
}

// bucketOf returns the bucket of the timestamp of a document.
func bucketOf(m *document.Mark, interval Interval) []string {
	if m == nil || m.Timestamp == nil {
		return nil
	}
	return []string{m.Timestamp.UTC().Format(layouts[interval])}
}

// interval returns the interval of the buckets of timestamps.
func (q *FacetQuery) interval(documents map[uuid.UUID]*document.Mark) Interval {
	if q.Interval != "" {
		return q.Interval
	}
	for _, interval := range []Interval{Day, Month} {
		buckets := map[string]struct{}{}
		for _, m := range documents {
			for _, bucket := range bucketOf(m, interval) {
				buckets[bucket] = struct{}{}
			}
		}
		if len(buckets) <= q.Limit {
			return interval
		}
	}
	return Year
}
