package process

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/consumers/replay"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
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

// newReplays makes what carries replays out beside the points consumer.
func (p *Process) newReplays() *replay.Runner {
	cfg := p.Cfg.Points
	return replay.New(replay.Deps{
		Log: p.Kafka, Jobs: p.Postgres, Busy: busyConsumer(p.points.Metrics()), Logger: p.Logger, Metrics: p.Metrics,
		Consumers: map[string]replay.Consumer{
			points.Topic: points.NewReplayer(points.Deps{
				Log: p.Kafka, Points: p.Clickhouse, Registry: p.Postgres, Logger: p.Logger,
			}),
		},
		Config: replay.Config{
			BatchRows: cfg.BatchRows, BatchBytes: max(cfg.BatchBytes/replayShare, 1), BatchWait: cfg.BatchWait,
			FetchBytes: max(cfg.FetchBytes/replayShare, 1), Grace: consumerGrace, StoreAtOnce: replayAtOnce,
		},
	})
}

// busyConsumer returns what says that a consumer has work: that it has stored something
// of late, or has something to fetch.
func busyConsumer(m *consumers.Metrics) func() bool {
	records, last := m.Records.Load(), time.Time{}
	return func() bool {
		if now := m.Records.Load(); now != records {
			records, last = now, time.Now()
		}
		return m.Lag.Load() > 0 || time.Since(last) < liveFor
	}
}

// runOperations runs what operators' work needs beside the roles.
func (p *Process) runOperations(ctx context.Context, group *errgroup.Group) {
	if p.replays != nil {
		group.Go(func() error { return p.replays.Run(ctx) })
	}
	if p.letters != nil {
		group.Go(func() error { return p.letters.Run(ctx) })
	}
}

func (p *Process) newLetterWatch() *pipelineadmin.Watch {
	return pipelineadmin.NewWatch(pipelineadmin.New(p.Kafka, p.Postgres), p.Logger, p.Metrics)
}
