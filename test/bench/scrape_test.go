package bench

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
)

// BenchmarkScrape measures scrapes of /metrics on one keep-alive connection, as Prometheus does, under
// a load of 100,000 points/s and queries that wait for them.
func BenchmarkScrape(b *testing.B) {
	const rate, scrapes = 100_000, 20
	r := record.New(b)
	t := start(b)
	r.Engines(t.engines())
	fleet := t.fleet("bench", load.Size{Sources: 10, Series: 100})
	loading, stop := context.WithCancel(b.Context())
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := fleet.Run(loading, load.Plan{
			Points: 600 * rate, Batch: rate / 10, Callers: 8, Rate: rate, Started: func() { close(started) },
		})
		ended <- err
	}()
	<-started
	r.Logf("%d scrapes", scrapes)
	client := http.Client{Timeout: 30 * time.Second}
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
		r.Add("took", "ms", time.Since(began).Seconds()*1000)
	}
	stop()
	require.NoError(b, <-ended)
	r.Add("size", "kB", float64(size)/1000)
	r.Save()
}
