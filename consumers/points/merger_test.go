package points

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sortedRows returns the result that a merger must return, computed with the standard sort.
func sortedRows(ts []int64, versions []uint64) (rows []row) {
	for i := range ts {
		rows = append(rows, row{ts: ts[i], version: versions[i], index: int32(i)})
	}
	slices.SortStableFunc(rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(x.ts, y.ts), cmp.Compare(y.version, x.version))
	})
	return slices.CompactFunc(rows, func(x, y row) bool { return x.ts == y.ts })
}

// drawSpans draws the times and versions of a series, as spans contain them: some in order, some
// not, some equal.
func drawSpans(t *rapid.T) (ts []int64, versions []uint64) {
	for range rapid.IntRange(0, 9).Draw(t, "spans") {
		span := rapid.SliceOfN(rapid.Int64Range(-5, 40), 0, 30).Draw(t, "span")
		if rapid.Bool().Draw(t, "in order") {
			slices.Sort(span)
		}
		version := rapid.Uint64Range(1, 4).Draw(t, "version")
		for _, us := range span {
			ts, versions = append(ts, us), append(versions, version)
		}
	}
	return ts, versions
}

func TestRowsOfASeriesAreMergedInOrder(t *testing.T) {
	var m merger // reused, as a writer does
	rapid.Check(t, func(t *rapid.T) {
		ts, versions := drawSpans(t)
		want := sortedRows(ts, versions)
		got := m.sort(ts, versions)
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
	})
}

// BenchmarkOrder sorts a series in which each span of a hundred points occurs twice. The baseline
// is the standard sort.
func BenchmarkOrder(b *testing.B) {
	const spans, points = 500, 100
	var ts []int64
	var versions []uint64
	for s := range int64(spans) {
		for version := range uint64(2) {
			for p := range int64(points) {
				ts, versions = append(ts, s*points+p), append(versions, version+1)
			}
		}
	}
	b.Run("merge", func(b *testing.B) {
		var m merger
		for b.Loop() {
			m.sort(ts, versions)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ts)), "ns/row")
	})
	b.Run("sort", func(b *testing.B) {
		for b.Loop() {
			sortedRows(ts, versions)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ts)), "ns/row")
	})
}
