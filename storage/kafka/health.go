package kafka

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// How the brokers are watched.
const (
	pingInterval    = 250 * time.Millisecond
	pingDialTimeout = 500 * time.Millisecond
	pingTimeout     = 2 * time.Second
	// silence is how long nothing may answer before the brokers count as away.
	silence = time.Second
)

// health is what is known of the brokers: whether any of them has answered of
// late, a ping or a produce.
type health struct {
	heard atomic.Int64 // last answer, nanoseconds since the Unix epoch
	down  atomic.Bool

	mu   sync.Mutex
	away chan struct{} // closed while the brokers are unavailable
}

// init begins in good faith: the first ping decides within a second.
func (h *health) init() {
	h.heard.Store(time.Now().UnixNano())
	h.away = make(chan struct{})
}

// alive notes an answer from a broker.
func (h *health) alive() { h.heard.Store(time.Now().UnixNano()) }

// quietFor returns how long no broker has answered.
func (h *health) quietFor() time.Duration { return time.Since(time.Unix(0, h.heard.Load())) }

// set notes whether the brokers are unavailable and reports whether that is news.
func (h *health) set(down bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down.Load() == down {
		return false
	}
	if down {
		close(h.away)
	} else {
		h.away = make(chan struct{})
	}
	h.down.Store(down)
	return true
}

// gone returns a channel that is closed while the brokers are unavailable.
func (h *health) gone() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.away
}

// Healthy reports whether a broker has answered of late. While it is false
// ProducePoints refuses at once.
func (c *Client) Healthy() bool { return !c.health.down.Load() }

// watchBrokers pings until the client is closed. A ping that cannot connect marks
// the brokers away at once, one that hangs after a second of silence.
func (c *Client) watchBrokers() {
	answers := make(chan error, 1)
	pinging := false
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			if pinging {
				c.log.Debug("watching ends", "error", <-answers)
			}
			return
		case err := <-answers:
			pinging = false
			switch {
			case err == nil:
				c.health.alive()
				c.mark(false, nil)
			case !errors.Is(err, context.DeadlineExceeded):
				c.mark(true, err)
			}
		case <-tick.C:
			if !pinging {
				pinging = true
				go func() { answers <- c.ping() }()
			}
			if c.health.quietFor() > silence {
				c.mark(true, errors.New("no broker answers"))
			}
		}
	}
}

// ping asks any broker for an answer. It asks twice, because the first failure may
// only mean that an idle connection had ended.
func (c *Client) ping() error {
	ctx, cancel := context.WithTimeout(c.ctx, pingTimeout)
	defer cancel()
	if err := c.adminKgo.Ping(ctx); err == nil || ctx.Err() != nil {
		return err
	}
	return c.adminKgo.Ping(ctx)
}

// Ping asks any broker for an answer.
func (c *Client) Ping(ctx context.Context) error { return c.adminKgo.Ping(ctx) }

// mark notes and logs a change between there and away.
func (c *Client) mark(down bool, why error) {
	if c.ctx.Err() != nil || !c.health.set(down) {
		return
	}
	if down {
		c.log.Error("Kafka is away; produces are refused until it is back", "error", why, "advice", Advice(why))
	} else {
		c.log.Info("Kafka is back")
	}
}
