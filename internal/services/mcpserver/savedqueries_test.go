package mcpserver

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// api answers each request with a body, and keeps the last request.
type api struct {
	body       string
	path, sent string
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	a.path, a.sent = r.Method+" "+r.URL.RequestURI(), string(text)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(a.body))}, err
}

func TestARunOfASavedQueryHasTheAnswerOfItsKind(t *testing.T) {
	server := &api{}
	c := &client{options: Options{Transport: server, URL: "http://x"}, slots: make(chan struct{}, 1)}
	run := func(in runSavedQueryInput) *answer {
		t.Helper()
		result, err := c.runSavedQuery(t.Context(), in)
		require.NoError(t, err)
		return result.(*answer)
	}
	server.body = `{"success":true,"data":[{"node":{"id":"1","name":"a"}},{"node":{"id":"2"}}],` +
		`"meta":{"total":9,"limit":2,"offset":3,"hasMore":true,"nextCursor":null},"requestId":"req_1"}`
	a := run(runSavedQueryInput{ID: "a/b"})
	require.Equal(t, "POST /api/rag/queries/a%2Fb/run", server.path)
	require.Equal(t, `{}`, server.sent)
	require.Len(t, a.Results, 2)
	require.Equal(t, "livegraph://nodes/1", a.Citations[0].URI)
	require.Equal(t, map[string]any{"offset": 5}, a.Next, "after the saved offset")

	offset := 0
	run(runSavedQueryInput{
		ID: "id", Query: "pump", Limit: 80, Offset: &offset, documentFilter: documentFilter{
			Documents: []string{"d"}, Tags: []string{"a"}, AllTags: []string{"b"},
			Timestamp: &timeRange{To: "2026-01-01T00:00:00Z"},
		},
	})
	require.JSONEq(t, `{"query":"pump","limit":50,"offset":0,"documents":["d"],"tags":["a"],"allTags":["b"],`+
		`"timestamp":{"to":"2026-01-01T00:00:00Z"}}`, server.sent)

	server.body = `{"success":true,"data":{"answer":"It leaks. [1]","sentences":[],"citations":` +
		`[{"nodeId":"7","name":"Pump"}]},"meta":{"total":4},"requestId":"req_1"}`
	a = run(runSavedQueryInput{ID: "id"})
	require.Contains(t, string(a.Result), "It leaks. [1]")
	require.Equal(t, "livegraph://nodes/7", a.Citations[0].URI)
	require.Nil(t, a.Total)
}
