package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// BenchmarkProducePoints measures the latency of ProducePoints for several linger times and record
// sizes, with 1 and with 16 concurrent callers that each produce one record at a time.
func BenchmarkProducePoints(b *testing.B) {
	for _, size := range []int{1 << 10, 100 << 10} {
		for _, linger := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
			for _, callers := range []int{1, 16} {
				b.Run(fmt.Sprintf("bytes=%d/callers=%d/linger=%s", size, callers, linger), func(b *testing.B) {
					benchmarkProduce(b, size, callers, linger)
				})
			}
		}
	}
}

func benchmarkProduce(b *testing.B, size, callers int, linger time.Duration) {
	b.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(b.TempDir()))
	require.NoError(b, err)
	defer broker.Close()
	c, err := Open(context.Background(), Options{
		Brokers: broker.ListenAddrs(), BufferedBytes: 64 << 20, linger: linger, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	defer c.Close()
	require.NoError(b, c.EnsureTopics(context.Background(), TopicSettings{
		Partitions: 8, Replication: -1, RetentionBytes: 1 << 30,
	}))
	value := make([]byte, size)
	waits := make([][]time.Duration, callers)
	var work sync.WaitGroup
	b.SetBytes(int64(size))
	b.ResetTimer()
	for caller := range callers {
		work.Go(func() {
			for i := caller; i < b.N; i += callers {
				began := time.Now()
				_, err := c.ProducePoints(context.Background(), "req", []pointblock.Message{
					{Partition: int32(i % 8), Value: value},
				})
				if err != nil {
					b.Error(err)
					return
				}
				waits[caller] = append(waits[caller], time.Since(began))
			}
		})
	}
	work.Wait()
	b.StopTimer()
	all := slices.Concat(waits...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}
