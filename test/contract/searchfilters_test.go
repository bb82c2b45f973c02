package contract_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

// found returns the external ids of the documents of a search's results, each once and sorted, and the number of
// results that belong to none.
func found(hits []searchHit) (documents []string, others int) {
	for i := range hits {
		if hits[i].Document == nil {
			others++
			continue
		}
		documents = append(documents, hits[i].Document.ExternalID)
	}
	slices.Sort(documents)
	return slices.Compact(documents), others
}

// requireDocuments requires that both searches return results of exactly these documents, without other nodes.
func (s *searcher) requireDocuments(t *testing.T, members string, want ...string) {
	t.Helper()
	for _, path := range []string{searchPath, hybridPath} {
		documents, others := found(s.search(t, path, `{"query":"pump","limit":100,`+members+`}`))
		require.Equal(t, want, documents, "%s %s", path, members)
		require.Zero(t, others, "%s %s", path, members)
	}
}

// requireListed requires that the list of documents has these external ids, sorted.
func (s *searcher) requireListed(t *testing.T, parameters url.Values, want ...string) {
	t.Helper()
	var list []documentItem
	a := s.Get(t, documentsPath+"?limit=100&"+parameters.Encode(), &list)
	var listed []string
	for i := range list {
		listed = append(listed, list[i].ExternalID)
	}
	slices.Sort(listed)
	require.Equal(t, want, listed, parameters)
	require.EqualValues(t, len(want), a.Meta.Total, parameters)
}

// createFiltered creates 300 documents that match "pump" better than three others, which have tags, and nodes without a
// document. It returns the id of a node beside the documents.
func (s *searcher) createFiltered(t *testing.T) (neighbor string) {
	t.Helper()
	many := make([]documentInput, 300)
	for i := range many {
		many[i] = documentInput{
			"externalId": fmt.Sprint("many ", i), "title": "Pump", "text": "A pump, the pump, and pumps.",
			"tags": []string{"many", "water"}, "timestamp": "2020-01-01T00:00:00Z",
		}
	}
	s.put(t, many...)
	s.put(t,
		documentInput{"externalId": "long", "title": "Manual", "text": sentences(0, 60), "tags": []string{"rare", "north"},
			"timestamp": "2026-01-31T23:30:00.5-01:00"},
		documentInput{"externalId": "short", "title": "Note", "text": "This paragraph about other things has a pump.",
			"tags": []string{"rare", "south", "a,b"}, "timestamp": "2026-02-01T01:00:00Z"},
		documentInput{"externalId": "undated", "title": "Remark", "text": "Remarks on gardens, dogs and one pump.",
			"tags": []string{"rare", "north", "Rare"}},
	)
	neighbor = s.newDescribedNode(t, "", "", "process", "Pumping", "Pumps pump.", `{"tags":["rare"]}`)
	for _, name := range []string{"long", "short"} {
		s.newRelation(t, neighbor, "describes", s.document(t, name).ID)
	}
	s.untilReady(t)
	return neighbor
}

// requireLists lists documents by their tags and timestamps.
func (s *searcher) requireLists(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		parameters url.Values
		want       []string
	}{
		{url.Values{"tag": {"rare"}}, []string{"long", "short", "undated"}},
		{url.Values{"tag": {"Rare", "a,b"}}, []string{"short", "undated"}},
		{url.Values{"allTag": {"rare", "north"}}, []string{"long", "undated"}},
		{url.Values{"allTag": {"rare"}, "tag": {"south", "many"}}, []string{"short"}},
		{url.Values{"tag": {"theirs"}}, nil},
		{url.Values{"timestampFrom": {"2026-01-01T00:00:00Z"}}, []string{"long", "short"}},
		{url.Values{"timestampFrom": {"2026-02-01T02:00:00+01:00"}}, []string{"short"}},
		{url.Values{"timestampFrom": {"2026-02-01T00:30:00.5Z"}, "timestampTo": {"2026-02-01T01:00:00Z"}}, []string{"long"}},
		{url.Values{"tag": {"rare"}, "timestampTo": {"2026-02-01T01:00:00Z"}}, []string{"long"}},
		{url.Values{"timestampTo": {"2020-01-01T00:00:00Z"}}, nil},
		{url.Values{"externalId": {"short"}}, []string{"short"}},
	} {
		s.requireListed(t, c.parameters, c.want...)
	}
	var list []documentItem
	require.EqualValues(t, 300, s.Get(t, documentsPath+"?tag=many&limit=2&offset=299", &list).Meta.Total)
	require.Len(t, list, 1)
	for parameters, field := range map[string]string{
		"tag=": "tag", "allTag=" + strings.Repeat("x", 129): "allTag", "timestampFrom=yesterday": "timestampFrom",
		"timestampFrom=2026-01-01T00:00:00Z&timestampTo=2026-01-01T00:00:00Z": "timestampTo",
		"timestampTo=2026-01-01T00:00:00Z&timestampTo=2026-01-01T00:00:00Z":   "timestampTo",
		"externalId=short&tag=rare":  "externalId",
		strings.Repeat("tag=x&", 65): "tag", "tags=rare": "tags",
	} {
		s.Do(t, contract.Request{Path: documentsPath + "?" + parameters}).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": field},
		)
	}
}

func TestSearchesAreFilteredByTagsAndTimestamps(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	other := s.NewWorkspace(t, apikey.Live)
	theirKey := s.NewKey(t, []uuid.UUID{other}, request.Admin)
	neighbor := s.createFiltered(t)
	a := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: documentsPath, Workspace: other.String(), Key: theirKey,
		Body: `{"documents":[{"externalId":"theirs","text":"Their pump.","tags":["rare","theirs"],` +
			`"timestamp":"2026-02-01T00:30:00Z"}]}`,
	})
	require.Equal(t, http.StatusAccepted, a.Status)

	for members, want := range map[string][]string{
		`"tags":["rare"]`: {"long", "short", "undated"}, `"tags":["Rare"]`: {"undated"},
		`"tags":["north","south"]`: {"long", "short", "undated"}, `"tags":["a,b","north"],"allTags":["rare","north"]`: {
			"long", "undated",
		},
		`"allTags":["rare","south"]`: {"short"}, `"allTags":["north","south"]`: nil, `"tags":["rar"]`: nil,
		`"tags":["theirs"]`: nil, `"tags":["a"]`: nil, `"allTags":["a,b","a,b"]`: {"short"},
		`"timestamp":{"from":"2026-01-01T00:00:00Z"}`:                                    {"long", "short"},
		`"timestamp":{"from":"2026-02-01T00:30:00.5Z","to":"2026-02-01T01:00:00Z"}`:      {"long"},
		`"timestamp":{"from":"2026-02-01T00:30:00.5000001Z"}`:                            {"short"},
		`"timestamp":{"from":"2026-02-01T02:00:00+01:00"}`:                               {"short"},
		`"timestamp":{"from":"2026-01-01T00:00:00Z","to":"2026-02-01T01:00:00.000001Z"}`: {"long", "short"},
		`"timestamp":{"to":"2020-01-01T00:00:00Z"}`:                                      nil,
		`"tags":["rare"],"timestamp":{"to":"2026-02-01T01:00:00Z"}`:                      {"long"},
		`"tags":["rare"],"entityTypes":["process"]`:                                      nil,
		`"tags":["rare"],"properties":{"site":"north"}`:                                  nil,
		`"tags":["rare"],"groupBy":"document"`:                                           {"long", "short", "undated"},
	} {
		s.requireDocuments(t, members, want...)
	}
	s.requireLists(t)
	for _, lanes := range []string{`"text":0`, `"vector":0`} { // each lane ranks only what passes
		documents, _ := found(s.searchWhole(t, hybridPath, `{"query":"pump","limit":100,"tags":["rare"],"hops":0,`+
			`"weights":{"graph":0,`+lanes+`}}`))
		require.Equal(t, []string{"long", "short", "undated"}, documents, lanes)
	}
	for _, members := range []string{`"hops":3`, `"hops":1`, `"weights":{"text":0,"vector":0}`} {
		documents, others := found(s.search(t, hybridPath, `{"query":"pump","limit":100,"tags":["rare"],`+members+
			`,"nodeIds":["`+neighbor+`","`+s.document(t, "many 1").ID+`"]}`))
		require.Subset(t, []string{"long", "short", "undated"}, documents, "what does not pass is not a start, either")
		require.Zero(t, others)
	}
	hits := s.search(t, hybridPath, `{"query":"pump","entityTypes":["process","object"],"nodeIds":["`+neighbor+`"]}`)
	_, others := found(hits)
	require.NotZero(t, others, "without the filter, the node is found")

	answered, _ := s.ask(t, contract.Request{Body: `{"query":"what has a pump?","tags":["south"],"maxSentences":10}`})
	require.NotEmpty(t, answered.Citations)
	for _, c := range answered.Citations {
		require.Equal(t, "short", c.Document.ExternalID)
	}
	answered, _ = s.ask(t, contract.Request{Body: `{"query":"pump","timestamp":{"from":"2030-01-01T00:00:00Z"}}`})
	require.Nil(t, answered.Answer)
	require.Empty(t, answered.Citations)

	s.requireFilteredFacets(t)
	s.requireFilteredRuns(t)
	s.requireCurrentTags(t)
	s.searchUntil(t, contract.Request{
		Path: searchPath, Body: `{"query":"pump","tags":["rare"]}`, Key: theirKey, Workspace: other.String(),
	}, func(names []string) bool { return len(names) == 1 })
}

// requireFilteredFacets requires that facets are those of the results of a filter, also by more than are ranked.
func (s *searcher) requireFilteredFacets(t *testing.T) {
	t.Helper()
	passages := 1 + s.document(t, "long").PassageCount
	total, facets := s.facetsOf(t, searchPath, `"allTags":["rare","north"],"facets":["tags","timestamp","entityType"]`)
	require.Equal(t, passages+1, total)
	counts := map[string]int{}
	for _, v := range facets["tags"].Values {
		counts[v.Value] = v.Count
	}
	require.Equal(t, map[string]int{"rare": total, "north": total, "Rare": 1}, counts)
	require.Equal(t, 1, facets["timestamp"].Missing)
	require.Equal(t, "2026-02-01", facets["timestamp"].Values[0].Value)
	require.Zero(t, facets["tags"].Missing)
	total, facets = s.facetsOf(t, hybridPath, `"tags":["south"],"facets":["tags"]`)
	require.Equal(t, []int{1, 3}, []int{total, len(facets["tags"].Values)})
	for offset := range 3 { // pages of a filter are those of its results
		hits := s.search(t, searchPath, fmt.Sprintf(
			`{"query":"pump","tags":["rare"],"groupBy":"document","limit":1,"offset":%d}`, offset,
		))
		require.Len(t, hits, 1)
	}
}

// requireFilteredRuns saves a query with a filter, and runs it with others.
func (s *searcher) requireFilteredRuns(t *testing.T) {
	t.Helper()
	const body = `{"query":"pump","limit":100,"tags":["rare"],"timestamp":{"from":"2026-01-01T00:00:00Z"}}`
	saved := save(t, s.Server, `{"name":"filtered","kind":"search","request":`+body+`}`)
	require.JSONEq(t, body, string(saved.Request))
	for overrides, want := range map[string][]string{
		``: {"long", "short"}, `{"tags":["south"]}`: {"short"}, `{"allTags":["north"]}`: {"long"},
		`{"timestamp":{"to":"2026-02-01T01:00:00Z"}}`:                   {"long"},
		`{"tags":["many"],"timestamp":{"from":"2020-01-02T00:00:00Z"}}`: nil,
	} {
		documents, _ := found(s.searchAs(t, contract.Request{Path: savedPath + "/" + saved.ID + "/run", Body: overrides}))
		require.Equal(t, want, documents, overrides)
	}
	question := save(t, s.Server, `{"name":"question","kind":"answer","request":{"query":"what has a pump?"}}`)
	a := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: savedPath + "/" + question.ID + "/run", Body: `{"tags":["south"]}`,
	})
	require.Equal(t, "short", decode[foundAnswer](t, a, http.StatusOK).Citations[0].Document.ExternalID)
	run := func(body string) *contract.Answer {
		return s.Do(t, contract.Request{Method: http.MethodPost, Path: savedPath + "/" + saved.ID + "/run", Body: body})
	}
	run(`{"tags":[]}`).RequireFailure(t, 422, validation, "", map[string]any{"field": "tags"})
	run(`{"timestamp":{}}`).RequireFailure(t, 422, validation, "", map[string]any{"field": "timestamp"})
	trySave(t, s.Server, `{"name":"bad","kind":"hybrid-search","request":{"query":"a","allTags":[""]}}`).RequireFailure(
		t, 422, validation, "", map[string]any{"field": "request.allTags[0]"},
	)
}

// requireCurrentTags requires that a filter has an effect of the current versions of documents: passages have the tags
// of their document as soon as it has them.
func (s *searcher) requireCurrentTags(t *testing.T) {
	t.Helper()
	text := sentences(0, 60)
	changed := s.put(t, documentInput{
		"externalId": "long", "title": "Manual", "text": text, "tags": []string{"new"}, "timestamp": "2027-01-01T00:00:00Z",
	})[0]
	require.Equal(t, "updated", changed.Status)
	passages := s.document(t, "long").PassageCount
	s.requireDocuments(t, `"tags":["rare"]`, "short", "undated")
	s.requireDocuments(t, `"timestamp":{"from":"2026-01-01T00:00:00Z","to":"2027-01-01T00:00:00Z"}`, "short")
	hits := s.search(t, searchPath, `{"query":"pump","limit":100,"tags":["new"]}`)
	require.GreaterOrEqual(t, len(hits), passages, "without a new index")
	s.mustUndo(t, *changed.CommandID)
	s.requireDocuments(t, `"tags":["new"]`)
	s.requireDocuments(t, `"allTags":["rare","north"]`, "long", "undated")

	a := s.Do(t, contract.Request{Method: http.MethodDelete, Path: documentsPath + "/" + url.PathEscape("long")})
	deleted := decode[struct{ CommandID string }](t, a, http.StatusOK)
	s.requireDocuments(t, `"allTags":["rare","north"]`, "undated")
	s.mustUndo(t, deleted.CommandID)
	s.searchUntil(t, contract.Request{
		Path: searchPath, Body: `{"query":"pump","limit":100,"allTags":["rare","north"]}`,
	}, func(names []string) bool { return len(names) == passages+2 })
}

// mustUndo undoes a command.
func (s *searcher) mustUndo(t *testing.T, command string) {
	t.Helper()
	a := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: executePath, Body: `{"type":"UNDO","payload":{"commandId":"` + command + `"}}`,
	})
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
}
