package clickhouse

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

func TestLateRowsAreOneRangeForEachSeriesAndDay(t *testing.T) {
	times := func(hours ...float64) (ts []int64) {
		for _, h := range hours {
			ts = append(ts, int64(h*float64(HourUS)))
		}
		return ts
	}
	for _, c := range []struct {
		name   string
		series []uint64
		ts     []int64
		want   []hourRange
	}{
		{"none", []uint64{1, 1}, times(100, 200), nil},
		{"one", []uint64{1, 1}, times(3.5, 100), []hourRange{{1, 3, 4}}},
		{"hours of a day", []uint64{1, 1, 1}, times(3.5, 9, 23.99), []hourRange{{1, 3, 24}}},
		{"two days", []uint64{1, 1, 1}, times(23.99, 24, 26), []hourRange{{1, 23, 24}, {1, 24, 27}}},
		{"two series", []uint64{1, 2}, times(3, 3), []hourRange{{1, 3, 4}, {2, 3, 4}}},
		{"backwards", []uint64{1, 1, 1}, times(9, 3, 50), []hourRange{{1, 3, 10}, {1, 50, 51}}},
		{"back and forth", []uint64{1, 2, 1}, times(1, 1, 1), []hourRange{{1, 1, 2}, {2, 1, 2}, {1, 1, 2}}},
	} {
		series := native.RunsOf(c.series...)
		require.Equal(t, c.want, lateHours(&series, c.ts, 99*HourUS), c.name)
	}
	for range 1000 { // every late row is in a range
		var series []uint64
		var ts []int64
		for range rand.IntN(20) {
			series, ts = append(series, rand.Uint64N(3)), append(ts, rand.Int64N(120*HourUS))
		}
		runs := native.RunsOf(series...)
		late := lateHours(&runs, ts, 99*HourUS)
		for i, us := range ts {
			covered := us >= 99*HourUS
			for _, s := range late {
				covered = covered || s.series == series[i] && us >= int64(s.from)*HourUS && us < int64(s.to)*HourUS
			}
			require.True(t, covered)
		}
	}
}

// BenchmarkLateRows measures how long it takes to find the rows that must be marked among a
// million rows of 1,000 series: none, or all.
func BenchmarkLateRows(b *testing.B) {
	const rows, each = 1_000_000, 1000
	var series native.Runs
	ts := make([]int64, rows)
	for i := range rows {
		series.Append(uint64(i/each), 1)
		ts[i] = 30*dayUS + int64(i%each)*1_000_000
	}
	for name, horizon := range map[string]int64{"live": 0, "late": 60 * dayUS} {
		b.Run(name, func(b *testing.B) {
			var late []hourRange
			for b.Loop() {
				late = lateHours(&series, ts, horizon)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/point")
			b.ReportMetric(float64(len(late)), "marks")
		})
	}
}
