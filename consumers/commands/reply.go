package commands

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/storage/redis"
)

// Limits of queued replies.
const (
	maxQueuedReplies = 16 // groups
	replyTimeout     = 2 * time.Second
)

// replier sends the outcomes of commands to the processes that wait for them. It neither stores
// nor retries replies: a process that misses one reads the outcome from Postgres.
type replier struct {
	redis   *redis.DB
	logger  *slog.Logger
	metrics *metrics
	queue   chan []redis.Reply
	once    sync.Once
}

func newReplier(db *redis.DB, logger *slog.Logger, m *metrics) *replier {
	return &replier{redis: db, logger: logger, metrics: m, queue: make(chan []redis.Reply, maxQueuedReplies)}
}

// send queues replies. If the queue is full, it drops them.
func (r *replier) send(replies []redis.Reply) {
	if len(replies) == 0 {
		return
	}
	select {
	case r.queue <- replies:
	default:
		r.metrics.repliesLost.Add(float64(len(replies)))
	}
}

// run sends queued replies until close.
func (r *replier) run(ctx context.Context) {
	outages := outage.Log{
		Failed: "replies cannot be sent; who waits looks into Postgres", Recovered: "replies are sent again",
	}
	for replies := range r.queue {
		limited, cancel := context.WithTimeout(ctx, replyTimeout)
		err := r.redis.SendReplies(limited, replies)
		cancel()
		if err != nil {
			r.metrics.repliesLost.Add(float64(len(replies)))
		} else {
			r.metrics.replies.Add(float64(len(replies)))
		}
		outages.Note(ctx, r.logger, err)
	}
}

// close makes run return when the queue is empty.
func (r *replier) close() { r.once.Do(func() { close(r.queue) }) }
