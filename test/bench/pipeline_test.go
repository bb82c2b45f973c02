package bench

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkPipeline sends JSON series as fast as they are taken and stops the
// clock when every point is visible to a query; the load generator runs beside
// the service. Its baseline, measured right after on the same engine, is the
// driver inserting as many sorted points with no service in between.
func BenchmarkPipeline(b *testing.B) {
	const workers, requests = 4, 100
	s := shape{series: 1000, points: 100}
	t := start(b, 100)
	bodies := make([][]byte, requests)
	for n := range bodies {
		bodies[n] = s.body(t.sources, n)
	}
	t.waitVisible(b, t.ingest(b, s.body(t.sources, requests))) // registers the series
	for b.Loop() {
		service, engines := t.cpu(b)
		began := time.Now()
		checkpoints := make([]string, requests)
		var next atomic.Int64
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				for n := next.Add(1) - 1; n < requests; n = next.Add(1) - 1 {
					checkpoints[n] = t.ingest(b, bodies[n])
				}
			})
		}
		group.Wait()
		acknowledged := time.Since(began)
		for _, checkpoint := range checkpoints {
			t.waitVisible(b, checkpoint)
		}
		visible := time.Since(began)
		points := float64(requests * s.size())
		serviceAfter, enginesAfter := t.cpu(b)
		direct := t.direct(b, s, requests)
		b.ReportMetric(points/visible.Seconds(), "points/s")
		b.ReportMetric(direct, "direct-points/s")
		b.ReportMetric(points/visible.Seconds()/direct, "of-direct")
		b.ReportMetric(points/acknowledged.Seconds(), "acked-points/s")
		b.ReportMetric((serviceAfter-service)*1e9/points, "service-cpu-ns/point")
		b.ReportMetric((enginesAfter-engines)*1e9/points, "engines-cpu-ns/point")
	}
}

// BenchmarkFreshness sends 100,000 points a second and measures the time from
// each answer until a query sees its points.
func BenchmarkFreshness(b *testing.B) {
	const perSecond, seconds = 10, 20
	s := shape{series: 100, points: 100}
	t := start(b, 10)
	t.waitVisible(b, t.ingest(b, s.body(t.sources, perSecond*seconds)))
	bodies := make([][]byte, perSecond*seconds)
	for n := range bodies {
		bodies[n] = s.body(t.sources, n)
	}
	for b.Loop() {
		var mu sync.Mutex
		var fresh, answered []time.Duration
		var group sync.WaitGroup
		tick := time.NewTicker(time.Second / perSecond)
		began := time.Now()
		for _, body := range bodies {
			<-tick.C
			group.Go(func() {
				sent := time.Now()
				checkpoint := t.ingest(b, body)
				acknowledged := time.Now()
				t.waitVisible(b, checkpoint)
				mu.Lock()
				defer mu.Unlock()
				answered = append(answered, acknowledged.Sub(sent))
				fresh = append(fresh, time.Since(acknowledged))
			})
		}
		group.Wait()
		tick.Stop()
		require.Len(b, fresh, len(bodies))
		b.ReportMetric(float64(len(bodies)*s.size())/time.Since(began).Seconds(), "points/s")
		b.ReportMetric(float64(percentile(answered, 0.5).Microseconds())/1000, "answer-p50-ms")
		b.ReportMetric(float64(percentile(answered, 0.95).Microseconds())/1000, "answer-p95-ms")
		b.ReportMetric(float64(percentile(fresh, 0.5).Microseconds())/1000, "fresh-p50-ms")
		b.ReportMetric(float64(percentile(fresh, 0.95).Microseconds())/1000, "fresh-p95-ms")
		b.ReportMetric(float64(percentile(fresh, 0.99).Microseconds())/1000, "fresh-p99-ms")
	}
}
