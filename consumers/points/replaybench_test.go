package points_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/replay"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// BenchmarkReplay replays the 10 M points of BenchmarkConsume with the limits of a replay
// that runs beside a consumer: half of the consumer's bytes. Compare with BenchmarkConsume,
// which stores them for the first time.
func BenchmarkReplay(b *testing.B) {
	const requests, series, each = 100, 1000, 100
	if b.N > 1 {
		b.Skip("one iteration is enough: -benchtime 1x")
	}
	w := newFixture(b, kafkatest.NewKFake(b))
	w.config.BatchWait = 150 * time.Millisecond
	w.produceRequests(requests, series, each)
	w.consume()
	w.waitConsumedWithin(5 * time.Minute)
	w.runReplays(func(d *replay.Deps) {
		d.Config = replay.Config{
			BatchRows: 1_000_000, BatchBytes: 8 << 20, BatchWait: 150 * time.Millisecond, FetchBytes: 1 << 20, StoreAtOnce: 2,
		}
	})
	before := record.CPU(b)
	b.ResetTimer()
	id := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true}).ID
	deadline := time.Now().Add(5 * time.Minute)
	job := pipelineadmin.Replay{}
	for !job.State.Final() && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		var err error
		job, err = w.admin().Replay(b.Context(), id)
		require.NoError(b, err)
	}
	b.StopTimer()
	require.Equal(b, jobs.ReplayDone, job.State)
	const points = requests * series * each
	took := job.FinishedAt.Sub(*job.StartedAt) // without the second in which it is queued
	b.ReportMetric(float64(took.Nanoseconds())/points, "ns/point")
	b.ReportMetric(float64(record.CPU(b)-before)/points, "cpu-ns/point")
}
