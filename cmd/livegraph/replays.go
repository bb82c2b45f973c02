package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/consumers/replay"
	"github.com/livegraph/livegraph/internal/operate"
)

// replayShare divides what the consumer may hold, for a replay beside it.
const replayShare = 2

// newReplays makes what carries replays out beside the points consumer.
func (p *process) newReplays() *replay.Runner {
	cfg := p.cfg.Points
	return replay.New(replay.Deps{
		Log: p.kafka, Jobs: p.postgres, Busy: p.behind, Logger: p.logger, Metrics: p.metrics,
		Consumers: map[string]replay.Consumer{
			points.Topic: points.NewReplayer(points.Deps{Log: p.kafka, Points: p.clickhouse, Registry: p.postgres, Logger: p.logger}),
		},
		Config: replay.Config{
			BatchRows: max(cfg.BatchRows/replayShare, 1), BatchBytes: max(cfg.BatchBytes/replayShare, 1), BatchWait: cfg.BatchWait,
			FetchBytes: max(cfg.FetchBytes/replayShare, 1), Grace: consumerGrace,
		},
	})
}

// behind says that the points consumer of this process has more to do than it does:
// the last fetch left records in the log.
func (p *process) behind() bool { return p.points.Metrics().Lag.Load() > 0 }

// runOperations runs what operators' work needs beside the roles.
func (p *process) runOperations(ctx context.Context, group *errgroup.Group) {
	if p.replays != nil {
		group.Go(func() error { return p.replays.Run(ctx) })
	}
	if p.letters != nil {
		group.Go(func() error { return p.letters.Run(ctx) })
	}
}

func (p *process) newLetterWatch() *operate.Watch {
	return operate.NewWatch(operate.New(p.kafka, p.postgres), p.logger, p.metrics)
}
