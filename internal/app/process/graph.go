package process

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/api/queries"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/app/stores"

	decisions "github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/consumers/lexical"
)

// openRedis connects to Redis where a role needs it.
func (p *Process) openRedis(ctx context.Context) error {
	if !p.Cfg.Has("api") && !p.Cfg.Has("commands") {
		return nil
	}
	return p.await(ctx, "Redis", func(ctx context.Context) (err error) {
		p.Redis, err = stores.OpenRedis(ctx, p.Cfg)
		return err
	})
}

// GraphRoutes makes the routes of the graph, and who waits for the outcomes of
// commands.
func (p *Process) GraphRoutes(bodies *request.Budget) []route.Route {
	p.Replies = p.Redis.NewReplies(p.Logger)
	p.Waiter = commands.NewWaiter(p.Replies, p.Postgres, p.Logger)
	p.feed = queries.NewFeed(p.Postgres)
	p.feed.Register(p.Metrics)
	return append(
		queries.Routes(queries.Deps{
			Graph: p.Postgres, Journal: p.Postgres, Feed: p.feed, TokenKey: p.Install.CheckpointKey,
			QueryTimeout: p.Cfg.API.QueryTimeout,
		}),
		commands.Routes(commands.Deps{
			Log: p.Kafka, Outcomes: p.Postgres, Fate: p.Postgres, Purges: p.Postgres, Waiter: p.Waiter, Keys: p.Repeats,
			IDKey: p.Install.CheckpointKey, Bodies: bodies, Metrics: p.Metrics,
		})...)
}

// newDecisions makes the consumer that decides commands.
func (p *Process) newDecisions() *decisions.Consumer {
	return decisions.New(decisions.Deps{
		Log: p.Kafka, Graph: p.deciding, Redis: p.Redis, Logger: p.Logger, Metrics: p.Metrics, Tracing: p.tracing,
		Config: decisions.Config{
			Group: p.Cfg.Commands.Group, GroupRecords: p.Cfg.Commands.GroupRecords, FetchBytes: p.Cfg.Commands.FetchBytes,
			Grace:        consumerGrace,
			Transactions: decisions.TransactionsOf(p.Cfg.Commands.Connections),
		},
	})
}

// newLexical makes the consumer that keeps the text lane of search.
func (p *Process) newLexical() *lexical.Consumer {
	return lexical.New(lexical.Deps{
		Log: p.Kafka, Graph: p.Postgres, Logger: p.Logger, Metrics: p.Metrics, Tracing: p.tracing,
		Config: lexical.Config{
			Group: p.Cfg.Lexical.Group, BatchNodes: p.Cfg.Lexical.BatchNodes, BatchWait: p.Cfg.Lexical.BatchWait,
			FetchBytes: p.Cfg.Lexical.FetchBytes, FillEvery: p.Cfg.Lexical.FillEvery, Grace: consumerGrace,
		},
	})
}

// runGraph runs what the graph's routes and consumers need in the background.
func (p *Process) runGraph(ctx context.Context, group *errgroup.Group) {
	if p.decisions != nil {
		group.Go(func() error { return p.decisions.Run(ctx) })
	}
	if p.lexical != nil {
		group.Go(func() error { return p.lexical.Run(ctx) })
	}
	if p.Replies != nil {
		group.Go(func() error { return p.Replies.Run(ctx) })
		group.Go(func() error { return p.Waiter.Run(ctx) })
		group.Go(func() error { return p.Repeats.Run(ctx) })
		group.Go(func() error { return p.feed.Run(ctx) })
	}
}
