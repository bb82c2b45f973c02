package query

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// TestRowsOfGroupsComeInTheOrderOfTime compares merge with a stable sort of all rows.
func TestRowsOfGroupsComeInTheOrderOfTime(t *testing.T) {
	type position struct{ group, row int }
	rapid.Check(t, func(t *rapid.T) {
		descending := rapid.Bool().Draw(t, "descending")
		points := make([]*timeseries.Points, rapid.IntRange(0, 12).Draw(t, "groups"))
		var want []position
		for g := range points {
			if rapid.IntRange(0, 4).Draw(t, "none") == 0 {
				continue // a group without points
			}
			points[g] = &timeseries.Points{TS: rapid.SliceOfN(rapid.Int64Range(-5, 5), 0, 8).Draw(t, "times")}
			slices.Sort(points[g].TS)
			if descending {
				slices.Reverse(points[g].TS)
			}
			for row := range points[g].TS {
				want = append(want, position{g, row})
			}
		}
		slices.SortStableFunc(want, func(a, b position) int {
			order := int(points[a.group].TS[a.row] - points[b.group].TS[b.row])
			if descending {
				return -order
			}
			return order
		})
		var got []position
		for m := newMerge(points, descending); m.next(); {
			got = append(got, position{m.group, m.row})
		}
		require.Equal(t, want, got)
	})
}
