package bench

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkScrape measures scrapes of /metrics while 100,000 points a second come
// in and a query a second is answered, each with the connection that Prometheus
// keeps.
func BenchmarkScrape(b *testing.B) {
	const perSecond, scrapes = 10, 20
	s := shape{series: 100, points: 100}
	t := start(b, 10)
	t.waitVisible(b, t.ingest(b, s.body(t.sources, scrapes*perSecond)))
	client := http.Client{Timeout: 30 * time.Second}
	for b.Loop() {
		stop := make(chan struct{})
		var load sync.WaitGroup
		load.Go(func() {
			tick := time.NewTicker(time.Second / perSecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				checkpoint := t.ingest(b, s.body(t.sources, n))
				if n%perSecond == 0 {
					t.waitVisible(b, checkpoint)
				}
			}
		})
		var took []time.Duration
		var size int64
		for range scrapes {
			time.Sleep(500 * time.Millisecond)
			began := time.Now()
			response, err := client.Get("http://" + t.Metrics + "/metrics")
			require.NoError(b, err)
			size, err = io.Copy(io.Discard, response.Body)
			require.NoError(b, err)
			require.NoError(b, response.Body.Close())
			require.Equal(b, http.StatusOK, response.StatusCode)
			took = append(took, time.Since(began))
		}
		close(stop)
		load.Wait()
		b.ReportMetric(float64(percentile(took, 0.5).Microseconds())/1000, "scrape-p50-ms")
		b.ReportMetric(float64(percentile(took, 1).Microseconds())/1000, "scrape-max-ms")
		b.ReportMetric(float64(size), "scrape-bytes")
	}
}
