package points_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// BenchmarkConsume stores 10 M points from a full log: of 1,000 series, with 100 or 10 points of each in a request,
// and of 100,000 sensors, with one point of each. Compare with BenchmarkInsertPoints of storage/clickhouse,
// which measures the store alone.
func BenchmarkConsume(b *testing.B) {
	for name, shape := range map[string]struct{ requests, series, each int }{
		"series": {100, 1000, 100}, "short-series": {1000, 1000, 10}, "sensors": {100, 100_000, 1},
	} {
		b.Run(name, func(b *testing.B) { consume(b, shape.requests, shape.series, shape.each) })
	}
}

func consume(b *testing.B, requests, series, each int) {
	b.Helper()
	if b.N > 1 {
		b.Skip("one iteration is enough: -benchtime 1x")
	}
	w := newFixture(b, kafkatest.NewKFake(b))
	w.config.BatchWait = 150 * time.Millisecond
	w.produceRequests(requests, series, each)
	c := newConsumer(w)
	before := record.CPU(b)
	b.ResetTimer()
	w.run(c)
	w.waitConsumedWithin(5 * time.Minute)
	b.StopTimer()
	points := float64(requests * series * each)
	s := c.Metrics().Snapshot()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/points, "ns/point")
	b.ReportMetric(float64(record.CPU(b)-before)/points, "cpu-ns/point")
	b.ReportMetric(float64(s.PrepareTime)/points, "prepare-ns/point")
	b.ReportMetric(float64(s.StoreTime)/points, "store-ns/point")
	b.ReportMetric(points/float64(s.Batches), "points/batch")
}

// produceRequests produces requests, each with the given number of series and of points in
// each series.
func (w *fixture) produceRequests(requests, count, each int) {
	w.tb.Helper()
	all := make([]series, count)
	for i := range all {
		all[i] = w.numberSeries(uuid.UUID{byte(i), byte(i >> 8), 1}, "temperature")
	}
	parts := make([][]series, partitions)
	for _, s := range all {
		p := pointblock.Partition(s.source, partitions)
		parts[p] = append(parts[p], s)
	}
	ts, values := make([]int64, each), make([]float64, each)
	for r := range requests {
		for p, members := range parts {
			w.encoder.Reset(w.workspace, time.Now().UnixMicro())
			for _, s := range members {
				for i := range ts {
					ts[i], values[i] = t0+int64(r*each+i)*second, 20+float64(i%17)/7
				}
				require.NoError(w.tb, w.encoder.AppendNumbers(s.ref(w), s.identity(w), ts, values))
			}
			_, err := w.log.ProducePoints(w.tb.Context(), "req_bench", w.encoder.AppendMessages(nil, int32(p)))
			require.NoError(w.tb, err)
		}
	}
}

// BenchmarkFreshness measures the time from the acknowledgement of a request until its
// points are visible, at 100,000 points a second: 100 requests of 1,000 points.
func BenchmarkFreshness(b *testing.B) {
	const rate, each, duration = 100, 1000, 10 * time.Second
	if b.N > 1 {
		b.Skip("one iteration is enough: -benchtime 1x")
	}
	w := newFixture(b, kafkatest.NewKFake(b))
	w.config.BatchWait = 150 * time.Millisecond
	s := w.numberSeries(uuid.New(), "m")
	c := w.consume()
	w.produce(w.numberMessages(s, times(0), []float64{0}))
	w.waitSettled()
	partition := pointblock.Partition(s.source, partitions)
	type sent struct {
		offset int64
		at     time.Time
	}
	acknowledged := make(chan sent, rate*100)
	var waits []time.Duration
	var measure sync.WaitGroup
	measure.Go(func() {
		for r := range acknowledged {
			for {
				marks, err := w.registry.Watermarks(b.Context(), w.log.PointsTopic().ID)
				require.NoError(b, err)
				if marks[partition] > r.offset {
					break
				}
				time.Sleep(2 * time.Millisecond)
			}
			waits = append(waits, time.Since(r.at))
		}
	})
	ts, values := make([]int64, each), make([]float64, each)
	tick := time.NewTicker(time.Second / rate)
	began := time.Now()
	for n := int64(0); time.Since(began) < duration; n++ {
		for i := range ts {
			ts[i], values[i] = t0+(n*each+int64(i))*second, float64(i)
		}
		p := w.produce(w.numberMessages(s, ts, values))
		acknowledged <- sent{p[0].Offset, time.Now()}
		<-tick.C
	}
	close(acknowledged)
	measure.Wait()
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(waits[len(waits)*95/100].Milliseconds()), "p95-ms")
	b.ReportMetric(float64(waits[len(waits)-1].Milliseconds()), "max-ms")
	b.ReportMetric(float64(len(waits)*each)/time.Since(began).Seconds(), "points/s")
	b.ReportMetric(float64(c.Metrics().Batches.Load())/time.Since(began).Seconds(), "batches/s")
}
