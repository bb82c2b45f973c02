package redis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// Settings of replies.
const (
	replyChannel = "livegraph:replies:" // prefix of the channel name; the address follows
	// MaxReplyBytes is the maximum size of a payload. A reply with a larger one is sent without
	// payload. Redis disconnects subscribers whose backlog is too large.
	MaxReplyBytes = 64 << 10
)

// Reply is the result of a command, which is sent to the process that waits for it.
type Reply struct {
	To      string    // address of the process's Replies
	ID      uuid.UUID // id of the command or batch
	Payload []byte    // omitted if larger than MaxReplyBytes
}

// SendReplies publishes replies in one round trip. Delivery is not guaranteed: waiting processes must
// also query the stored results.
func (db *DB) SendReplies(ctx context.Context, replies []Reply) error {
	if len(replies) == 0 {
		return nil
	}
	pipe := db.client.Pipeline()
	for _, r := range replies {
		message := make([]byte, 0, len(r.ID)+min(len(r.Payload), MaxReplyBytes))
		message = append(message, r.ID[:]...)
		if len(r.Payload) <= MaxReplyBytes {
			message = append(message, r.Payload...)
		}
		db.publish(ctx, pipe, replyChannel+r.To, message)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("sending replies through Redis: %w", err)
	}
	return nil
}

// Replies receives the replies for one process on its own channel and passes each to the waiters for
// its id. Replies that are sent while the connection is down are lost. After reconnecting, Replies
// notifies all waiters, so that they query the stored results.
type Replies struct {
	db        *DB
	address   string
	log       *slog.Logger
	connected atomic.Bool

	mu      sync.Mutex
	waiting map[uuid.UUID][]*waiter
}

type waiter struct{ payloads chan []byte }

// NewReplies creates the Replies of this process. Run receives them.
func (db *DB) NewReplies(log *slog.Logger) *Replies {
	return &Replies{db: db, address: uuid.NewString(), log: log, waiting: map[uuid.UUID][]*waiter{}}
}

// Address returns the address for Reply.To.
func (r *Replies) Address() string { return r.address }

// Connected reports whether the process is currently subscribed.
func (r *Replies) Connected() bool { return r.connected.Load() }

// Waiting returns the number of ids that have waiters.
func (r *Replies) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting)
}

// Await starts waiting for the reply with an id. The channel receives its payload. After an empty
// payload the caller must query the stored result, which may not exist yet. The caller must call
// stop to end the wait.
func (r *Replies) Await(id uuid.UUID) (payloads <-chan []byte, stop func()) {
	w := &waiter{payloads: make(chan []byte, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[id] = append(r.waiting[id], w)
	return w.payloads, func() { r.removeWaiter(id, w) }
}

// removeWaiter removes a waiter for an id.
func (r *Replies) removeWaiter(id uuid.UUID, w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	remaining := r.waiting[id][:0:0]
	for _, other := range r.waiting[id] {
		if other != w {
			remaining = append(remaining, other)
		}
	}
	if r.waiting[id] = remaining; len(remaining) == 0 {
		delete(r.waiting, id)
	}
}

// Run receives replies until ctx is done. It reconnects when the connection is lost.
func (r *Replies) Run(ctx context.Context) error {
	s := subscription{
		db: r.db, channel: replyChannel + r.address, onMessage: r.deliver,
		onSubscribed: func() {
			r.connected.Store(true)
			r.wakeAll()
		},
		onUnsubscribed: func() { r.connected.Store(false) },
		onLost: func(err error) {
			r.log.Warn(
				"the replies' connection to Redis is lost; results are read from Postgres until it works again", "error", err,
			)
		},
	}
	return s.run(ctx)
}

// deliver passes a reply to the waiters for its id.
func (r *Replies) deliver(message string) {
	var id uuid.UUID
	if len(message) < len(id) {
		return
	}
	copy(id[:], message)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiting[id] {
		w.notify([]byte(message[len(id):]))
	}
}

// wakeAll notifies all waiters with an empty payload: their reply may have been lost.
func (r *Replies) wakeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, waiters := range r.waiting {
		for _, w := range waiters {
			w.notify(nil)
		}
	}
}

// notify sends a payload unless an earlier one has not been received. It never blocks.
func (w *waiter) notify(payload []byte) {
	select {
	case w.payloads <- payload:
	default:
	}
}
