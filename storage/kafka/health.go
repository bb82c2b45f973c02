package kafka

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Settings of the monitoring of the brokers.
const (
	pingInterval    = 250 * time.Millisecond
	pingDialTimeout = 500 * time.Millisecond
	pingTimeout     = 2 * time.Second
	// maxSilence is the time without a response after which the brokers are unavailable.
	maxSilence = time.Second
)

// health records whether any broker has recently responded to a ping or a produce.
type health struct {
	lastResponse atomic.Int64 // time of the last response, nanoseconds since the Unix epoch
	down         atomic.Bool

	mu          sync.Mutex
	unavailable chan struct{} // closed while the brokers are unavailable
}

// init assumes that the brokers are available. The first ping corrects this within a second.
func (h *health) init() {
	h.lastResponse.Store(time.Now().UnixNano())
	h.unavailable = make(chan struct{})
}

// recordResponse records a response from a broker.
func (h *health) recordResponse() { h.lastResponse.Store(time.Now().UnixNano()) }

// sinceResponse returns the time since the last response.
func (h *health) sinceResponse() time.Duration {
	return time.Since(time.Unix(0, h.lastResponse.Load()))
}

// set records whether the brokers are unavailable and reports whether that changed.
func (h *health) set(down bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down.Load() == down {
		return false
	}
	if down {
		close(h.unavailable)
	} else {
		h.unavailable = make(chan struct{})
	}
	h.down.Store(down)
	return true
}

// whenDown returns a channel that is closed while the brokers are unavailable.
func (h *health) whenDown() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unavailable
}

// Healthy reports whether a broker has recently responded. While it returns false, ProducePoints
// fails at once.
func (c *Client) Healthy() bool { return !c.health.down.Load() }

// watchBrokers pings the brokers until the client is closed. They become unavailable at once if a
// ping cannot connect, and after maxSilence if it hangs.
func (c *Client) watchBrokers() {
	results := make(chan error, 1)
	pinging := false
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			if pinging {
				c.log.Debug("monitoring ends", "error", <-results)
			}
			return
		case err := <-results:
			pinging = false
			switch {
			case err == nil:
				c.health.recordResponse()
				c.setDown(false, nil)
			case !errors.Is(err, context.DeadlineExceeded):
				c.setDown(true, err)
			}
		case <-tick.C:
			if !pinging {
				pinging = true
				go func() { results <- c.ping() }()
			}
			if c.health.sinceResponse() > maxSilence {
				c.setDown(true, errors.New("no broker answers"))
			}
		}
	}
}

// ping sends a request to any broker. It retries once, because the first failure may only mean that
// an idle connection was closed.
func (c *Client) ping() error {
	ctx, cancel := context.WithTimeout(c.ctx, pingTimeout)
	defer cancel()
	if err := c.adminKgo.Ping(ctx); err == nil || ctx.Err() != nil {
		return err
	}
	return c.adminKgo.Ping(ctx)
}

// Ping sends a request to any broker and returns an error if none responds.
func (c *Client) Ping(ctx context.Context) error { return c.adminKgo.Ping(ctx) }

// setDown records whether the brokers are unavailable and logs changes.
func (c *Client) setDown(down bool, cause error) {
	if c.ctx.Err() != nil || !c.health.set(down) {
		return
	}
	if down {
		c.log.Error("Kafka is unavailable; produces are refused until it is available again",
			"error", cause, "advice", Advice(cause))
	} else {
		c.log.Info("Kafka is available again")
	}
}
