package kafka

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/storage/kafka/secure"
)

// Settings of the monitoring of the brokers.
const (
	pingInterval    = 250 * time.Millisecond
	pingDialTimeout = 500 * time.Millisecond
	pingTimeout     = 2 * time.Second
	// pingWait is the time for the first response to a ping, after which all brokers are asked.
	pingWait = 300 * time.Millisecond
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

func (c *Client) ping() error {
	ctx, cancel := context.WithTimeout(c.ctx, pingTimeout)
	defer cancel()
	return c.Ping(ctx)
}

// Ping sends a request to the brokers in order, until one responds, and returns an error if none does.
// If this takes long, it asks all brokers at once: one that hangs does not make the others unavailable.
// It does not wait for that broker: franz-go returns from a request in flight only after its timeout.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	inOrder := make(chan error, 1)
	c.tasks.Go(func() { inOrder <- c.pingInOrder(ctx) })
	select {
	case err := <-inOrder:
		return err
	case <-time.After(pingWait):
	}
	brokers := append(c.adminKgo.DiscoveredBrokers(), c.adminKgo.SeedBrokers()...)
	each := make(chan error, len(brokers))
	for _, broker := range brokers {
		c.tasks.Go(func() {
			_, err := broker.Request(ctx, kmsg.NewPtrApiVersionsRequest())
			each <- err
		})
	}
	for range brokers {
		select {
		case err := <-inOrder:
			return err
		case err := <-each:
			if err == nil {
				return nil
			}
		}
	}
	return <-inOrder
}

// pingInOrder retries once, because the first failure may only mean that an idle connection was closed.
func (c *Client) pingInOrder(ctx context.Context) error {
	if err := c.adminKgo.Ping(ctx); err == nil || ctx.Err() != nil {
		return err
	}
	return c.adminKgo.Ping(ctx)
}

// setDown records whether the brokers are unavailable and logs changes.
func (c *Client) setDown(down bool, cause error) {
	if c.ctx.Err() != nil || !c.health.set(down) {
		return
	}
	if down {
		c.log.Error("Kafka is unavailable; produces are refused until it is available again",
			"error", cause, "advice", secure.Advice(cause))
	} else {
		c.log.Info("Kafka is available again")
	}
}
