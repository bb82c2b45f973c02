package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/contract"
)

const (
	searchPath  = "/api/rag/search"
	hybridPath  = "/api/rag/hybrid-search"
	statusPath  = "/api/rag/index/status"
	reindexPath = "/api/admin/reindex"
)

// refusal is a bad body, with the status and the field of its answer.
type refusal struct {
	body   string
	status int
	field  string
}

// documentRefusals returns bodies whose filters of documents are invalid.
func documentRefusals() []refusal {
	return []refusal{
		{`{"query":"a","tags":"x"}`, 400, "tags"},
		{`{"query":"a","tags":null}`, 400, "tags"},
		{`{"query":"a","tags":{"any":["x"]}}`, 400, "tags"},
		{`{"query":"a","tags":["x",1]}`, 400, "tags[1]"},
		{`{"query":"a","allTags":[null]}`, 400, "allTags[0]"},
		{`{"query":"a","tags":["x"],"tags":["y"]}`, 400, "tags"},
		{`{"query":"a","documents":"0194a5b0-0000-7000-8000-00000000000a"}`, 400, "documents"},
		{`{"query":"a","documents":null}`, 400, "documents"},
		{`{"query":"a","documents":[7]}`, 400, "documents[0]"},
		{`{"query":"a","timestamp":"2026-11-21T07:40:08Z"}`, 400, "timestamp"},
		{`{"query":"a","timestamp":null}`, 400, "timestamp"},
		{`{"query":"a","timestamp":{"from":1763710808}}`, 400, "timestamp.from"},
		{`{"query":"a","timestamp":{"from":null}}`, 400, "timestamp.from"},
		{`{"query":"a","timestamp":{"since":"2026-11-21T07:40:08Z"}}`, 400, "timestamp.since"},

		{`{"query":"a","tags":[]}`, 422, "tags"},
		{`{"query":"a","allTags":[]}`, 422, "allTags"},
		{`{"query":"a","tags":[""]}`, 422, "tags[0]"},
		{`{"query":"a","tags":["x"," "]}`, 422, "tags[1]"},
		{`{"query":"a","tags":["a\nb"]}`, 422, "tags[0]"},
		{`{"query":"a","tags":["a\u0000b"]}`, 422, "tags[0]"},
		{`{"query":"a","allTags":["` + strings.Repeat("é", 129) + `"]}`, 422, "allTags[0]"},
		{`{"query":"a","allTags":[` + strings.Repeat(`"x",`, 64) + `"x"]}`, 422, "allTags"},
		{`{"query":"a","documents":[]}`, 422, "documents"},
		{`{"query":"a","documents":["manual.md"]}`, 422, "documents[0]"},
		{`{"query":"a","documents":["0194a5b0-0000-7000-8000-00000000000a",""]}`, 422, "documents[1]"},
		{`{"query":"a","documents":["{0194a5b0-0000-7000-8000-00000000000a}"]}`, 422, "documents[0]"},
		{`{"query":"a","documents":[` + strings.Repeat(`"0194a5b0-0000-7000-8000-00000000000a",`, 100) +
			`"0194a5b0-0000-7000-8000-00000000000a"]}`, 422, "documents"},
		{`{"query":"a","timestamp":{}}`, 422, "timestamp"},
		{`{"query":"a","timestamp":{"from":""}}`, 422, "timestamp.from"},
		{`{"query":"a","timestamp":{"from":"-1h"}}`, 422, "timestamp.from"},
		{`{"query":"a","timestamp":{"to":"2026-11-21"}}`, 422, "timestamp.to"},
		{`{"query":"a","timestamp":{"to":"2026-02-30T00:00:00Z"}}`, 422, "timestamp.to"},
		{`{"query":"a","timestamp":{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T01:00:00+01:00"}}`, 422, "timestamp.to"},
		{`{"query":"a","timestamp":{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}}`, 422, "timestamp.to"},
	}
}

// searchRefusals returns bodies that are invalid for either search.
func searchRefusals() []refusal {
	long := strings.Repeat("a", 8193)
	return append(documentRefusals(), []refusal{
		{`{}`, 400, "query"},
		{`{"query":null}`, 400, "query"},
		{`{"query":7}`, 400, "query"},
		{`{"query":["a"]}`, 400, "query"},
		{`[]`, 400, "body"},
		{`null`, 400, "body"},
		{`"pump"`, 400, "body"},
		{`{"query":"a"} x`, 400, "body"},
		{`{"query":"a"`, 400, "body"},
		{`{"query":"a",}`, 400, ""},
		{`{"query":"a","query":"b"}`, 400, "query"},
		{`{"Query":"a"}`, 400, "Query"},
		{`{"query":"a","limits":5}`, 400, "limits"},
		{`{"query":"\ud800"}`, 400, "query"},
		{`{"query":"a","limit":"5"}`, 400, "limit"},
		{`{"query":"a","limit":1.5}`, 400, "limit"},
		{`{"query":"a","limit":null}`, 400, "limit"},
		{`{"query":"a","entityTypes":"object"}`, 400, "entityTypes"},
		{`{"query":"a","entityTypes":[1]}`, 400, "entityTypes[0]"},
		{`{"query":"a","entityTypes":[null]}`, 400, "entityTypes[0]"},
		{`{"query":"a","minScore":"1"}`, 400, "minScore"},
		{`{"query":"a","minScore":NaN}`, 400, ""},
		{`{"query":"a","properties":[]}`, 400, "properties"},
		{`{"query":"a","properties":null}`, 400, "properties"},
		{`{"query":"a","properties":{"a":1,"a":2}}`, 400, "properties.a"},
		{`{"query":"a","propertyMin":[]}`, 400, "propertyMin"},
		{`{"query":"a","propertyMax":null}`, 400, "propertyMax"},
		{`{"query":"a","propertyMax":{"a":1,"a":2}}`, 400, "propertyMax.a"},
		{`{"query":"a","propertyPrefix":{"a":1}}`, 400, "propertyPrefix.a"},
		{`{"query":"a","includeContent":1}`, 400, "includeContent"},

		{`{"query":""}`, 422, "query"},
		{`{"query":" \n\t\u3000"}`, 422, "query"},
		{`{"query":"` + long + `"}`, 422, "query"},
		{`{"query":"` + strings.Repeat("ab cd ", 17_000) + `"}`, 422, "query"},
		{`{"query":"a\u0000b"}`, 422, "query"},
		{`{"query":"a","limit":0}`, 422, "limit"},
		{`{"query":"a","limit":-1}`, 422, "limit"},
		{`{"query":"a","limit":9223372036854775808}`, 422, "limit"},
		{`{"query":"a","offset":-1}`, 422, "offset"},
		{`{"query":"a","entityTypes":[]}`, 422, "entityTypes"},
		{`{"query":"a","entityTypes":["object","Object"]}`, 422, "entityTypes[1]"},
		{`{"query":"a","entityTypes":["' OR 1=1 --"]}`, 422, "entityTypes[0]"},
		{`{"query":"a","minScore":-0.1}`, 422, "minScore"},
		{`{"query":"a","minScore":1.01}`, 422, "minScore"},
		{`{"query":"a","minScore":1e400}`, 422, "minScore"},
		{`{"query":"a","properties":{"site":null}}`, 422, "properties.site"},
		{`{"query":"a","properties":{"site":{"a":1}}}`, 422, "properties.site"},
		{`{"query":"a","properties":{"site":[]}}`, 422, "properties.site"},
		{`{"query":"a","properties":{"site":["a",[1]]}}`, 422, "properties.site[1]"},
		{`{"query":"a","properties":{"site":1e400}}`, 422, "properties.site"},
		{`{"query":"a","properties":{"a.b":[null]}}`, 422, `properties["a.b"][0]`},
		{`{"query":"a","properties":{"site":[` + strings.Repeat("1,", 100) + `1]}}`, 422, "properties.site"},
		{`{"query":"a","properties":{` + objectMembers(33) + `}}`, 422, "properties"},
		{`{"query":"a","propertyMin":{"site":true}}`, 422, "propertyMin.site"},
		{`{"query":"a","propertyMin":{"site":[1]}}`, 422, "propertyMin.site"},
		{`{"query":"a","propertyMax":{"a.b":null}}`, 422, `propertyMax["a.b"]`},
		{`{"query":"a","propertyMax":{"site":1e400}}`, 422, "propertyMax.site"},
		{`{"query":"a","propertyMin":{` + objectMembers(33) + `}}`, 422, "propertyMin"},
		{
			`{"query":"a","propertyPrefix":{` + strings.ReplaceAll(objectMembers(33), ":1", `:"x"`) + `}}`, 422,
			"propertyPrefix",
		},
	}...)
}

// facetRefusals are refused by the searches that have facets.
func facetRefusals() []refusal {
	return []refusal{
		{`{"query":"a","facets":"tags"}`, 400, "facets"},
		{`{"query":"a","facets":{"tags":{}}}`, 400, "facets"},
		{`{"query":"a","facets":[7]}`, 400, "facets[0]"},
		{`{"query":"a","facets":["tags",null]}`, 400, "facets[1]"},
		{`{"query":"a","facets":["tags"],"facetLimit":"9"}`, 400, "facetLimit"},
		{`{"query":"a","facets":["tags"],"facetLimit":1.5}`, 400, "facetLimit"},
		{`{"query":"a","facets":["timestamp"],"facetInterval":7}`, 400, "facetInterval"},

		{`{"query":"a","facets":[]}`, 422, "facets"},
		{`{"query":"a","facets":["tags","entityType","timestamp","tags"]}`, 422, "facets"},
		{`{"query":"a","facets":["tags","Tags"]}`, 422, "facets[1]"},
		{`{"query":"a","facets":["tags","entityType","tags"]}`, 422, "facets[2]"},
		{`{"query":"a","facets":["tags"],"facetLimit":0}`, 422, "facetLimit"},
		{`{"query":"a","facets":["tags"],"facetLimit":51}`, 422, "facetLimit"},
		{`{"query":"a","facetLimit":5}`, 422, "facetLimit"},
		{`{"query":"a","facets":["timestamp"],"facetInterval":"week"}`, 422, "facetInterval"},
		{`{"query":"a","facets":["tags"],"facetInterval":"day"}`, 422, "facetInterval"},
	}
}

// rerankRefusals are refused by all searches on a server with a reranker.
func rerankRefusals() []refusal {
	return []refusal{
		{`{"query":"a","rerank":true}`, 400, "rerank"},
		{`{"query":"a","rerank":null}`, 400, "rerank"},
		{`{"query":"a","rerank":[]}`, 400, "rerank"},
		{`{"query":"a","rerank":{"model":"x"}}`, 400, "rerank.model"},
		{`{"query":"a","rerank":{"candidates":"9"}}`, 400, "rerank.candidates"},
		{`{"query":"a","rerank":{"candidates":1.5}}`, 400, "rerank.candidates"},
		{`{"query":"a","rerank":{"candidates":null}}`, 400, "rerank.candidates"},
		{`{"query":"a","rerank":{},"rerank":{}}`, 400, "rerank"},
		{`{"query":"a","rerank":{"weight":"1"}}`, 400, "rerank.weight"},
		{`{"query":"a","rerank":{"weight":NaN}}`, 400, ""},

		{`{"query":"a","rerank":{"weight":-0.1}}`, 422, "rerank.weight"},
		{`{"query":"a","rerank":{"weight":1.1}}`, 422, "rerank.weight"},
		{`{"query":"a","rerank":{"candidates":0}}`, 422, "rerank.candidates"},
		{`{"query":"a","rerank":{"candidates":-9223372036854775808}}`, 422, "rerank.candidates"},
		{`{"query":"a","rerank":{"candidates":51}}`, 422, "rerank.candidates"},
		{`{"query":"a","rerank":{"candidates":9223372036854775807}}`, 422, "rerank.candidates"},
		{`{"query":"` + strings.Repeat("ä", 1001) + `","rerank":{}}`, 422, "query"},
	}
}

func objectMembers(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	return strings.Join(parts, ",")
}

func hybridRefusals() []refusal {
	return []refusal{
		{`{"query":"a","hops":"2"}`, 400, "hops"},
		{`{"query":"a","hops":1.5}`, 400, "hops"},
		{`{"query":"a","relationTypes":"feeds"}`, 400, "relationTypes"},
		{`{"query":"a","nodeIds":[7]}`, 400, "nodeIds[0]"},
		{`{"query":"a","weights":[1,1,1]}`, 400, "weights"},
		{`{"query":"a","weights":{"words":1}}`, 400, "weights.words"},
		{`{"query":"a","explain":"yes"}`, 400, "explain"},

		{`{"query":"a","hops":4}`, 422, "hops"},
		{`{"query":"a","hops":-1}`, 422, "hops"},
		{`{"query":"a","relationTypes":[]}`, 422, "relationTypes"},
		{`{"query":"a","relationTypes":["feeds",""]}`, 422, "relationTypes[1]"},
		{`{"query":"a","relationTypes":["` + strings.Repeat("r", 129) + `"]}`, 422, "relationTypes[0]"},
		{`{"query":"a","direction":"OUT"}`, 422, "direction"},
		{`{"query":"a","nodeIds":["pump"]}`, 422, "nodeIds[0]"},
		{`{"query":"a","nodeIds":["{0194a5b0-0000-7000-8000-00000000000a}"]}`, 422, "nodeIds[0]"},
		{
			`{"query":"a","nodeIds":["` + strings.Repeat(`0194a5b0-0000-7000-8000-00000000000a","`, 100) +
				`0194a5b0-0000-7000-8000-00000000000b"]}`,
			422, "nodeIds",
		},
		{`{"query":"a","weights":{"text":-0.5}}`, 422, "weights.text"},
		{`{"query":"a","weights":{"vector":1.5}}`, 422, "weights.vector"},
		{`{"query":"a","weights":{"text":0,"vector":0,"graph":0}}`, 422, "weights"},
	}
}

func TestSearchesThatBreakARuleAreRefusedAndNameTheField(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, (&contract.Search{WithoutIndexes: true}).Group)
	try := func(path string, list []refusal) {
		for _, r := range list {
			a := s.Do(t, contract.Request{Method: http.MethodPost, Path: path, Body: r.body})
			require.Equal(t, r.status, a.Status, "%s %.100s: %s", path, r.body, a.Body)
			require.Equal(t, "VALIDATION_ERROR", a.Error.Code)
			if r.field != "" {
				require.Equal(t, r.field, a.Error.Details["field"], "%s %.100s", path, r.body)
			}
		}
	}
	try(searchPath, searchRefusals())
	try(hybridPath, searchRefusals())
	try(hybridPath, hybridRefusals())
	try(searchPath, facetRefusals())
	try(hybridPath, facetRefusals())
	try(answerPath, []refusal{{`{"query":"a","facets":["tags"]}`, 400, "facets"}})
	for _, r := range []refusal{
		{`{"query":"a","hops":1}`, 400, "hops"},
		{`{"query":"a","entityTypes":["thing"]}`, 422, "entityTypes[0]"},
	} {
		try(searchPath, []refusal{r})
	}

	a := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: searchPath, Body: `{"query":"a","entityTypes":["thing"]}`,
	})
	require.Equal(t, []any{"concept", "object", "process", "actor"}, a.Error.Details["allowed"])
	a = s.Do(t, contract.Request{Method: http.MethodPost, Path: searchPath, Body: `{"query":"a","facets":["name"]}`})
	require.Equal(t, []any{"entityType", "tags", "timestamp"}, a.Error.Details["allowed"])
	a = s.Do(t, contract.Request{Method: http.MethodPost, Path: hybridPath, Body: `{"query":"a","direction":"up"}`})
	require.Equal(t, []any{"out", "in", "both"}, a.Error.Details["allowed"])
}

func TestSearchesAreReadLikeOtherBodies(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, (&contract.Search{WithoutIndexes: true}).Group)
	for _, path := range []string{searchPath, hybridPath, answerPath} {
		post := func(change func(*contract.Request)) *contract.Answer {
			q := contract.Request{Method: http.MethodPost, Path: path, Body: `{"query":"a"}`}
			change(&q)
			return s.Do(t, q)
		}
		require.Equal(t, 415, post(func(q *contract.Request) {
			q.Header = map[string]string{"Content-Type": "text/plain"}
		}).Status)
		require.Equal(t, 415, post(func(q *contract.Request) {
			q.Header = map[string]string{"Content-Encoding": "br"}
		}).Status)
		require.Equal(t, 400, post(func(q *contract.Request) { q.Body = "" }).Status)
		require.Equal(t, 400, post(func(q *contract.Request) {
			q.Path += "?limit=5"
		}).Status, "parameters belong into the body")
		require.Equal(t, 413, post(func(q *contract.Request) {
			q.Body = `{"query":"` + strings.Repeat("a", 1<<20) + `"}`
		}).Status)
		require.Equal(t, 405, post(func(q *contract.Request) { q.Method, q.Body = http.MethodGet, "" }).Status)
	}
	require.Equal(t, 400, s.Do(t, contract.Request{Path: statusPath + "?x=1"}).Status)
	require.Equal(
		t, 400, s.Do(t, contract.Request{Method: http.MethodPost, Path: reindexPath, Body: `{"model":"x"}`}).Status,
	)
	require.Equal(t, 400, s.Do(t, contract.Request{Method: http.MethodPost, Path: reindexPath, Body: `[]`}).Status)
}

func TestEachSearchRouteRequiresItsScopes(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, (&contract.Search{WithoutIndexes: true}).Group)
	key := func(scopes ...request.Scope) string { return s.NewKey(t, []uuid.UUID{s.Workspace}, scopes...) }
	// Both bodies are refused for their values after the scopes have been checked.
	const plain, live = `{"query":"a","hops":9}`, `{"query":"a","hops":9,"includeLiveData":true}`
	for _, c := range []struct {
		method, path, body string
		scopes             []request.Scope
		status             int
		required           []any
	}{
		{
			"POST", searchPath, plain, []request.Scope{request.ReadEdges, request.ReadLiveData, request.WriteNodes}, 403,
			[]any{"read:nodes"},
		},
		{"POST", searchPath, plain, []request.Scope{request.ReadNodes}, 400, nil},
		{"POST", hybridPath, plain, []request.Scope{request.ReadNodes}, 403, []any{"read:nodes", "read:edges"}},
		{"POST", hybridPath, plain, []request.Scope{request.ReadEdges}, 403, []any{"read:nodes", "read:edges"}},
		{"POST", hybridPath, plain, []request.Scope{request.ReadNodes, request.ReadEdges}, 422, nil},
		{"POST", hybridPath, live, []request.Scope{request.ReadNodes, request.ReadEdges}, 403, []any{"read:livedata"}},
		{"POST", hybridPath, live, []request.Scope{request.ReadNodes, request.ReadEdges, request.ReadLiveData}, 422, nil},
		{"POST", hybridPath, live, []request.Scope{request.Admin}, 422, nil},
		{"POST", answerPath, plain, []request.Scope{request.ReadNodes}, 403, []any{"read:nodes", "read:edges"}},
		{"POST", answerPath, plain, []request.Scope{request.ReadEdges}, 403, []any{"read:nodes", "read:edges"}},
		{"POST", answerPath, plain, []request.Scope{request.ReadNodes, request.ReadEdges}, 422, nil},
		{"POST", answerPath, live, []request.Scope{request.ReadNodes, request.ReadEdges}, 403, []any{"read:livedata"}},
		{"POST", answerPath, live, []request.Scope{request.ReadNodes, request.ReadEdges, request.ReadLiveData}, 422, nil},
		{"GET", statusPath, "", []request.Scope{request.ReadEdges}, 403, []any{"read:nodes"}},
		{"GET", statusPath, "", []request.Scope{request.ReadNodes}, 200, nil},
		{
			"POST", reindexPath, "",
			[]request.Scope{request.ReadNodes, request.ReadEdges, request.WriteNodes, request.WriteEdges}, 403, []any{"admin"},
		},
	} {
		a := s.Do(t, contract.Request{Method: c.method, Path: c.path, Body: c.body, Key: key(c.scopes...)})
		require.Equal(t, c.status, a.Status, "%s %v: %s", c.path, c.scopes, a.Body)
		if c.required != nil {
			require.Equal(t, c.required, a.Error.Details["required"])
		}
	}
}
