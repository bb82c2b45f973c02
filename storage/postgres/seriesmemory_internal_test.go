package postgres

import (
	"fmt"
	"strings"
	"testing"

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
	m.put("too large", page(1, rememberedSeriesBytes))
	require.Nil(t, m.get("too large"))

	const pages = 100
	for i := range pages {
		m.put(fmt.Sprint(i), page(10, rememberedSeriesBytes/100))
		require.LessOrEqual(t, m.bytes, rememberedSeriesBytes)
		require.NotNil(t, m.get(fmt.Sprint(i)))
	}
	require.Nil(t, m.get("0"))
	require.LessOrEqual(t, len(m.young)+len(m.old), 20)

	before := m.bytes
	for range pages { // one page again and again takes its room once
		m.put("99", page(10, rememberedSeriesBytes/100))
	}
	require.LessOrEqual(t, m.bytes, before)
	require.NotNil(t, m.get("98"))
}
