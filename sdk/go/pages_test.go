package livegraph_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

func TestListsAreReadToTheirEndByCursor(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			page(w, `[{"id":"1"},{"id":"2"}]`, true, `"next"`)
			return
		}
		page(w, `[{"id":"3"}]`, false, "null")
	})
	nodes, err := livegraph.Collect(s.client(t).Nodes.All(t.Context(), livegraph.NodeFilter{Name: "p"}))
	noError(t, err)
	equal(t, 3, len(nodes))
	equal(t, "limit=100&name=p", s.all()[0].query.Encode())
	equal(t, "cursor=next&limit=100&name=p", s.all()[1].query.Encode())
}

func TestListsWithoutACursorAreReadByOffset(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		page(w, []string{`[{"name":"a"},{"name":"b"}]`, `[{"name":"c"}]`, `[]`}[n-1], true, "null")
	})
	files, err := livegraph.Collect(s.client(t).Rules.All(t.Context()))
	noError(t, err)
	equal(t, 3, len(files))
	equal(t, "limit=100&offset=3", s.all()[2].query.Encode())
}

func TestAnIterationEndsWithTheLoopOrWithAnError(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 3 {
			fail(w, 403, "AUTHORIZATION_ERROR")
			return
		}
		page(w, `[{"id":"1"},{"id":"2"}]`, true, `"next"`)
	})
	client := s.client(t)
	for edge, err := range client.Edges.All(t.Context(), livegraph.EdgeFilter{}) {
		noError(t, err)
		equal(t, "1", edge.ID)
		break
	}
	equal(t, 1, len(s.all()))
	edges, err := livegraph.Collect(client.Edges.All(t.Context(), livegraph.EdgeFilter{}))
	check(t, errors.Is(err, livegraph.ErrForbidden), "%v", err)
	equal(t, 2, len(edges))
	equal(t, 3, len(s.all()))
}

func TestAPageOfASearchHasItsFacets(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n > 1 {
			page(w, `[]`, false, "null")
			return
		}
		_, _ = w.Write([]byte(`{"success":true,"data":[],"meta":{"total":3,"limit":10,"offset":0,"hasMore":false,` +
			`"nextCursor":null,"facets":{"timestamp":{"interval":"year","values":[{"value":"2026","count":2}],"other":0,` +
			`"missing":1}}},"requestId":"req_1"}`))
	})
	found, err := s.client(t).Search.Nodes(t.Context(), livegraph.SearchQuery{
		Query: "a", Facets: []livegraph.FacetName{livegraph.FacetNameTimestamp}, FacetLimit: 5, FacetInterval: "year",
	})
	noError(t, err)
	check(t, found.Facets.Tags == nil, "%+v", found.Facets)
	equal(t, livegraph.SearchFacet{
		Interval: "year", Values: []livegraph.FacetValue{{Value: "2026", Count: 2}}, Missing: 1,
	}, *found.Facets.Timestamp)
	equal(t, `{"query":"a","facets":["timestamp"],"facetLimit":5,"facetInterval":"year"}`, s.all()[0].body)
	found, err = s.client(t).Search.Nodes(t.Context(), livegraph.SearchQuery{Query: "a"})
	noError(t, err)
	check(t, found.Facets == nil, "%+v", found.Facets)
}

func TestSearchesAreFilteredByDocuments(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { page(w, `[]`, false, "null") })
	at := time.Date(2026, 11, 21, 7, 40, 8, 0, time.UTC)
	_, err := s.client(t).Search.Nodes(t.Context(), livegraph.SearchQuery{
		Query: "a", Documents: []string{"e"}, Tags: []string{"b", "c"}, AllTags: []string{"d"},
		Timestamp: &livegraph.TimestampRange{From: at},
	})
	noError(t, err)
	equal(t,
		`{"query":"a","documents":["e"],"tags":["b","c"],"allTags":["d"],"timestamp":{"from":"2026-11-21T07:40:08Z"}}`,
		s.all()[0].body)
}

func TestListsOfDocumentsAreFiltered(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { page(w, `[]`, false, "null") })
	at := time.Date(2026, 11, 21, 7, 40, 8, 0, time.UTC)
	filter := livegraph.DocumentFilter{
		Tags: []string{"a,b", "c"}, AllTags: []string{"d"}, Timestamp: livegraph.TimestampRange{From: at},
	}
	_, err := s.client(t).Documents.List(t.Context(), filter, livegraph.Paging{Limit: 5})
	noError(t, err)
	equal(t, "allTag=d&limit=5&tag=a%2Cb&tag=c&timestampFrom=2026-11-21T07%3A40%3A08Z", s.all()[0].query.Encode())
	_, err = livegraph.Collect(s.client(t).Documents.All(
		t.Context(), livegraph.DocumentFilter{
			Timestamp: livegraph.TimestampRange{To: at}, Sort: livegraph.DocumentSortNewest,
		},
	))
	noError(t, err)
	equal(t, "limit=100&sort=newest&timestampTo=2026-11-21T07%3A40%3A08Z", s.all()[1].query.Encode())
}

func TestAPageOfASearchHasItsReranking(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) {
		_, _ = w.Write([]byte(`{"success":true,"data":[],"meta":{"total":3,"limit":10,"offset":0,"hasMore":false,` +
			`"nextCursor":null,"rerank":{"model":"m","candidates":3,"milliseconds":1.5}},"requestId":"req_1"}`))
	})
	found, err := s.client(t).Search.Hybrid(t.Context(), livegraph.HybridQuery{
		Query: "a", Rerank: &livegraph.RerankOptions{Candidates: 30, Weight: new(0.0)},
	})
	noError(t, err)
	equal(t, livegraph.Reranking{Model: "m", Candidates: 3, Milliseconds: 1.5}, *found.Rerank)
	equal(t, `{"query":"a","rerank":{"candidates":30,"weight":0}}`, s.all()[0].body)
	_, err = s.client(t).Search.Nodes(t.Context(), livegraph.SearchQuery{Query: "a", Rerank: &livegraph.RerankOptions{}})
	noError(t, err)
	equal(t, `{"query":"a","rerank":{}}`, s.all()[1].body)
}

func TestASourceIsFoundByItsExactName(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, r *received) {
		if r.method == http.MethodPost {
			fail(w, 409, "CONFLICT")
			return
		}
		page(w, `[{"id":"1","name":"Pump"},{"id":"2","name":"pump 2"},{"id":"3","name":"pump"}]`, false, "null")
	})
	source, created, err := s.client(t).Sources.Ensure(t.Context(), livegraph.NewSource{Name: "pump"})
	noError(t, err)
	check(t, !created && source.ID == "3", "%+v", source)
	_, err = s.client(t).Sources.Find(t.Context(), "pum")
	check(t, errors.Is(err, livegraph.ErrNotFound), "%v", err)
}
