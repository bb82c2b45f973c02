package points

import (
	"math/rand/v2"
	"testing"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// batchShape is the shape of a batch: each record has consecutive points of every series.
type batchShape struct {
	series, records, points int
	interval                int64 // between points, in microseconds
}

// columns returns a batch with points from a time on.
func (s batchShape) columns(random *rand.Rand, from int64) *clickhouse.PointColumns {
	c := &clickhouse.PointColumns{}
	for series := range s.series {
		value := 20.0
		for point := range s.records * s.points {
			value += random.NormFloat64()
			record := uint64(point / s.points)
			c.Append(uint64(series)*0x9E3779B97F4A7C15, from+int64(point)*s.interval, value, record+1)
		}
	}
	return c
}

// BenchmarkAggregator adds batches of 1,000 series in the order of time, with ten points of each series per
// record and four records per batch, and of 100,000 series with one point each, which have no rollups.
func BenchmarkAggregator(b *testing.B) {
	for name, shape := range map[string]batchShape{
		"dense": {1000, 4, 10, aSecond}, "sparse": {100_000, 1, 1, 30 * aSecond},
	} {
		b.Run(name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			a, next, points := newAggregator(), hourStart, 0
			for b.Loop() {
				b.StopTimer()
				c := shape.columns(random, next)
				next += int64(shape.records*shape.points) * shape.interval
				points += c.Len()
				b.StartTimer()
				_ = a.addAndTake(c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(points), "ns/point")
		})
	}
}
