package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/api/queries"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	decisions "github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/consumers/lexical"
)

// openRedis connects to Redis where a role needs it.
func (p *process) openRedis(ctx context.Context) error {
	if !p.cfg.Has("api") && !p.cfg.Has("commands") {
		return nil
	}
	return p.await(ctx, "Redis", func(ctx context.Context) (err error) {
		p.redis, err = dialRedis(ctx, p.cfg)
		return err
	})
}

// graphRoutes makes the routes of the graph, and who waits for the outcomes of
// commands.
func (p *process) graphRoutes(bodies *request.Budget) []route.Route {
	p.replies = p.redis.NewReplies(p.logger)
	p.waiter = commands.NewWaiter(p.replies, p.postgres, p.logger)
	p.feed = queries.NewFeed(p.postgres)
	p.feed.Register(p.metrics)
	return append(
		queries.Routes(queries.Deps{
			Graph: p.postgres, Journal: p.postgres, Feed: p.feed, TokenKey: p.install.CheckpointKey,
			QueryTimeout: p.cfg.API.QueryTimeout,
		}),
		commands.Routes(commands.Deps{
			Log: p.kafka, Outcomes: p.postgres, Fate: p.postgres, Purges: p.postgres, Waiter: p.waiter, Keys: p.repeats,
			IDKey: p.install.CheckpointKey, Bodies: bodies, Metrics: p.metrics,
		})...)
}

// newDecisions makes the consumer that decides commands.
func (p *process) newDecisions() *decisions.Consumer {
	return decisions.New(decisions.Deps{
		Log: p.kafka, Graph: p.deciding, Redis: p.redis, Logger: p.logger, Metrics: p.metrics, Tracing: p.tracing,
		Config: decisions.Config{
			Group: p.cfg.Commands.Group, GroupRecords: p.cfg.Commands.GroupRecords, FetchBytes: p.cfg.Commands.FetchBytes,
			Grace:        consumerGrace,
			Transactions: decisions.TransactionsOf(p.cfg.Commands.Connections),
		},
	})
}

// newLexical makes the consumer that keeps the text lane of search.
func (p *process) newLexical() *lexical.Consumer {
	return lexical.New(lexical.Deps{
		Log: p.kafka, Graph: p.postgres, Logger: p.logger, Metrics: p.metrics, Tracing: p.tracing,
		Config: lexical.Config{
			Group: p.cfg.Lexical.Group, BatchNodes: p.cfg.Lexical.BatchNodes, BatchWait: p.cfg.Lexical.BatchWait,
			FetchBytes: p.cfg.Lexical.FetchBytes, FillEvery: p.cfg.Lexical.FillEvery, Grace: consumerGrace,
		},
	})
}

// runGraph runs what the graph's routes and consumers need in the background.
func (p *process) runGraph(ctx context.Context, group *errgroup.Group) {
	if p.decisions != nil {
		group.Go(func() error { return p.decisions.Run(ctx) })
	}
	if p.lexical != nil {
		group.Go(func() error { return p.lexical.Run(ctx) })
	}
	if p.replies != nil {
		group.Go(func() error { return p.replies.Run(ctx) })
		group.Go(func() error { return p.waiter.Run(ctx) })
		group.Go(func() error { return p.repeats.Run(ctx) })
		group.Go(func() error { return p.feed.Run(ctx) })
	}
}
