package contract_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

func TestDocumentsAreListedInTheRequestedOrder(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	const older = "0194a5b0-0000-7000-8000-0000000000aa"
	w.mustExecute(t, `{"type":"CREATE_NODE","payload":{"id":"`+older+`","name":"Older","entityType":"object"}}`)
	fourth := documentInput{"externalId": "fourth", "text": "Four.", "timestamp": "2025-06-01T00:00:00Z"}
	for _, d := range []documentInput{
		{"externalId": "first", "text": "One.", "timestamp": "2026-01-01T00:00:00Z"},
		{"externalId": "second", "text": "Two."},
		{"externalId": "third", "text": "Three.", "timestamp": "2026-01-01T01:00:00.5+01:00"},
		fourth,
		{"externalId": "second", "text": "Two, again."},
		{"externalId": "first", "text": "One.", "timestamp": "2026-01-01T00:00:00Z"}, // unchanged
	} {
		w.put(t, d)
	}
	// A node that is older than the document, and one that is newer, have a copy of its mark: neither is a document.
	mark := decode[struct{ Properties json.RawMessage }](
		t, w.Do(t, contract.Request{Path: "/api/queries/nodes/" + w.document(t, "first").ID}), http.StatusOK,
	).Properties
	w.mustExecute(t, `{"type":"UPDATE_NODE","payload":{"id":"`+older+`","properties":`+string(mark)+`}}`)
	w.mustExecute(
		t, `{"type":"CREATE_NODE","payload":{"name":"Newer","entityType":"object","properties":`+string(mark)+`}}`,
	)

	for sort, want := range map[string][]string{
		"":          {"first", "second", "third", "fourth"},
		"created":   {"first", "second", "third", "fourth"},
		"newest":    {"second", "fourth", "third", "first"},
		"timestamp": {"third", "first", "fourth", "second"},
	} {
		parameters := url.Values{}
		if sort != "" {
			parameters.Set("sort", sort)
		}
		require.Equal(t, want, w.listed(t, parameters, len(want)), sort)
		for i := range want { // pages are parts of the list
			parameters.Set("limit", "1")
			parameters.Set("offset", strconv.Itoa(i))
			require.Equal(t, want[i:i+1], w.listed(t, parameters, len(want)), sort)
		}
		parameters.Set("offset", "9223372036854775807")
		require.Empty(t, w.listed(t, parameters, len(want)), sort)
	}
	from := url.Values{"sort": {"newest"}, "timestampFrom": {"2026-01-01T00:00:00Z"}}
	require.Equal(t, []string{"third", "first"}, w.listed(t, from, 2))
	require.Equal(t, []string{"first"}, w.listed(t, url.Values{"externalId": {"first"}, "sort": {"newest"}}, 1))

	allowed := []any{"created", "newest", "timestamp"}
	for _, sort := range []string{"size", "", "NEWEST", "-created", "created,newest"} {
		w.Do(t, contract.Request{Path: documentsPath + "?sort=" + url.QueryEscape(sort)}).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": "sort", "allowed": allowed},
		)
	}
	w.Do(t, contract.Request{Path: documentsPath + "?sort=newest&sort=created"}).RequireFailure(
		t, http.StatusBadRequest, validation, "", map[string]any{"field": "sort"},
	)
}

// listed returns the external ids of a list of documents, which must have a total.
func (w *writer) listed(t *testing.T, parameters url.Values, total int) []string {
	t.Helper()
	var list []documentItem
	a := w.Get(t, documentsPath+"?"+parameters.Encode(), &list)
	require.EqualValues(t, total, a.Meta.Total, parameters)
	var ids []string
	for i := range list {
		ids = append(ids, list[i].ExternalID)
	}
	return ids
}
