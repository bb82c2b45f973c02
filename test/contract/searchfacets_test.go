package contract_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

// facetItem is a facet in an answer.
type facetItem struct {
	Interval string
	Values   []struct {
		Value string
		Count int
	}
	Other, Missing int
}

// facetsOf sends a search that must succeed and returns the number of ranked results and the facets.
func (s *searcher) facetsOf(t testing.TB, path, members string) (total int, facets map[string]facetItem) {
	t.Helper()
	a := s.Do(t, contract.Request{Method: http.MethodPost, Path: path, Body: `{"query":"pump","limit":1,` + members + `}`})
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	var body struct {
		Meta struct {
			Total  int
			Facets map[string]facetItem
		}
	}
	require.NoError(t, json.Unmarshal(a.Body, &body))
	return body.Meta.Total, body.Meta.Facets
}

// insertedItem is a node that a search ranks, with the values that the test inserted.
type insertedItem struct {
	document, entityType string
	tags                 []string
	timestamp            time.Time // zero: none
}

// countOf counts the values of the items as a client would.
func countOf(items []insertedItem, limit int, valuesOf func(insertedItem) []string) (f facetItem) {
	counts := map[string]int{}
	for _, item := range items {
		values := valuesOf(item)
		for _, value := range values {
			counts[value]++
		}
		if len(values) == 0 {
			f.Missing++
		}
	}
	for value, count := range counts {
		f.Values = append(f.Values, struct {
			Value string
			Count int
		}{value, count})
	}
	slices.SortFunc(f.Values, func(a, b struct {
		Value string
		Count int
	}) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Value, b.Value))
	})
	for len(f.Values) > limit {
		f.Other += f.Values[len(f.Values)-1].Count
		f.Values = f.Values[:len(f.Values)-1]
	}
	return f
}

// createArchive creates documents and nodes that all match "pump", and returns them.
func (s *searcher) createArchive(t *testing.T, foreign string) (items []insertedItem) {
	t.Helper()
	inputs := []documentInput{
		{"externalId": "long", "title": "Pump manual", "text": sentences(0, 60), "tags": []string{"water", "north"},
			"timestamp": "2026-01-31T23:30:00-01:00"}, // February in UTC
		{"externalId": "short", "title": "Pump note", "text": "A pump.", "tags": []string{"water"},
			"timestamp": "2026-02-01T00:00:00Z"},
		{"externalId": "old", "title": "Old pump", "text": "Another pump.", "tags": []string{"air"},
			"timestamp": "2024-06-01T00:00:00Z"},
		{"externalId": "bare", "title": "Pump without tags", "text": "One more pump."},
	}
	s.put(t, inputs...)
	for _, input := range inputs {
		item := insertedItem{document: input["externalId"].(string), entityType: "object"}
		item.tags, _ = input["tags"].([]string)
		if text, ok := input["timestamp"].(string); ok {
			timestamp, err := time.Parse(time.RFC3339, text)
			require.NoError(t, err)
			item.timestamp = timestamp.UTC()
		}
		for range 1 + s.document(t, item.document).PassageCount {
			items = append(items, item)
		}
	}
	s.newDescribedNode(t, "", "", "concept", "Pump", "A pump is a machine.", `{}`)
	// A node that claims to be a passage of a document of another workspace.
	s.newDescribedNode(t, "", "", "process", "Pump test", "Tests a pump.", `{"document":{"id":"`+foreign+
		`","externalId":"theirs","title":"Theirs","passage":{"index":0,"from":0,"to":1}}}`)
	return append(items, insertedItem{entityType: "concept"}, insertedItem{entityType: "process"})
}

func TestFacetsCountTheRankedResultsOfASearch(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	other := s.NewWorkspace(t, apikey.Live)
	a := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: documentsPath, Workspace: other.String(),
		Key: s.NewKey(t, []uuid.UUID{other}, request.Admin),
		Body: `{"documents":[{"externalId":"theirs","text":"Their pump.","tags":["theirs"],` +
			`"timestamp":"1999-01-01T00:00:00Z"}]}`,
	})
	foreign := decode[struct{ Documents []putResult }](t, a, http.StatusAccepted).Documents[0].ID
	items := s.createArchive(t, foreign)
	require.Greater(t, len(items), 8, "a document has several passages")
	s.untilReady(t)
	for _, path := range []string{searchPath, hybridPath} {
		for _, grouped := range []bool{false, true} {
			want, members := items, ""
			if grouped {
				want, members = firstPerDocument(items), `"groupBy":"document",`
			}
			s.requireFacets(t, path, members, want)
		}
		total, facets := s.facetsOf(t, path, `"entityTypes":["concept"],"facets":["entityType","tags"]`)
		require.Equal(t, 1, total)
		require.Equal(t, map[string]facetItem{
			"entityType": countOf([]insertedItem{{entityType: "concept"}}, 10, entityTypeOf),
			"tags":       {Values: facets["tags"].Values[:0], Missing: 1},
		}, facets, "filters apply before counting")
		total, facets = s.facetsOf(t, path, `"offset":1000,"facets":["entityType"]`)
		require.Equal(t, countOf(items, 10, entityTypeOf), facets["entityType"], "the same on every page")
		require.Len(t, items, total)
		_, facets = s.facetsOf(t, path, `"offset":0`)
		require.Nil(t, facets)
	}
}

func entityTypeOf(i insertedItem) []string { return []string{i.entityType} }

// firstPerDocument keeps one item of each document, and the items without one.
func firstPerDocument(items []insertedItem) (kept []insertedItem) {
	for i, item := range items {
		if item.document == "" || i == 0 || items[i-1].document != item.document {
			kept = append(kept, item)
		}
	}
	return kept
}

// requireFacets compares the facets of a search with what was inserted.
func (s *searcher) requireFacets(t *testing.T, path, members string, items []insertedItem) {
	t.Helper()
	formatted := func(layout string) func(insertedItem) []string {
		return func(i insertedItem) []string {
			if i.timestamp.IsZero() {
				return nil
			}
			return []string{i.timestamp.Format(layout)}
		}
	}
	for _, c := range []struct{ members, interval, layout string }{
		{`"facetLimit":1,`, "year", "2006"}, {`"facetLimit":2,`, "day", "2006-01-02"}, {"", "day", "2006-01-02"},
		{`"facetInterval":"month",`, "month", "2006-01"}, {`"facetLimit":50,"facetInterval":"year",`, "year", "2006"},
		{`"facetLimit":1,"facetInterval":"day",`, "day", "2006-01-02"},
	} {
		limit := 10
		_, _ = fmt.Sscanf(c.members, `"facetLimit":%d`, &limit)
		total, facets := s.facetsOf(t, path, members+c.members+`"facets":["timestamp","entityType","tags"]`)
		require.Len(t, items, total, "%s %s", path, members)
		timestamps := countOf(items, limit, formatted(c.layout))
		timestamps.Interval = c.interval
		require.Equal(t, map[string]facetItem{
			"entityType": countOf(items, limit, entityTypeOf),
			"tags":       countOf(items, limit, func(i insertedItem) []string { return i.tags }), "timestamp": timestamps,
		}, facets, "%s %s%s", path, members, c.members)
	}
}
