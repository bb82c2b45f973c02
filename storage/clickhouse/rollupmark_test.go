package clickhouse

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

func TestLateRowsGiveAStretchForEachSeriesAndDay(t *testing.T) {
	at := func(hours ...float64) (ts []int64) {
		for _, h := range hours {
			ts = append(ts, int64(h*float64(HourUS)))
		}
		return ts
	}
	for _, c := range []struct {
		name   string
		series []uint64
		ts     []int64
		want   []stretch
	}{
		{"none", []uint64{1, 1}, at(100, 200), nil},
		{"one", []uint64{1, 1}, at(3.5, 100), []stretch{{1, 3, 4}}},
		{"hours of a day", []uint64{1, 1, 1}, at(3.5, 9, 23.99), []stretch{{1, 3, 24}}},
		{"two days", []uint64{1, 1, 1}, at(23.99, 24, 26), []stretch{{1, 23, 24}, {1, 24, 27}}},
		{"two series", []uint64{1, 2}, at(3, 3), []stretch{{1, 3, 4}, {2, 3, 4}}},
		{"backwards", []uint64{1, 1, 1}, at(9, 3, 50), []stretch{{1, 3, 10}, {1, 50, 51}}},
		{"back and forth", []uint64{1, 2, 1}, at(1, 1, 1), []stretch{{1, 1, 2}, {2, 1, 2}, {1, 1, 2}}},
	} {
		series := native.RunsOf(c.series...)
		require.Equal(t, c.want, lateStretches(&series, c.ts, 99*HourUS), c.name)
	}
	for range 1000 { // every late row is in a stretch
		var series []uint64
		var ts []int64
		for range rand.IntN(20) {
			series, ts = append(series, rand.Uint64N(3)), append(ts, rand.Int64N(120*HourUS))
		}
		runs := native.RunsOf(series...)
		late := lateStretches(&runs, ts, 99*HourUS)
		for i, at := range ts {
			covered := at >= 99*HourUS
			for _, s := range late {
				covered = covered || s.series == series[i] && at >= int64(s.from)*HourUS && at < int64(s.to)*HourUS
			}
			require.True(t, covered)
		}
	}
}

// BenchmarkLateRows is what it costs to look which of a million rows of 1,000 series
// have to be marked: none, or all.
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
			var late []stretch
			for b.Loop() {
				late = lateStretches(&series, ts, horizon)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/point")
			b.ReportMetric(float64(len(late)), "marks")
		})
	}
}
