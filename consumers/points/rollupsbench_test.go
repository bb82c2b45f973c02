package points

import (
	"math/rand/v2"
	"testing"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// BenchmarkAggregator adds batches of 1,000 series in the order of time, with ten points of each series per
// record and four records per batch, and of 100,000 series with one point each, which have no rollups.
func BenchmarkAggregator(b *testing.B) {
	for _, kind := range []struct {
		name                    string
		series, records, points int
		interval                int64
	}{{"dense", 1000, 4, 10, aSecond}, {"sparse", 100_000, 1, 1, 30 * aSecond}} {
		b.Run(kind.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			a := newAggregator()
			next := hourStart
			var c clickhouse.PointColumns
			points := 0
			for b.Loop() {
				b.StopTimer()
				c = clickhouse.PointColumns{}
				for series := range kind.series {
					value := 20.0
					for r := range kind.records {
						for p := range kind.points {
							c.Series.Append(uint64(series)*0x9E3779B97F4A7C15, 1)
							c.TS = append(c.TS, next+int64(r*kind.points+p)*kind.interval)
							value += random.NormFloat64()
							c.Values = append(c.Values, value)
							c.Versions.Append(uint64(r+1), 1)
						}
					}
				}
				next += int64(kind.records*kind.points) * kind.interval
				points += c.Len()
				b.StartTimer()
				_ = a.addAndTake(&c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(points), "ns/point")
		})
	}
}
