package redis

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/livegraph/livegraph/internal/platform/retry"
)

// Settings of subscriptions.
const (
	// pingInterval is the time without messages after which the connection is pinged, and then
	// the time without a response after which it counts as lost.
	pingInterval  = 2 * time.Second
	minRetryDelay = 50 * time.Millisecond
	maxRetryDelay = 2 * time.Second
)

// errChannelMoved reports that another server of a Cluster has the channel.
var errChannelMoved = errors.New("the channel has moved to another server of the Cluster")

// publisher publishes messages: a client or a pipeline.
type publisher interface {
	Publish(ctx context.Context, channel string, message any) *redis.IntCmd
	SPublish(ctx context.Context, channel string, message any) *redis.IntCmd
}

// publish publishes a message for subscriptions. In a Cluster it uses sharded channels: messages of
// other channels are sent to all servers.
func (db *DB) publish(ctx context.Context, to publisher, channel string, message []byte) *redis.IntCmd {
	if db.cluster != nil {
		return to.SPublish(ctx, channel, message)
	}
	return to.Publish(ctx, channel, message)
}

// subscription receives the messages of a channel. Its functions are called by one goroutine.
type subscription struct {
	db             *DB
	channel        string
	onSubscribed   func()               // called when subscribed
	onMessage      func(message string) // called for each message
	onUnsubscribed func()               // called when no longer subscribed
	onLost         func(err error)      // called when a working connection is lost
}

// run receives messages until ctx is done. It reconnects when the connection is lost.
func (s *subscription) run(ctx context.Context) error {
	delays := retry.New(minRetryDelay, maxRetryDelay)
	for {
		subscribed, err := s.listen(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.db.reload(ctx) // the server of the channel may be another now
		if subscribed {
			delays.Reset()
			s.onLost(err)
		}
		if !delays.Wait(ctx) {
			return ctx.Err()
		}
	}
}

// listen receives messages on one connection until it fails, and reports whether it was subscribed.
func (s *subscription) listen(ctx context.Context) (subscribed bool, err error) {
	channel := s.db.client.Subscribe(ctx)
	defer func() { _ = channel.Close() }()
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })() // unblocks a pending read
	subscribe := channel.Subscribe
	if s.db.cluster != nil {
		subscribe = channel.SSubscribe
	}
	if err := subscribe(ctx, s.channel); err != nil {
		return false, err
	}
	defer s.onUnsubscribed()
	for pinged := false; ; {
		message, err := channel.ReceiveTimeout(ctx, pingInterval)
		var netErr net.Error
		switch {
		case err == nil:
			pinged = false
		case errors.As(err, &netErr) && netErr.Timeout() && !pinged:
			pinged = true
			if err := channel.Ping(ctx); err != nil {
				return subscribed, err
			}
			continue
		default:
			return subscribed, err
		}
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "sunsubscribe" { // another server of the Cluster has the channel now
				return subscribed, errChannelMoved
			}
			subscribed = true
			s.onSubscribed()
		case *redis.Message:
			s.onMessage(m.Payload)
		}
	}
}
