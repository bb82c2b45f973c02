package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestRememberedSeriesHaveBounds(t *testing.T) {
	m := newSeriesMemory()
	page := func(series, length int) *seriesListing {
		l := &seriesListing{}
		for range series {
			l.list = append(l.list, Series{Metric: strings.Repeat("m", length), Tags: map[string]string{"k": "value"}})
		}
		return l
	}
	known := func(key string) bool { _, ok := m.GetIfPresent(key); return ok }
	m.Set("too large", page(1, rememberedSeriesBytes))
	m.CleanUp()
	require.False(t, known("too large"))

	const pages = 100 // each is more than a tenth of what is remembered
	m.Set("asked for", page(10, rememberedSeriesBytes/100))
	for i := range pages {
		m.Set(fmt.Sprint(i), page(10, rememberedSeriesBytes/100))
		m.CleanUp() // which happens by itself a moment later
		require.True(t, known("asked for"), "%d pages that nobody asks for push none out that is", i)
		require.LessOrEqual(t, m.WeightedSize(), uint64(rememberedSeriesBytes))
		require.LessOrEqual(t, m.EstimatedSize(), 10)
	}

	before := m.WeightedSize()
	for range pages { // one page again and again takes its room once
		m.Set("asked for", page(10, rememberedSeriesBytes/100))
	}
	m.CleanUp()
	require.LessOrEqual(t, m.WeightedSize(), before)
	require.True(t, known("asked for"))
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
