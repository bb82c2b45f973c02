package retrieval

import (
	"fmt"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
)

// counted is what a test knows of a result: the values that it inserted.
type counted struct {
	id         uuid.UUID
	document   uuid.UUID // uuid.Nil: none
	entityType string
	tags       []string   // each once
	timestamp  *time.Time // of the document
	score      float64
}

// catalogue is a graph with documents, and what was inserted.
type catalogue struct {
	*memory
	items []counted
	next  int
}

func (c *catalogue) add(t require.TestingT, entityType graph.EntityType, mark any, known counted) {
	n := graph.Node{ID: known.id, Name: "n", EntityType: entityType}
	if mark != nil {
		value, err := json.Marshal(mark)
		require.NoError(t, err)
		n.Properties = graph.Properties{document.Key: value}
	}
	c.node(n)
	known.entityType = string(entityType)
	c.items = append(c.items, known)
}

func (c *catalogue) id() uuid.UUID {
	c.next++
	return wikiID(c.next)
}

// addDocument adds a document with passages.
func (c *catalogue) addDocument(t require.TestingT, tags []string, timestamp *time.Time, passages int) {
	id := c.id()
	mark := document.Mark{ID: id, ExternalID: "e", Tags: tags, Timestamp: timestamp, Passages: passages}
	known := counted{id: id, document: id, timestamp: timestamp}
	for _, tag := range tags {
		if !slices.Contains(known.tags, tag) {
			known.tags = append(known.tags, tag)
		}
	}
	c.add(t, graph.Object, mark, known)
	for i := range passages {
		known.id = c.id()
		c.add(t, graph.Object, document.Mark{ID: id, ExternalID: "e", Passage: &document.Position{Index: i}}, known)
	}
}

// drawCatalogue draws documents, nodes without documents, and nodes with marks that clients made up.
func drawCatalogue(t *rapid.T) *catalogue {
	c := &catalogue{memory: newMemory()}
	for range rapid.IntRange(0, 8).Draw(t, "documents") {
		var timestamp *time.Time
		if rapid.Bool().Draw(t, "hasTimestamp") {
			minutes := rapid.IntRange(-2_000_000, 2_000_000).Draw(t, "minutes") // about four years in both directions
			zone := time.FixedZone("", 3600*rapid.IntRange(-12, 12).Draw(t, "zone"))
			timestamp = new(time.Date(2024, 1, 1, 0, minutes, 0, 0, time.UTC).In(zone))
		}
		tags := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "B", "ü", "c d"}), 0, 4).Draw(t, "tags")
		c.addDocument(t, tags, timestamp, rapid.IntRange(0, 3).Draw(t, "passages"))
	}
	for range rapid.IntRange(0, 6).Draw(t, "nodes") {
		kind := rapid.SampledFrom([]graph.EntityType{graph.Object, graph.Process, graph.Concept}).Draw(t, "type")
		id, made := c.id(), uuid.Nil
		var mark any
		switch rapid.IntRange(0, 4).Draw(t, "mark") {
		case 0: // a passage of a document that does not exist
			made = uuid.New()
			mark = document.Mark{ID: made, ExternalID: "x", Tags: []string{"a"}, Passage: &document.Position{}}
		case 1: // the mark of another node
			mark = document.Mark{ID: uuid.New(), ExternalID: "x", Tags: []string{"a"}}
		case 2:
			mark = "text"
		}
		c.add(t, kind, mark, counted{id: id, document: made})
	}
	for i := range c.items {
		c.items[i].score = float64(rapid.IntRange(0, 10).Draw(t, "score")) / 10
	}
	return c
}

// want returns the expected facet of the inserted values.
func want(name FacetName, q FacetQuery, items []counted) Facet {
	f := Facet{Name: name, Values: []FacetValue{}}
	bucketsOf := func(interval Interval) map[string]int {
		buckets := map[string]int{}
		for _, item := range items {
			if item.timestamp == nil {
				continue
			}
			year, month, day := item.timestamp.UTC().Date()
			buckets[map[Interval]string{
				Day: fmt.Sprintf("%d-%02d-%02d", year, month, day), Month: fmt.Sprintf("%d-%02d", year, month),
				Year: fmt.Sprint(year),
			}[interval]]++
		}
		return buckets
	}
	counts := map[string]int{}
	switch name {
	case FacetEntityType:
		for _, item := range items {
			counts[item.entityType]++
		}
	case FacetTags:
		for _, item := range items {
			for _, tag := range item.tags {
				counts[tag]++
			}
			if len(item.tags) == 0 {
				f.Missing++
			}
		}
	case FacetTimestamp:
		f.Interval = q.Interval
		for _, interval := range []Interval{Year, Month, Day} {
			if q.Interval == "" && (interval == Year || len(bucketsOf(interval)) <= q.Limit) {
				f.Interval = interval
			}
		}
		counts = bucketsOf(f.Interval)
		f.Missing = len(items)
		for _, count := range counts {
			f.Missing -= count
		}
	}
	for value, count := range counts {
		f.Values = append(f.Values, FacetValue{value, count})
	}
	sort.Slice(f.Values, func(i, j int) bool {
		a, b := f.Values[i], f.Values[j]
		return a.Count > b.Count || a.Count == b.Count && a.Value < b.Value
	})
	for len(f.Values) > q.Limit {
		f.Other += f.Values[len(f.Values)-1].Count
		f.Values = f.Values[:len(f.Values)-1]
	}
	return f
}

// firstOfDocuments keeps one item of each document.
func firstOfDocuments(items []counted) (kept []counted) {
	seen := map[uuid.UUID]bool{}
	for _, item := range items {
		if item.document == uuid.Nil || !seen[item.document] {
			kept = append(kept, item)
		}
		seen[item.document] = true
	}
	return kept
}

func TestFacetsCountWhatWasInsertedOfTheRankedResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCatalogue(t)
		s := newFakeLanes()
		q := Query{
			Text: "x", Limit: rapid.IntRange(1, 5).Draw(t, "limit"), Offset: rapid.IntRange(0, 20).Draw(t, "offset"),
			MinScore: rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "minScore"), ByDocument: rapid.Bool().Draw(t, "grouped"),
			Facets: FacetQuery{
				Names:    rapid.Permutation([]FacetName{FacetEntityType, FacetTags, FacetTimestamp}).Draw(t, "names"),
				Limit:    rapid.IntRange(1, 8).Draw(t, "facetLimit"),
				Interval: rapid.SampledFrom([]Interval{"", Day, Month, Year}).Draw(t, "interval"),
			},
		}
		var ranked []counted
		for _, item := range c.items {
			s.text = append(s.text, TextHit{item.id, 1, item.score})
			if item.score > 0 && item.score/2 >= q.MinScore {
				ranked = append(ranked, item)
			}
		}
		if q.ByDocument {
			ranked = firstOfDocuments(ranked)
		}
		e := s.engine(c.memory)
		r, err := e.Search(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, len(ranked), r.Total)
		require.Len(t, r.Facets, 3)
		for i, f := range r.Facets {
			require.Equal(t, want(q.Facets.Names[i], q.Facets, ranked), f)
		}
		q.MinScore = 0
		plain, err := e.Search(t.Context(), q)
		require.NoError(t, err)
		hybrid, err := e.Hybrid(t.Context(), HybridQuery{Query: q, Weights: DefaultWeights()})
		require.NoError(t, err)
		require.Equal(t, plain.Facets, hybrid.Facets, "without edges both rank the same nodes")
	})
}

func TestASearchWithoutFacetsReadsNothingForThem(t *testing.T) {
	c := &catalogue{memory: newMemory()}
	c.addDocument(t, []string{"a"}, nil, 3)
	s := newFakeLanes()
	for _, item := range c.items[1:] {
		s.text = append(s.text, TextHit{item.id, 1, 0.5})
	}
	for _, test := range []struct {
		names []FacetName
		reads int
	}{
		{nil, 0}, {[]FacetName{FacetEntityType}, 1},
		{[]FacetName{FacetEntityType, FacetTags, FacetTimestamp}, 2}, // the passages, and their document
	} {
		c.markReads = 0
		q := Query{Text: "x", Limit: 10, Facets: FacetQuery{Names: test.names, Limit: 10}}
		r, err := s.engine(c.memory).Search(t.Context(), q)
		require.NoError(t, err)
		require.Len(t, r.Facets, len(test.names))
		require.Equal(t, test.reads, c.markReads)
	}
}

func TestFacetsCountOnlyTheRankedCandidates(t *testing.T) {
	s, m := newFakeLanes(), nodesOf(textHits+100)
	for i := range textHits + 100 {
		s.text = append(s.text, TextHit{wikiID(i), 1, 0.5})
	}
	q := Query{Text: "x", Limit: 1, Facets: FacetQuery{Names: []FacetName{FacetEntityType, FacetTags}, Limit: 10}}
	r, err := s.engine(m).Search(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, textHits, r.Total)
	require.Equal(t, []Facet{
		{Name: FacetEntityType, Values: []FacetValue{{"object", textHits}}},
		{Name: FacetTags, Values: []FacetValue{}, Missing: textHits},
	}, r.Facets)
}

// TestAMarkThatAClientMadeUpHasAtMostTheTagsOfADocument covers properties that clients set.
func TestAMarkThatAClientMadeUpHasAtMostTheTagsOfADocument(t *testing.T) {
	c := &catalogue{memory: newMemory()}
	tags := make([]string, document.MaxTags+10)
	for i := range tags {
		tags[i] = fmt.Sprintf("%03d", i)
	}
	c.addDocument(t, tags, nil, 0)
	s := newFakeLanes()
	s.text = []TextHit{{c.items[0].id, 1, 0.5}}
	q := Query{Text: "x", Limit: 1, Facets: FacetQuery{Names: []FacetName{FacetTags}, Limit: 50}}
	r, err := s.engine(c.memory).Search(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, r.Facets[0].Values, 50)
	require.Equal(t, document.MaxTags-50, r.Facets[0].Other)
}
