package contract_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/contract"
)

const savedPath = "/api/rag/queries"

// savedItem is a saved query in an answer.
type savedItem struct {
	ID, Name, Description, Kind string
	Request                     json.RawMessage
	CreatedAt, UpdatedAt        time.Time
	Version                     int
}

func startSaved(t *testing.T) *contract.Server {
	t.Helper()
	return contract.Start(t, (&contract.Search{WithoutIndexes: true}).Group)
}

func trySave(t testing.TB, s *contract.Server, body string) *contract.Answer {
	t.Helper()
	return s.Do(t, contract.Request{Method: http.MethodPost, Path: savedPath, Body: body})
}

func save(t testing.TB, s *contract.Server, body string) savedItem {
	t.Helper()
	return decode[savedItem](t, trySave(t, s, body), http.StatusCreated)
}

func patchSaved(t testing.TB, s *contract.Server, id, body string) *contract.Answer {
	t.Helper()
	return s.Do(t, contract.Request{Method: http.MethodPatch, Path: savedPath + "/" + id, Body: body})
}

func TestASavedQueryIsCreatedReadChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := startSaved(t)
	const id = "0194A5B0-0000-7000-8000-00000000000A"
	a := trySave(t, s, `{"id":"`+id+`","name":"leaks","description":"of\nsite","kind":"search",
		"request": {"query":"pumps", "minScore":0.50, "properties":{"site":"a","line":[1,2]}, "limit":5}}`)
	made := decode[savedItem](t, a, http.StatusCreated)
	require.Equal(t, strings.ToLower(id), made.ID)
	require.Equal(t, savedPath+"/"+made.ID, a.Header.Get("Location"))
	require.Equal(t, []any{"leaks", "of\nsite", "search", 1}, []any{made.Name, made.Description, made.Kind, made.Version})
	require.Equal(t, `{"query":"pumps","minScore":0.50,"properties":{"site":"a","line":[1,2]},"limit":5}`,
		string(made.Request), "as it was sent")
	require.Equal(t, made.CreatedAt, made.UpdatedAt)

	path := savedPath + "/" + made.ID
	var read savedItem
	tag := s.Get(t, path, &read).Header.Get("ETag")
	require.Equal(t, made, read)
	s.Get(t, savedPath+"/"+id, &read) // upper case is the same id
	known := contract.Request{Path: path, Header: map[string]string{"If-None-Match": tag}}
	require.Equal(t, http.StatusNotModified, s.Do(t, known).Status)

	patch := func(body string) savedItem {
		return decode[savedItem](t, patchSaved(t, s, made.ID, body), http.StatusOK)
	}
	require.Equal(t, made, patch(`{"expectedVersion":1,"name":"leaks","request":{"limit":5,"offset":null}}`))
	require.Equal(t, made, patch(`{}`))
	changed := patch(`{"expectedVersion":1,"name":"drips","description":null,"kind":"hybrid-search",
		"request":{"limit":null,"properties":{"site":null},"hops":1}}`)
	require.Equal(t, 2, changed.Version)
	require.True(t, changed.UpdatedAt.After(made.UpdatedAt))
	require.Equal(t, []string{"drips", "", "hybrid-search"}, []string{changed.Name, changed.Description, changed.Kind})
	require.Equal(t, `{"query":"pumps","minScore":0.50,"properties":{"line":[1,2]},"hops":1}`, string(changed.Request))
	require.NotEqual(t, http.StatusNotModified, s.Do(t, known).Status)
	s.Get(t, path, &read)
	require.Equal(t, changed, read)
	patchSaved(t, s, made.ID, `{"expectedVersion":1,"name":"x"}`).RequireFailure(
		t, http.StatusConflict, "CONFLICT", "Version mismatch", map[string]any{"expectedVersion": 1.0, "actualVersion": 2.0},
	)
	merged := s.Do(t, contract.Request{
		Method: http.MethodPatch, Path: path, Body: `{"description":"new"}`,
		Header: map[string]string{"Content-Type": "application/merge-patch+json"},
	})
	require.Equal(t, "new", decode[savedItem](t, merged, http.StatusOK).Description)

	require.Equal(t, http.StatusNoContent, s.Do(t, contract.Request{Method: http.MethodDelete, Path: path}).Status)
	requireNoSaved(t, s, contract.Request{}, made.ID)
	trySave(t, s, `{"id":"`+made.ID+`","name":"new","kind":"search","request":{"query":"a"}}`).RequireFailure(
		t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": "already_exists", "field": "id"},
	)
	save(t, s, `{"name":"drips","kind":"search","request":{"query":"a"}}`) // the name is free
}

// requireNoSaved requires that no route finds a saved query.
func requireNoSaved(t *testing.T, s *contract.Server, as contract.Request, id string) {
	t.Helper()
	for _, q := range []contract.Request{
		{Path: savedPath + "/" + id}, {Method: http.MethodDelete, Path: savedPath + "/" + id},
		{Method: http.MethodPatch, Path: savedPath + "/" + id, Body: `{"name":"x"}`},
		{Method: http.MethodPost, Path: savedPath + "/" + id + "/run"},
	} {
		q.Key, q.Workspace = as.Key, as.Workspace
		s.Do(t, q).RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "No such saved query", nil)
	}
}

// A request is refused as its route refuses it, with the same field in it.
func TestWrongSavedQueriesAreRefused(t *testing.T) {
	t.Parallel()
	s := startSaved(t)
	made := save(t, s, `{"name":"a","kind":"search","request":{"query":"a"}}`)
	tried := 0
	for kind, list := range map[string][]refusal{
		"search": searchRefusals(), "hybrid-search": append(searchRefusals(), hybridRefusals()...),
		"answer": answerRefusals(),
	} {
		for _, r := range list {
			if !json.Valid([]byte(r.body)) {
				continue
			}
			tried++
			a := trySave(t, s, `{"name":"x","kind":"`+kind+`","request":`+r.body+`}`)
			require.Equal(t, r.status, a.Status, "%s %.100s: %s", kind, r.body, a.Body)
			require.Equal(t, validation, a.Error.Code)
			switch r.field {
			case "":
			case "body":
				require.Equal(t, "request", a.Error.Details["field"], "%s %.100s", kind, r.body)
			default:
				require.Equal(t, "request."+r.field, a.Error.Details["field"], "%s %.100s", kind, r.body)
			}
		}
	}
	require.Greater(t, tried, 150)

	for _, r := range badSaved() {
		a := trySave(t, s, r.body)
		require.Equal(t, r.status, a.Status, "%.100s: %s", r.body, a.Body)
		require.Equal(t, r.field, a.Error.Details["field"], "%.100s", r.body)
	}
	for _, r := range []refusal{
		{`{"name":""}`, 422, "name"},
		{`{"name":null}`, 400, "name"},
		{`{"id":"` + uuid.NewString() + `"}`, 400, "id"},
		{`{"version":1}`, 400, "version"},
		{`{"expectedVersion":0}`, 422, "expectedVersion"},
		{`{"expectedVersion":"1"}`, 400, "expectedVersion"},
		{`{"kind":"Search"}`, 422, "kind"},
		{`{"kind":null}`, 400, "kind"},
		{`{"request":null}`, 400, "request"},
		{`{"request":[1]}`, 400, "request"},
		{`{"request":{"query":null}}`, 400, "request.query"},
		{`{"request":{"query":" "}}`, 422, "request.query"},
		{`{"request":{"hops":1}}`, 400, "request.hops"},
		{`{"request":{"limit":0},"name":""}`, 422, "name"},
		{`{"request":{"limit":"0"},"name":""}`, 400, "request.limit"},
		{`{"description":"` + strings.Repeat("x", 4097) + `"}`, 422, "description"},
	} {
		a := patchSaved(t, s, made.ID, r.body)
		require.Equal(t, r.status, a.Status, "%.100s: %s", r.body, a.Body)
		require.Equal(t, r.field, a.Error.Details["field"], "%.100s", r.body)
	}
	var all []savedItem
	s.Get(t, savedPath, &all)
	require.Equal(t, []savedItem{made}, all, "nothing has changed")
	s.Do(t, contract.Request{Path: savedPath + "/" + made.ID + "?a=b"}).RequireFailure(
		t, http.StatusBadRequest, validation, "", map[string]any{"field": "a"},
	)
	for _, id := range []string{"x", "{" + made.ID + "}", uuid.NewString()} {
		requireNoSaved(t, s, contract.Request{}, id)
	}
}

// badSaved returns bodies of new saved queries that are wrong beside the request.
func badSaved() []refusal {
	const rest = `,"kind":"search","request":{"query":"a"}}`
	pad := strings.Repeat("x", 1000)
	values := strings.TrimSuffix(strings.Repeat(`"`+pad+`",`, 70), ",")
	return []refusal{
		{`{"kind":"search","request":{"query":"a"}}`, 400, "name"},
		{`{"name":"x","request":{"query":"a"}}`, 400, "kind"},
		{`{"name":"x","kind":"search"}`, 400, "request"},
		{`{"name":"","kind":"search"}`, 400, "request"}, // what is missing comes first
		{`{"name":"x","kind":"search","request":null}`, 400, "request"},
		{`{"name":"x","kind":"search","request":"{}"}`, 400, "request"},
		{`{"name":"x","kind":"graph","request":{"query":"a"}}`, 422, "kind"},
		{`{"name":"x","kind":"hybrid","request":{"query":1}}`, 422, "kind"},
		{`{"name":"x","kind":7,"request":{"query":"a"}}`, 400, "kind"},
		{`{"name":"","kind":"search","request":{"query":7}}`, 400, "request.query"},
		{`{"name":"","kind":"search","request":{"query":""}}`, 422, "name"},
		{`{"name":""` + rest, 422, "name"},
		{`{"name":" "` + rest, 422, "name"},
		{`{"name":"a\nb"` + rest, 422, "name"},
		{`{"name":"` + strings.Repeat("é", 257) + `"` + rest, 422, "name"},
		{`{"name":"x\u0000"` + rest, 422, "name"},
		{`{"name":"x","description":"` + strings.Repeat("é", 4097) + `"` + rest, 422, "description"},
		{`{"name":"x","description":null` + rest, 400, "description"},
		{`{"name":"x","id":"x"` + rest, 422, "id"},
		{`{"name":"x","version":2` + rest, 400, "version"},
		{`{"name":"x","kind":"search","request":{"query":"a","properties":{"p":[` + values + `]}}}`, 422, "request"},
		{`{"name":"x","kind":"answer","request":{"query":"a","mode":"generate"}}`, 422, "request.mode"},
	}
}

func TestNamesAndIDsOfSavedQueriesAreTakenOnce(t *testing.T) {
	t.Parallel()
	s := startSaved(t)
	exists := func(field string) map[string]any { return map[string]any{"reason": "already_exists", "field": field} }
	first := save(t, s, `{"name":"pumps","kind":"search","request":{"query":"a"}}`)
	other := save(t, s, `{"name":"Pumps","kind":"search","request":{"query":"a"}}`) // another name
	trySave(t, s, `{"name":"pumps","kind":"answer","request":{"query":"b"}}`).RequireFailure(
		t, http.StatusConflict, "CONFLICT", "A saved query has this name", exists("name"),
	)
	trySave(t, s, `{"id":"`+first.ID+`","name":"x","kind":"search","request":{"query":"a"}}`).RequireFailure(
		t, http.StatusConflict, "CONFLICT", "A saved query has or had this id", exists("id"),
	)
	patchSaved(t, s, other.ID, `{"name":"pumps"}`).RequireFailure(
		t, http.StatusConflict, "CONFLICT", "A saved query has this name", exists("name"),
	)

	// Of several that create a query with one name, or change a version of one, one succeeds.
	statuses := func(send func() *contract.Answer) map[int]int {
		var mu sync.Mutex
		found := map[int]int{}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				status := send().Status
				mu.Lock()
				defer mu.Unlock()
				found[status]++
			})
		}
		all.Wait()
		return found
	}
	require.Equal(t, map[int]int{201: 1, 409: 7}, statuses(func() *contract.Answer {
		return trySave(t, s, `{"name":"raced","kind":"search","request":{"query":"a"}}`)
	}))
	require.Equal(t, map[int]int{200: 1, 409: 7}, statuses(func() *contract.Answer {
		return patchSaved(t, s, first.ID, `{"expectedVersion":1,"description":"`+uuid.NewString()+`"}`)
	}))
	var now savedItem
	s.Get(t, savedPath+"/"+first.ID, &now)
	require.Equal(t, 2, now.Version)
}

func TestSavedQueriesAreListed(t *testing.T) {
	t.Parallel()
	s := startSaved(t)
	for i, name := range []string{"b%", "a", "C", "ab", "é"} {
		kind := []string{"search", "answer"}[i%2]
		save(t, s, `{"name":"`+name+`","kind":"`+kind+`","request":{"query":"a"}}`)
	}
	list := func(query string) []string {
		a := s.Do(t, contract.Request{Path: savedPath + "?" + query})
		found := []string{}
		for _, q := range decode[[]savedItem](t, a, http.StatusOK) {
			found = append(found, q.Name)
		}
		return found
	}
	for query, want := range map[string]string{
		"": "b% a C ab é", "sort=name": "C a ab b% é", "sort=-name": "é b% ab a C", "sort=-createdAt,name": "é ab C a b%",
		"sort=version,-name": "é b% ab a C", "name=A": "a ab", "name=%25": "b%", "kind=answer": "a ab",
		"kind=search&name=c": "C", "sort=name&limit=2&offset=1": "a ab", "limit=1&offset=9223372036854775807": "",
		"name=none": "", "offset=4": "é",
	} {
		require.Equal(t, strings.Fields(want), list(query), query)
	}
	meta := s.Do(t, contract.Request{Path: savedPath + "?kind=search&limit=2"}).Meta
	require.EqualValues(t, 3, meta.Total)
	require.True(t, meta.HasMore)
	require.EqualValues(t, 100, s.Do(t, contract.Request{Path: savedPath + "?limit=101"}).Meta.Limit)
	for query, field := range map[string]string{
		"kind=hybrid": "kind", "sort=kind": "sort", "limit=0": "limit", "offset=-1": "offset", "names=a": "names",
		"name=a&name=b": "name", "cursor=x": "cursor",
	} {
		s.Do(t, contract.Request{Path: savedPath + "?" + query}).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": field},
		)
	}
}

func TestSavedQueriesOfAWorkspaceAreLimited(t *testing.T) {
	t.Parallel()
	s := startSaved(t)
	_, err := s.DB.Pool().Exec(t.Context(), `INSERT INTO saved_queries (workspace_id, id, name, description, kind, request)
		SELECT $1, gen_random_uuid(), 'q' || n, '', 'search', '{"query":"a"}' FROM generate_series(1, 999) n`, s.Workspace)
	require.NoError(t, err)
	last := save(t, s, `{"name":"last","kind":"search","request":{"query":"a"}}`)
	const next = `{"name":"next","kind":"search","request":{"query":"a"}}`
	trySave(t, s, next).RequireFailure(t, 422, validation, "", map[string]any{"limit": 1000.0})
	other := s.NewWorkspace(t, "live")
	a := s.Do(t, contract.Request{
		Method: http.MethodPost, Path: savedPath, Body: next, Workspace: other.String(),
		Key: s.NewKey(t, []uuid.UUID{other}, request.WriteNodes),
	})
	require.Equal(t, http.StatusCreated, a.Status, "the limit is that of a workspace")
	s.Do(t, contract.Request{Method: http.MethodDelete, Path: savedPath + "/" + last.ID})
	save(t, s, next)
}

func TestSavedQueriesAreOfOneWorkspace(t *testing.T) {
	t.Parallel()
	s := startSaved(t)
	mine := save(t, s, `{"name":"pumps","kind":"search","request":{"query":"canary"}}`)
	other := s.NewWorkspace(t, "live")
	as := contract.Request{Key: s.NewKey(t, []uuid.UUID{other}, request.Admin), Workspace: other.String()}
	requireNoSaved(t, s, as, mine.ID)
	list := as
	list.Path = savedPath
	require.Empty(t, decode[[]savedItem](t, s.Do(t, list), http.StatusOK))
	for _, id := range []string{mine.ID, uuid.NewString()} { // the same id and name are free there
		create := as
		create.Method, create.Path = http.MethodPost, savedPath
		create.Body = `{"id":"` + id + `","name":"` + map[bool]string{true: "pumps", false: "x"}[id == mine.ID] +
			`","kind":"search","request":{"query":"a"}}`
		require.Equal(t, http.StatusCreated, s.Do(t, create).Status)
	}
	var now savedItem
	s.Get(t, savedPath+"/"+mine.ID, &now)
	require.Equal(t, mine, now)
}

func TestASavedQueryWithAKeyIsCreatedAndChangedOnce(t *testing.T) {
	t.Parallel()
	s := startSaved(t)
	const body = `{"name":"pumps","kind":"search","request":{"query":"a"}}`
	first := s.Do(t, withIdempotencyKey(savedPath, "k", body))
	made := decode[savedItem](t, first, http.StatusCreated)
	requireReplayed(t, first, s.Do(t, withIdempotencyKey(savedPath, "k", body)))
	s.Do(t, withIdempotencyKey(savedPath, "k", strings.Replace(body, "pumps", "fans", 1))).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "Idempotency-Key"},
	)
	refused := s.Do(t, withIdempotencyKey(savedPath, "k2", body))
	refused.RequireFailure(t, http.StatusConflict, "CONFLICT", "", nil)
	requireReplayed(t, refused, s.Do(t, withIdempotencyKey(savedPath, "k2", body)))

	patch := withIdempotencyKey(savedPath+"/"+made.ID, "k", `{"expectedVersion":1,"request":{"limit":3}}`)
	patch.Method = http.MethodPatch
	changed := s.Do(t, patch)
	require.Equal(t, 2, decode[savedItem](t, changed, http.StatusOK).Version)
	requireReplayed(t, changed, s.Do(t, patch))
	var all []savedItem
	s.Get(t, savedPath, &all)
	require.Len(t, all, 1)
	require.Equal(t, 2, all[0].Version)
}
