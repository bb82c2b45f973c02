package process

import (
	"time"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/consumers/replay"
	"github.com/livegraph/livegraph/consumers/rollups"
)

const (
	// replayBytesDivisor divides the consumer's limits in bytes for a replay, which runs beside
	// it. The limit of rows stays the same: batches of half the rows create twice the parts,
	// which take a tenth longer to insert and to merge (BenchmarkReplay).
	replayBytesDivisor = 2
	// replayConcurrency is the number of batches that a replay stores at a time while the
	// consumer is not busy.
	replayConcurrency = 2
	// busyPeriod is the time after its last batch during which the consumer counts as busy.
	busyPeriod = 2 * time.Second
)

// addPoints adds the consumer that stores points.
func (b *builder) addPoints() error {
	cfg := b.Config.Points
	b.points = points.New(points.Deps{
		Log: b.Kafka, Points: b.ClickHouse, Registry: b.Postgres, Logger: b.Logger, Metrics: b.Metrics, Tracing: b.Tracing,
		Config: points.Config{
			Group: cfg.Group, BatchRows: cfg.BatchRows, BatchBytes: cfg.BatchBytes, BatchWait: cfg.BatchWait,
			FetchBytes: cfg.FetchBytes, Grace: consumerGrace, Rollups: b.Config.Rollups.Enabled,
		},
	})
	b.add("storage of points", b.ClickHouse.WatchStorage)
	b.add("points", b.points.Run)
	return nil
}

// addReplays adds the component that executes replays beside the points consumer.
func (b *builder) addReplays() error {
	cfg := b.Config.Points
	replays := replay.New(replay.Deps{
		Log: b.Kafka, Jobs: b.Postgres.Jobs, Busy: busyConsumer(b.points.Metrics()), Logger: b.Logger, Metrics: b.Metrics,
		Consumers: map[string]replay.Consumer{
			points.Topic: points.NewReplayer(points.Deps{
				Log: b.Kafka, Points: b.ClickHouse, Registry: b.Postgres, Logger: b.Logger,
			}),
		},
		Config: replay.Config{
			BatchRows: cfg.BatchRows, BatchBytes: max(cfg.BatchBytes/replayBytesDivisor, 1), BatchWait: cfg.BatchWait,
			FetchBytes: max(cfg.FetchBytes/replayBytesDivisor, 1), Grace: consumerGrace, StoreAtOnce: replayConcurrency,
		},
	})
	b.add("replays", replays.Run)
	return nil
}

// busyConsumer returns a function that reports whether a consumer is busy: it has stored
// records within busyPeriod, or it has a lag.
func busyConsumer(m *consumers.Metrics) func() bool {
	records, lastChange := m.Records.Load(), time.Time{}
	return func() bool {
		if current := m.Records.Load(); current != records {
			records, lastChange = current, time.Now()
		}
		return m.Lag.Load() > 0 || time.Since(lastChange) < busyPeriod
	}
}

// addRollups adds the worker that computes rollups.
func (b *builder) addRollups() error {
	worker := rollups.New(rollups.Deps{
		Points: b.ClickHouse, Leases: b.Postgres, Logger: b.Logger, Metrics: b.Metrics,
		Config: rollups.Config{Quiet: b.Config.Rollups.Quiet, Late: b.Config.Rollups.Late},
	})
	b.add("rollups", worker.Run)
	return nil
}
