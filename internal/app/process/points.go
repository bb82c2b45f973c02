package process

import (
	"time"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/consumers/replay"
	"github.com/livegraph/livegraph/consumers/rollups"
)

const (
	// replayShare divides what the consumer may hold in bytes, for a replay beside it. Rows
	// it may have as many: halves of a batch make twice the parts, which take a tenth longer
	// to insert and to merge (BenchmarkReplay).
	replayShare = 2
	// replayAtOnce is how many of its batches are stored at a time while there is no live work.
	replayAtOnce = 2
	// liveFor is how long after its last batch the consumer counts as busy.
	liveFor = 2 * time.Second
)

// addPoints adds the consumer that stores points.
func (b *builder) addPoints() error {
	cfg := b.Config.Points
	b.points = points.New(points.Deps{
		Log: b.Kafka, Points: b.ClickHouse, Registry: b.Postgres, Logger: b.Logger, Metrics: b.Metrics, Tracing: b.Tracing,
		Config: points.Config{
			Group: cfg.Group, BatchRows: cfg.BatchRows, BatchBytes: cfg.BatchBytes, BatchWait: cfg.BatchWait,
			FetchBytes: cfg.FetchBytes, Grace: consumerGrace,
		},
	})
	b.add("storage of points", b.ClickHouse.WatchStorage)
	b.add("points", b.points.Run)
	return nil
}

// addReplays adds what carries replays out beside the points consumer.
func (b *builder) addReplays() error {
	cfg := b.Config.Points
	replays := replay.New(replay.Deps{
		Log: b.Kafka, Jobs: b.Postgres, Busy: busyConsumer(b.points.Metrics()), Logger: b.Logger, Metrics: b.Metrics,
		Consumers: map[string]replay.Consumer{
			points.Topic: points.NewReplayer(points.Deps{
				Log: b.Kafka, Points: b.ClickHouse, Registry: b.Postgres, Logger: b.Logger,
			}),
		},
		Config: replay.Config{
			BatchRows: cfg.BatchRows, BatchBytes: max(cfg.BatchBytes/replayShare, 1), BatchWait: cfg.BatchWait,
			FetchBytes: max(cfg.FetchBytes/replayShare, 1), Grace: consumerGrace, StoreAtOnce: replayAtOnce,
		},
	})
	b.add("replays", replays.Run)
	return nil
}

// busyConsumer returns what reports whether a consumer has work: whether it has stored
// something of late, or has something to fetch.
func busyConsumer(m *consumers.Metrics) func() bool {
	records, last := m.Records.Load(), time.Time{}
	return func() bool {
		if now := m.Records.Load(); now != records {
			records, last = now, time.Now()
		}
		return m.Lag.Load() > 0 || time.Since(last) < liveFor
	}
}

// addRollups adds the worker of rollups.
func (b *builder) addRollups() error {
	worker := rollups.New(rollups.Deps{
		Points: b.ClickHouse, Leases: b.Postgres, Logger: b.Logger, Metrics: b.Metrics,
		Config: rollups.Config{Quiet: b.Config.Rollups.Quiet, Late: b.Config.Rollups.Late},
	})
	b.add("rollups", worker.Run)
	return nil
}
