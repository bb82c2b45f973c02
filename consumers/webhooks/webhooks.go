// Package webhooks delivers events to the addresses that workspaces choose. Events are alerts and changes of graphs.
//
// Each event is queued in Postgres for each webhook that selects it, see storage/postgres/hooks. The id of an event
// follows from what happened, so an event that is queued again is queued once. A [Runner] sends what is due, as the
// specification of Standard Webhooks says: a delivery is repeated until the receiver accepts it, with the same id, by
// which the receiver recognizes repetitions.
package webhooks

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// QueueStore queues events; see storage/postgres/hooks.
type QueueStore interface {
	Enqueue(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, events []hooks.Event) (hooks.Queued, error)
}

// Queue queues events, and counts them.
type Queue struct {
	store   QueueStore
	metrics *queueMetrics
}

// NewQueue creates a Queue. registerer may be nil.
func NewQueue(store QueueStore, registerer prometheus.Registerer) *Queue {
	return &Queue{store, newQueueMetrics(registerer)}
}

// enqueue queues events of a workspace in a transaction.
func (q *Queue) enqueue(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, events []hooks.Event) error {
	queued, err := q.store.Enqueue(ctx, tx, workspace, events)
	if err != nil {
		return fmt.Errorf("queueing events for webhooks: %w", err)
	}
	q.count(queued)
	return nil
}

func (q *Queue) count(queued hooks.Queued) {
	q.metrics.queued.Add(float64(queued.Deliveries))
	q.metrics.dropped.Add(float64(queued.Dropped))
}
