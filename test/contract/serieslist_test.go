package contract_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

func TestSeriesAreListedWithWhatTheyHold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.register(t, f.Workspace, seriesKey{source: f.fan.ID, metric: "empty"})
	type series struct {
		ID, SourceID, SourceName, Metric, Kind string
		Unit                                   *string
		Tags                                   map[string]string
		FirstSeen, LastSeen                    *time.Time
		Count                                  int
	}
	var list []series
	require.EqualValues(t, 5, f.Get(t, "/api/live-data/series", &list).Meta.Total)
	found := map[string]series{}
	for _, s := range list {
		found[s.SourceName+" "+s.Metric] = s
	}
	temp := found["boiler temp"]
	require.Equal(t, 3, temp.Count)
	require.Equal(t, t0, *temp.FirstSeen)
	require.Equal(t, t0.Add(3*time.Minute), *temp.LastSeen)
	require.Equal(t, "°C", *temp.Unit)
	require.Equal(t, map[string]string{"room": "A"}, temp.Tags)
	require.Equal(t, "number", temp.Kind)
	require.Equal(t, 2, found["boiler state"].Count)
	require.Equal(t, "string", found["boiler state"].Kind)
	require.Equal(
		t,
		series{
			ID: found["fan empty"].ID, SourceID: f.fan.ID, SourceName: "fan", Metric: "empty", Kind: "number",
			Tags: map[string]string{},
		},
		found["fan empty"],
	)

	const pages = "/api/live-data/series?limit=2"
	var paged []string
	for cursor, path := ptr(""), pages; cursor != nil; path = pages + "&cursor=" + *orEmpty(cursor) {
		var page []series
		cursor = nextCursor(t, f.Get(t, path, &page))
		for _, s := range page {
			paged = append(paged, s.ID)
		}
	}
	require.Len(t, paged, 5)
	for i, s := range list {
		require.Equal(t, s.ID, paged[i])
	}
	var second []series
	a := f.Get(t, "/api/live-data/series?limit=2&offset=2", &second)
	require.Equal(t, contract.Meta{Total: 5, Limit: 2, Offset: 2, HasMore: true}, metaWithoutCursor(a))
	require.Equal(t, paged[2], second[0].ID)
	for query, field := range map[string]string{
		"from=-1h": "from", "sort=metric": "sort", "sourceId=x": "sourceId", "cursor=x": "cursor",
	} {
		f.Do(t, contract.Request{
			Path: "/api/live-data/series?" + query,
		}).RequireFailure(t, 400, validation, "", map[string]any{"field": field})
	}
}

func orEmpty(text *string) *string {
	if text == nil {
		return ptr("")
	}
	return text
}
