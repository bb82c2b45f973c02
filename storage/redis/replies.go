package redis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// How replies are listened for.
const (
	replyChannel = "livegraph:replies:" // and the address
	// MaxReplyBytes is the most that a reply carries; of a larger outcome only the
	// notice is sent. Redis cuts a listener off whose backlog is too large.
	MaxReplyBytes = 64 << 10
)

// Reply is what came of a command, on its way to the process that waits.
type Reply struct {
	To      string    // the address of the process's Replies
	ID      uuid.UUID // of the command or the batch
	Payload []byte    // beyond MaxReplyBytes only the notice is sent
}

// SendReplies publishes replies, in one round trip. Nobody may hear them: anyone who
// waits must also look where outcomes are kept.
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
		pipe.Publish(ctx, replyChannel+r.To, message)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("sending replies through Redis: %w", err)
	}
	return nil
}

// Replies are the replies to one process: it listens on its own channel and
// hands each to the one who waits for that id. What is sent while the connection is
// away is lost; anyone who waits is told when it is back, to look by themselves.
type Replies struct {
	db        *DB
	address   string
	log       *slog.Logger
	connected atomic.Bool

	mu      sync.Mutex
	waiting map[uuid.UUID][]*waiter
}

type waiter struct{ heard chan []byte }

// NewReplies creates the replies to this process. Run listens for them.
func (db *DB) NewReplies(log *slog.Logger) *Replies {
	return &Replies{db: db, address: uuid.NewString(), log: log, waiting: map[uuid.UUID][]*waiter{}}
}

// Address is what senders name in Reply.To.
func (r *Replies) Address() string { return r.address }

// Connected reports whether the process listens at the moment.
func (r *Replies) Connected() bool { return r.connected.Load() }

// Waiting returns how many replies are waited for.
func (r *Replies) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting)
}

// Await begins to wait for the reply to an id. The channel gives the payload, once;
// an empty one means to look where the outcome is kept, without a promise that it
// is there. The caller must end the wait by stop.
func (r *Replies) Await(id uuid.UUID) (heard <-chan []byte, stop func()) {
	w := &waiter{heard: make(chan []byte, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[id] = append(r.waiting[id], w)
	return w.heard, func() { r.forget(id, w) }
}

func (r *Replies) forget(id uuid.UUID, w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.waiting[id][:0:0]
	for _, other := range r.waiting[id] {
		if other != w {
			left = append(left, other)
		}
	}
	if r.waiting[id] = left; len(left) == 0 {
		delete(r.waiting, id)
	}
}

// Run listens until ctx is done, and connects again when the connection is lost.
func (r *Replies) Run(ctx context.Context) error {
	s := subscription{
		db: r.db, channel: replyChannel + r.address, hear: r.hear,
		begun: func() {
			r.connected.Store(true)
			r.wakeAll()
		},
		ended: func() { r.connected.Store(false) },
		lost: func(err error) {
			r.log.Warn(
				"the replies' connection to Redis is lost; outcomes are looked up in Postgres until it is back", "error", err,
			)
		},
	}
	return s.run(ctx)
}

// hear hands a reply to anyone who waits for it.
func (r *Replies) hear(message string) {
	var id uuid.UUID
	if len(message) < len(id) {
		return
	}
	copy(id[:], message)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiting[id] {
		w.tell([]byte(message[len(id):]))
	}
}

// wakeAll tells all who wait to look by themselves: their reply may have been lost.
func (r *Replies) wakeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, waiters := range r.waiting {
		for _, w := range waiters {
			w.tell(nil)
		}
	}
}

// tell never blocks: one who has been told something is awake.
func (w *waiter) tell(payload []byte) {
	select {
	case w.heard <- payload:
	default:
	}
}
