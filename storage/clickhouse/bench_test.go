package clickhouse_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// BenchmarkInsertPoints is the lower bound for the points consumer: sorted columns with rows
// of 1,000 series.
func BenchmarkInsertPoints(b *testing.B) {
	const rows, series = 1_000_000, 1000
	db, _ := open(b)
	columns := &clickhouse.PointColumns{}
	for b.Loop() {
		b.StopTimer()
		fill(columns, rows, series, int64(b.N))
		b.StartTimer()
		require.NoError(b, db.InsertPoints(b.Context(), columns))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/point")
}

func fill(c *clickhouse.PointColumns, rows, series int, round int64) {
	c.Reset()
	each := rows / series
	for s := range series {
		for i := range each {
			ts := 1_795_246_810_000_000 + round*int64(each)*1_000_000 + int64(i)*1_000_000
			c.Append(uint64(s)*0x9e3779b97f4a7c15, ts, 20+float64(i%17)/7, 1<<48|uint64(round))
		}
	}
}
