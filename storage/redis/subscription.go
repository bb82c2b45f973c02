package redis

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/livegraph/livegraph/internal/platform/retry"
)

// How channels are listened to.
const (
	// quietLimit is how long the connection may be silent until it is asked for a
	// sign of life, and then again until it counts as lost.
	quietLimit = 2 * time.Second
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// subscription listens on a channel. Its functions are called in one goroutine.
type subscription struct {
	db      *DB
	channel string
	begun   func()               // it listens, from now on
	hear    func(message string) // what was sent
	ended   func()               // it does not listen any more
	lost    func(err error)      // the connection, after it worked
}

// run listens until ctx is done, and connects again when the connection is lost.
func (s *subscription) run(ctx context.Context) error {
	pace := retry.New(firstRetry, lastRetry)
	for {
		worked, err := s.listen(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if worked {
			pace.Reset()
			s.lost(err)
		}
		if !pace.Wait(ctx) {
			return ctx.Err()
		}
	}
}

// listen uses one connection for as long as it works, and reports whether it did.
func (s *subscription) listen(ctx context.Context) (worked bool, err error) {
	channel := s.db.client.Subscribe(ctx)
	defer func() { _ = channel.Close() }()
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })() // ends a read that waits
	if err := channel.Subscribe(ctx, s.channel); err != nil {
		return false, err
	}
	defer s.ended()
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
			s.begun()
		case *redis.Message:
			s.hear(m.Payload)
		}
	}
}
