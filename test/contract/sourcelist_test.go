package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestSourcesAreListedFilteredSortedAndPaged(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	node := uuid.NewString()
	for i, text := range hostile {
		body, err := json.Marshal(map[string]any{
			"name": text, "description": text, "unit": text[:min(len(text), 1)],
			"tags": map[string]string{"kind": text, text: fmt.Sprint(i % 3)},
		})
		require.NoError(t, err)
		require.Equal(t, text, l.createSource(t, string(body)).Name)
	}
	l.createSource(t, `{"name":"Linked","nodeId":"`+node+`","tags":{"a.b":"c"}}`)
	total := len(hostile) + 1
	names := func(query string) []string {
		var list []source
		l.Get(t, "/api/live-data/sources?limit=100&sort=name&"+query, &list)
		got := []string{}
		for _, s := range list {
			got = append(got, s.Name)
		}
		return got
	}
	for _, text := range hostile {
		require.Contains(t, names("name="+escape(text)), text)
		require.Equal(t, []string{text}, names("tag.kind="+escape(text)))
		require.Equal(t, []string{text}, names("tag."+escape(text)+"=0&tag."+escape(text)+"=1&tag."+escape(text)+"=2"))
	}
	require.Equal(t, []string{`%_\`}, names("name="+escape(`%_\`)))
	require.Equal(t, []string{`%_\`, `__proto__`}, names("name=_"))
	require.Equal(t, []string{"Linked"}, names("name=LINKE"))
	require.Equal(t, []string{"Linked"}, names("nodeId="+node))
	require.Equal(t, []string{"Linked"}, names("tag.a.b=c"))
	require.Empty(t, names("nodeId="+uuid.NewString()))
	require.Empty(t, names("nodeId="+node+"&name=pump"))
	require.Len(t, names("name="), total)

	for _, sort := range []string{"", "createdAt", "-createdAt", "name", "-name", "updatedAt,name", "version,-name"} {
		var byOffset, byCursor []string
		for offset := 0; offset < total; offset += 4 {
			var list []source
			a := l.Get(
				t, fmt.Sprintf("/api/live-data/sources?limit=4&offset=%d&sort=%s", offset, orDefault(sort, "createdAt")), &list,
			)
			require.Equal(
				t, contract.Meta{Total: int64(total), Limit: 4, Offset: int64(offset), HasMore: offset+4 < total},
				metaWithoutCursor(a),
			)
			for _, s := range list {
				byOffset = append(byOffset, s.ID)
			}
		}
		path := "/api/live-data/sources?limit=4"
		if sort != "" {
			path += "&sort=" + sort
		}
		for cursor := ptr(""); cursor != nil; {
			next := path
			if *cursor != "" {
				next += "&cursor=" + *cursor
			}
			var list []source
			a := l.Get(t, next, &list)
			require.EqualValues(t, 0, a.Meta.Offset)
			cursor = nextCursor(t, a)
			require.Equal(t, cursor != nil, a.Meta.HasMore)
			for _, s := range list {
				byCursor = append(byCursor, s.ID)
			}
		}
		require.Equal(t, byOffset, byCursor, sort)
		require.Len(t, byCursor, total)
	}
}

func orDefault(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

func metaWithoutCursor(a *contract.Answer) contract.Meta {
	meta := *a.Meta
	return contract.Meta{Total: meta.Total, Limit: meta.Limit, Offset: meta.Offset, HasMore: meta.HasMore}
}

// nextCursor returns meta.nextCursor, which every list contains.
func nextCursor(t testing.TB, a *contract.Answer) *string {
	t.Helper()
	var envelope struct{ Meta map[string]any }
	require.NoError(t, json.Unmarshal(a.Body, &envelope))
	require.Contains(t, envelope.Meta, "nextCursor")
	if text, ok := envelope.Meta["nextCursor"].(string); ok {
		return &text
	}
	return nil
}

func TestACursorIsOnlyGoodForItsListFilterAndSort(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	for i := range 3 {
		l.createSource(t, fmt.Sprintf(`{"name":"s%d"}`, i))
	}
	var list []source
	cursor := *nextCursor(t, l.Get(t, "/api/live-data/sources?limit=1&sort=name", &list))
	l.Get(t, "/api/live-data/sources?limit=2&sort=name&cursor="+cursor, &list) // another limit is fine
	require.Len(t, list, 2)
	bad := func(path string) {
		a := l.Do(t, contract.Request{Path: path})
		a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": "cursor"})
	}
	for _, query := range []string{"sort=-name&cursor=" + cursor, "cursor=" + cursor,
		"sort=name&name=s&cursor=" + cursor, "sort=name&offset=1&cursor=" + cursor, "sort=name&cursor=",
		"sort=name&cursor=x", "sort=name&cursor=" + cursor + "A", "sort=name&cursor=" + cursor[:len(cursor)-1] + "_",
		"sort=name&cursor=" + strings.Repeat("A", 5000)} {
		bad("/api/live-data/sources?" + query)
	}
	bad("/api/live-data/series?cursor=" + cursor)
	other := l.NewWorkspace(t, "live")
	key := l.NewKey(t, []uuid.UUID{other}, request.Admin)
	l.Do(t, contract.Request{
		Path: "/api/live-data/sources?sort=name&cursor=" + cursor, Key: key, Workspace: other.String(),
	}).
		RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": "cursor"})
}

// badSourceLists returns parameters of the list of sources, with the name of the invalid
// parameter.
func badSourceLists() map[string]string {
	return map[string]string{
		"limit=0": "limit", "limit=-1": "limit", "limit=1.5": "limit", "limit=": "limit", "limit=%205": "limit",
		"limit=%2B5": "limit", "limit=0x10": "limit",
		"offset=-1": "offset", "offset=x": "offset", "limit=5&limit=6": "limit", "name=a&name=b": "name", "nam=x": "nam",
		"Limit=5": "Limit", "nodeId=x": "nodeId", "nodeId=": "nodeId",
		"sort=x": "sort", "sort=": "sort", "sort=name,name": "sort", "sort=name,-name": "sort",
		"sort=name;DROP TABLE sources": "sort", "sort=lastSeenAt": "sort", "sort=--name": "sort",
		"tag.=x": "tag.", "tag=x": "tag", "name=%ff": "name", "name=%00": "name", "name=%zz": "name",
	}
}

func TestBadParametersOfTheSourceListNameTheParameter(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	for query, field := range badSourceLists() {
		a := l.Do(t, contract.Request{Path: "/api/live-data/sources?" + strings.ReplaceAll(query, " ", "%20")})
		a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": field})
		if strings.HasPrefix(query, "sort=x") {
			require.Equal(t, []any{"createdAt", "updatedAt", "name", "version"}, a.Error.Details["allowed"])
		}
	}
	var list []source
	require.EqualValues(t, 100, l.Get(t, "/api/live-data/sources?limit=101", &list).Meta.Limit)
	require.EqualValues(t, 100, l.Get(t, "/api/live-data/sources?limit=2147483648", &list).Meta.Limit)
	require.EqualValues(t, 50, l.Get(t, "/api/live-data/sources", &list).Meta.Limit)
	require.EqualValues(t, 1<<31, l.Get(t, "/api/live-data/sources?offset=2147483648", &list).Meta.Offset)
	require.NotNil(t, list)
}

func TestSourcesAreListedWhileTheStoreOfPointsIsDown(t *testing.T) {
	t.Parallel()
	server := testenv.StoppableClickHouse(t)
	points, err := chtest.Open(t.Context(), server.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = points.Close() })
	require.NoError(t, points.Migrate(t.Context()))
	group := &contract.LiveData{Points: points}
	l := &live{Server: contract.Start(t, group.Group), LiveData: group}
	made := l.createSource(t, `{"name":"boiler"}`)
	l.store(t, l.Workspace, seriesKey{source: made.ID, metric: "m"}, sample{microsAt(0), 1.0, 1})
	require.NoError(t, server.Stop(t.Context()))

	var list []source
	l.Get(t, "/api/live-data/sources", &list)
	require.Len(t, list, 1)
	require.Nil(t, list[0].Status)
	require.Nil(t, list[0].LastSeenAt)
	for _, path := range []string{
		"/api/live-data/query", "/api/live-data/query?latest=true", "/api/live-data/query?aggregation=avg",
		"/api/live-data/series",
	} {
		a := l.Do(t, contract.Request{Path: path})
		a.RequireFailure(t, http.StatusServiceUnavailable, "INTERNAL_ERROR", "The store of points is not available", nil)
		require.Equal(t, "1", a.Header.Get("Retry-After"))
	}
	require.NoError(t, server.Start(t.Context()))
	l.Get(t, "/api/live-data/series", &[]any{})
}
