package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestTheSeriesCacheIsBounded(t *testing.T) {
	m := newSeriesCache()
	page := func(series, length int) *seriesListing {
		l := &seriesListing{}
		for range series {
			l.list = append(l.list, Series{Metric: strings.Repeat("m", length), Tags: map[string]string{"k": "value"}})
		}
		return l
	}
	cached := func(key string) bool { _, ok := m.GetIfPresent(key); return ok }
	m.Set("too large page", page(1, seriesCacheBytes))
	m.CleanUp()
	require.False(t, cached("too large page"))

	const pages = 100 // each is more than a tenth of the cache
	m.Set("asked for", page(10, seriesCacheBytes/100))
	for i := range pages {
		m.Set(fmt.Sprint(i), page(10, seriesCacheBytes/100))
		m.CleanUp() // otherwise it runs asynchronously
		require.True(t, cached("asked for"), "%d pages that are not requested evict none that is", i)
		require.LessOrEqual(t, m.WeightedSize(), uint64(seriesCacheBytes))
		require.LessOrEqual(t, m.EstimatedSize(), 10)
	}

	before := m.WeightedSize()
	for range pages { // replacing a page does not add to the size
		m.Set("asked for", page(10, seriesCacheBytes/100))
	}
	m.CleanUp()
	require.LessOrEqual(t, m.WeightedSize(), before)
	require.True(t, cached("asked for"))
}

func TestDifferentPagesHaveDifferentCacheKeys(t *testing.T) {
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
				key := filters[i].cacheKey(ws, page)
				require.NotEmpty(t, key)
				require.False(t, seen[key], key)
				seen[key] = true
			}
		}
	}
	for _, f := range []SeriesFilter{
		{SourceName: &name}, {NodeID: &some}, {Metrics: []string{strings.Repeat("m", maxSeriesKeyBytes)}},
	} {
		require.Empty(t, f.cacheKey(some, SeriesPage{Limit: 1}))
	}
	require.Empty(t, (&SeriesFilter{}).cacheKey(some, SeriesPage{Limit: 1, After: &SeriesPosition{}}))
}
