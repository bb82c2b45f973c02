package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
)

// testSavedQueriesByCommandLine saves queries, runs, replaces and deletes them.
func testSavedQueriesByCommandLine(w *workspace) {
	t := w.t
	pump := w.createNode("Pump 7", "leaks oil at night")
	w.do(http.MethodPost, "/api/documents", map[string]any{"documents": []any{map[string]any{
		"externalId": "note", "title": "Note", "text": "Oil is kept in the cellar.", "tags": []string{"a,b"},
	}}}, http.StatusAccepted, nil)
	w.eventually(func() bool { return strings.Contains(w.ok(w.in("index", "status")...), "ready: 2 of 2 nodes indexed") })

	file := filepath.Join(t.TempDir(), "request.json")
	put := func(request string, args ...string) string {
		require.NoError(t, os.WriteFile(file, []byte(request), 0o600))
		return w.ok(w.in(append([]string{"saved-queries", "put", "oil", file}, args...)...)...)
	}
	require.Equal(t, "oil: search, version 1\n", put(
		`{"query": "oil", "minScore": 0.01, "properties": {"site": "north", "bay": 1}}`, "--description", "of the plant",
	))
	require.Contains(t, w.ok(w.in("saved-queries", "run", "oil")...), "0 candidates")
	require.Equal(t, "oil: hybrid-search, version 2\n", put(`{"query": "oil", "hops": 1}`, "--kind", "hybrid-search"))
	require.JSONEq(t, `{"query": "oil", "hops": 1}`, w.ok(w.in("saved-queries", "get", "oil")...), "it is replaced")
	require.Equal(t, "oil: hybrid-search, version 2\n", put(`{"hops": 1, "query": "oil"}`), "nothing changed")
	list := w.ok(w.in("saved-queries", "list")...)
	require.Regexp(t, `(?m)^oil +hybrid-search +2 +\S+Z +of the plant +\S{36}\n1 saved query$`, list)
	require.Contains(t, w.ok(w.in("saved-queries", "list", "--kind", "answer")...), "0 saved queries")

	found := w.ok(w.in("saved-queries", "run", "oil")...)
	require.Contains(t, found, pump.String())
	require.Contains(t, found, "Note")
	found = w.ok(w.in("saved-queries", "run", "oil", "--query", "cellar", "--limit", "1", "--tag", "a,b", "--json")...)
	hits := decode[struct {
		Data []struct{ Node struct{ Name string } }
		Meta struct{ Limit int }
	}](t, found)
	require.Len(t, hits.Data, 1)
	require.Equal(t, "Note", hits.Data[0].Node.Name)
	require.Equal(t, 1, hits.Meta.Limit)
	require.NoError(t, os.WriteFile(file, []byte(`{"query": "where is oil kept?"}`), 0o600))
	w.ok(w.in("saved-queries", "put", "oil question", file, "--kind", "answer")...)
	require.Contains(t, w.ok(w.in("saved-queries", "run", "oil question")...), "Oil is kept in the cellar. [1]")

	for message, args := range map[string][]string{
		`there is no saved query "OIL"`: {"get", "OIL"}, "there is no saved query": {"run", "o"},
		"No such saved query": {"get", pump.String()}, "must be a JSON object": {"put", "x", os.DevNull},
		"offset: is not a known field": {"run", "oil question", "--offset", "1"}, "kind": {"list", "--kind", "graph"},
		"timestamp.from: must be": {"run", "oil", "--from", "yesterday"},
		"request.query":           {"put", "oil", w.file(`{"query": ""}`)},
		"request.words":           {"put", "new", w.file(`{"query": "a", "words": 1}`)},
	} {
		require.Contains(t, w.bad(w.in(append([]string{"saved-queries"}, args...)...)...), message, "%v", args)
	}
	require.JSONEq(t, `{"query": "oil", "hops": 1}`, w.ok(w.in("saved-queries", "get", "oil")...), "nothing changed")
	require.Equal(t, "oil is deleted\n", w.ok(w.in("saved-queries", "delete", "oil")...))
	require.Contains(t, w.ok(w.in("saved-queries", "list")...), "1 saved query")
}

// file returns the name of a new file with a content.
func (w *workspace) file(content string) string {
	w.t.Helper()
	name := filepath.Join(w.t.TempDir(), "file.json")
	require.NoError(w.t, os.WriteFile(name, []byte(content), 0o600))
	return name
}
