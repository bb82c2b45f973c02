package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/control"
)

// BenchmarkSecondStart measures how long a start takes, until the service is
// ready, on a data directory whose log holds 1 GB; the first start on an empty
// directory is beside it (packages installed already).
func BenchmarkSecondStart(b *testing.B) {
	const records, size = 10_000, 100_000
	for b.Loop() {
		began := time.Now()
		t := start(b, 0)
		first := time.Since(began)
		t.fillLog(b, records, size)
		require.Zero(b, t.Stop())
		began = time.Now()
		t.Start()
		b.ReportMetric(time.Since(began).Seconds(), "second-start-s")
		b.ReportMetric(first.Seconds(), "first-start-with-build-s")
	}
}

// fillLog writes records into a topic that nobody reads.
func (t *target) fillLog(b *testing.B, records, size int) {
	b.Helper()
	running, err := control.Read(t.DataDir)
	require.NoError(b, err)
	client, err := kgo.NewClient(kgo.SeedBrokers(running.KafkaBrokers...))
	require.NoError(b, err)
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(b.Context(), 8, 1, nil, "ballast")
	require.NoError(b, err)
	payload := make([]byte, size)
	for range records {
		client.Produce(b.Context(), &kgo.Record{Topic: "ballast", Value: payload}, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	require.NoError(b, client.Flush(b.Context()))
}
