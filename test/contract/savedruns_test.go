package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/contract"
)

func TestTheScopesOfARunAreThoseOfTheRoute(t *testing.T) {
	t.Parallel()
	s := startSaved(t)
	key := func(scopes ...request.Scope) string { return s.NewKey(t, []uuid.UUID{s.Workspace}, scopes...) }
	readers := map[string]string{
		"nodes": key(request.ReadNodes), "graph": key(request.ReadNodes, request.ReadEdges),
		"all": key(request.ReadNodes, request.ReadEdges, request.ReadLiveData),
	}
	for body, may := range map[string][]string{
		`{"name":"a","kind":"search","request":{"query":"a"}}`:                               {"all", "graph", "nodes"},
		`{"name":"b","kind":"hybrid-search","request":{"query":"a"}}`:                        {"all", "graph"},
		`{"name":"c","kind":"answer","request":{"query":"a"}}`:                               {"all", "graph"},
		`{"name":"d","kind":"hybrid-search","request":{"query":"a","includeLiveData":true}}`: {"all"},
		`{"name":"e","kind":"answer","request":{"query":"a","includeLiveData":true}}`:        {"all"},
	} {
		made := save(t, s, body)
		for _, name := range slices.Sorted(maps.Keys(readers)) {
			a := s.Do(t, contract.Request{
				Method: http.MethodPost, Path: savedPath + "/" + made.ID + "/run", Key: readers[name],
			})
			if slices.Contains(may, name) {
				require.NotEqual(t, http.StatusForbidden, a.Status, "%s with %s", body, name)
				continue
			}
			missing := map[string]string{"nodes": "read:edges", "graph": "read:livedata"}[name]
			a.RequireFailure(t, 403, authorization, "Forbidden", map[string]any{"required": []any{missing}})
		}
	}
}

// A run is answered as the route answers the same body.
func TestASavedQueryRunsAsItsRoute(t *testing.T) {
	t.Parallel()
	s := startSearch(t)
	s.createPlant(t)
	same := func(kind, saved, overrides, direct string, header map[string]string) *contract.Answer {
		t.Helper()
		made := save(t, s.Server, fmt.Sprintf(`{"name":%q,"kind":%q,"request":%s}`, uuid.NewString(), kind, saved))
		want := s.Do(t, contract.Request{
			Method: http.MethodPost, Path: "/api/rag/" + kind, Body: direct, Header: header,
		})
		got := s.Do(t, contract.Request{
			Method: http.MethodPost, Path: savedPath + "/" + made.ID + "/run", Body: overrides, Header: header,
		})
		require.Equal(t, want.Status, got.Status, "%s %s: %s", saved, overrides, got.Body)
		require.Equal(t, want.Header.Get("Content-Type"), got.Header.Get("Content-Type"))
		if want.Status != http.StatusOK {
			require.Equal(t, want.Error, got.Error)
			return got
		}
		require.Equal(t, withoutRequestID(want), withoutRequestID(got), "%s %s", saved, overrides)
		return got
	}
	const query = `{"query":"Which bearing squeals?","limit":3,"includeContent":true}`
	found := same("search", query, "", query, nil)
	require.NotEmpty(t, decode[[]searchHit](t, found, http.StatusOK))
	same("search", query, `{}`, query, nil)
	same("search", query, `{"query":"thick walls"}`, `{"query":"thick walls","limit":3,"includeContent":true}`, nil)
	page := same("search", query, `{"limit":1,"offset":1}`,
		`{"query":"Which bearing squeals?","limit":1,"offset":1,"includeContent":true}`, nil)
	require.EqualValues(t, []int{1, 1}, []int{int(page.Meta.Limit), int(page.Meta.Offset)})
	same("search", `{"query":"?"}`, "", `{"query":"?"}`, nil)
	same("search", `{"query":"a","offset":7}`, `{"offset":0}`, `{"query":"a","offset":0}`, nil)
	for overrides, direct := range map[string]string{
		`{"query":" "}`: `{"query":" "}`, `{"query":7}`: `{"query":7}`, `{"query":"\u0000"}`: `{"query":"\u0000"}`,
		`{"limit":0}`: `{"query":"a","limit":0}`, `{"limit":null}`: `{"query":"a","limit":null}`,
		`{"limit":1.5}`: `{"query":"a","limit":1.5}`, `{"offset":-1}`: `{"query":"a","offset":-1}`,
		`{"query":"` + strings.Repeat("a", 8193) + `"}`: `{"query":"` + strings.Repeat("a", 8193) + `"}`,
	} {
		same("search", `{"query":"a"}`, overrides, direct, nil)
	}

	const walk = `{"query":"Pump 7","hops":2,"explain":true,"includeEdges":true,"weights":{"vector":0.5}}`
	found = same("hybrid-search", walk, "", walk, nil)
	require.NotEmpty(t, decode[[]searchHit](t, found, http.StatusOK))
	same("hybrid-search", walk, `{"limit":101}`, strings.Replace(walk, "{", `{"limit":101,`, 1), nil)

	const question = `{"query":"Which bearing squeals?","maxSentences":1}`
	answered := same("answer", question, "", question, nil)
	require.Contains(t, string(answered.Body), "Its bearing squeals. [1]")
	same("answer", question, `{"limit":1}`, strings.Replace(question, "{", `{"limit":1,`, 1), nil)
	same("answer", question, "", question, map[string]string{"Accept": "text/event-stream"})
	s.requireRunRefusals(t)
}

// requireRunRefusals requires that bodies of runs which are not known are refused.
func (s *searcher) requireRunRefusals(t *testing.T) {
	t.Helper()
	question := save(t, s.Server, `{"name":"q","kind":"answer","request":{"query":"a"}}`)
	plain := save(t, s.Server, `{"name":"s","kind":"search","request":{"query":"a"}}`)
	for _, c := range []struct {
		id, body, field string
	}{
		{question.ID, `{"offset":1}`, "offset"}, {plain.ID, `{"minScore":1}`, "minScore"},
		{plain.ID, `{"request":{}}`, "request"}, {plain.ID, `[]`, "body"},
	} {
		a := s.Do(t, contract.Request{Method: http.MethodPost, Path: savedPath + "/" + c.id + "/run", Body: c.body})
		a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": c.field})
	}
	var now savedItem
	s.Get(t, savedPath+"/"+plain.ID, &now)
	require.Equal(t, plain, now, "a run changes nothing")
}

// withoutRequestID returns the body of a response without the id of its request.
func withoutRequestID(a *contract.Answer) string {
	return strings.ReplaceAll(string(a.Body), a.Header.Get("X-Request-Id"), "")
}
