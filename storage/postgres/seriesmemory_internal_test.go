package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestRememberedSeriesHaveBounds(t *testing.T) {
	var m seriesMemory
	page := func(series, length int) *seriesListing {
		l := &seriesListing{}
		for range series {
			l.list = append(l.list, Series{Metric: strings.Repeat("m", length), Tags: map[string]string{"k": "value"}})
		}
		return l
	}
	known := func(key string) bool { _, ok := m.Get(key); return ok }
	m.put("too large", page(1, rememberedSeriesBytes))
	require.False(t, known("too large"))

	const pages = 100
	for i := range pages {
		m.put(fmt.Sprint(i), page(10, rememberedSeriesBytes/100))
		require.True(t, known(fmt.Sprint(i)))
		require.LessOrEqual(t, m.Len(), 20) // each is more than a tenth of what is remembered
	}
	require.False(t, known("0"))

	before := m.Len()
	for range pages { // one page again and again takes its room once
		m.put("99", page(10, rememberedSeriesBytes/100))
	}
	require.Equal(t, before, m.Len())
	require.True(t, known("98"))
}

func TestPagesAreRememberedApart(t *testing.T) {
	some, name := uuid.New(), "pump"
	filters := []SeriesFilter{
		{}, {Sources: []uuid.UUID{}}, {Sources: []uuid.UUID{some}}, {Metrics: []string{}}, {Metrics: []string{"a", "b"}},
		{Metrics: []string{"a b"}},
		{Metrics: []string{"\xff"}}, {Metrics: []string{"\xfe"}}, {Metrics: []string{"\ufffd"}},
		{Tags: map[string][]string{"k": {"v"}}}, {Tags: map[string][]string{"k": {"v", "w"}}},
		{Tags: map[string][]string{"k": {"v"}, "w": nil}},
	}
	seen := map[string]bool{}
	for _, ws := range []uuid.UUID{uuid.New(), uuid.New()} {
		for _, page := range []SeriesPage{{Limit: 1}, {Limit: 12}, {Limit: 1, Offset: 2}} {
			for i := range filters {
				key := filters[i].key(ws, page)
				require.NotEmpty(t, key)
				require.False(t, seen[key], key)
				seen[key] = true
			}
		}
	}
	for _, f := range []SeriesFilter{
		{SourceName: &name}, {NodeID: &some}, {Metrics: []string{strings.Repeat("m", longestSeriesKey)}},
	} {
		require.Empty(t, f.key(some, SeriesPage{Limit: 1}))
	}
	require.Empty(t, (&SeriesFilter{}).key(some, SeriesPage{Limit: 1, After: &SeriesPosition{}}))
}
