package process

import (
	"github.com/livegraph/livegraph/api/route"
	hookroutes "github.com/livegraph/livegraph/api/webhooks"
	"github.com/livegraph/livegraph/consumers/webhooks"
	"github.com/livegraph/livegraph/internal/platform/outbound"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

// addWebhooks adds the delivery of events to webhooks, and queues changes of graphs.
func (b *builder) addWebhooks() error {
	b.add("webhooks", webhooks.New(webhooks.Deps{
		Store: b.Postgres, Client: b.outbound().Client, Grace: consumerGrace, Logger: b.Logger, Metrics: b.Metrics,
	}).Run)
	b.add("webhook events", webhooks.NewFollower(webhooks.FollowerDeps{
		Store: b.Postgres, Queue: b.webhookQueue(), Logger: b.Logger,
	}).Run)
	return nil
}

// webhookQueue returns the queue of events for webhooks, which the parts of the process share.
func (b *builder) webhookQueue() *webhooks.Queue {
	if b.hookQueue == nil {
		b.hookQueue = webhooks.NewQueue(b.Postgres, b.Metrics)
	}
	return b.hookQueue
}

// WebhookRoutes creates the routes of webhooks.
func WebhookRoutes(db *pgstores.DB, guard *outbound.Guard) []route.Route {
	return hookroutes.Routes(hookroutes.Deps{Store: db, CheckURL: guard.CheckURL})
}
