package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// How replies are listened for.
const (
	replyChannel = "livegraph:replies:" // and the address
	// MaxReplyBytes is the most that a reply carries; of a larger outcome only the
	// notice is sent. Redis cuts a listener off whose backlog is too large.
	MaxReplyBytes = 64 << 10
	// quietLimit is how long the connection may be silent until it is asked for a
	// sign of life, and then again until it counts as lost.
	quietLimit = 2 * time.Second
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// Reply is what came of a command, on its way to the process that waits.
type Reply struct {
	To      string    // the address of the process's Replies
	ID      uuid.UUID // of the command or the batch
	Payload []byte    // beyond MaxReplyBytes only the notice is sent
}

// SendReplies publishes replies, in one round trip. Nobody may hear them: whoever
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

// Replies are the replies to one process: it listens on a channel of its own and
// hands each to the one who waits for that id. What is sent while the connection is
// away is lost; whoever waits is told when it is back, to look by themselves.
type Replies struct {
	db        *DB
	address   string
	log       *slog.Logger
	connected atomic.Bool

	mu      sync.Mutex
	waiting map[uuid.UUID][]*waiter
}

type waiter struct{ heard chan []byte }

// NewReplies makes the replies to this process. Run listens for them.
func (db *DB) NewReplies(log *slog.Logger) *Replies {
	return &Replies{db: db, address: uuid.NewString(), log: log, waiting: map[uuid.UUID][]*waiter{}}
}

// Address is what senders name in Reply.To.
func (r *Replies) Address() string { return r.address }

// Connected reports whether the process listens at the moment.
func (r *Replies) Connected() bool { return r.connected.Load() }

// Waiting gives how many replies are waited for.
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
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval, pace.Multiplier = firstRetry, lastRetry, 2
	for {
		heard, err := r.listen(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if heard {
			pace.Reset()
			r.log.Warn("the replies' connection to Redis is lost; outcomes are looked up in Postgres until it is back", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pace.NextBackOff()):
		}
	}
}

// listen uses one connection for as long as it works, and reports whether it did.
func (r *Replies) listen(ctx context.Context) (worked bool, err error) {
	channel := r.db.client.Subscribe(ctx)
	defer func() { _ = channel.Close() }()
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })() // ends a read that waits
	if err := channel.Subscribe(ctx, replyChannel+r.address); err != nil {
		return false, err
	}
	defer r.connected.Store(false)
	for asked := false; ; {
		message, err := channel.ReceiveTimeout(ctx, quietLimit)
		var silent net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &silent) && silent.Timeout() && !asked:
			asked = true
			if err := channel.Ping(ctx); err != nil {
				return worked, err
			}
			continue
		default:
			return worked, err
		}
		switch m := message.(type) {
		case *redis.Subscription:
			worked = true
			r.connected.Store(true)
			r.wakeAll()
		case *redis.Message:
			r.hear(m.Payload)
		}
	}
}

// hear hands a reply to whoever waits for it.
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
