package auth

import (
	"context"
	"errors"
	"net/netip"
	"sync"
)

const (
	// maxStrangers of the look-ups at a time are of keys that are not remembered. The
	// others are for those that are, and have changed, or are to be confirmed.
	maxStrangers = 4
	// maxWaiting look-ups of one address's unknown keys wait; further ones are refused.
	maxWaiting = 16
)

var errCrowded = errors.New("too many keys that are not remembered come from this address")

// callers look keys up that are not remembered, each address one at a time: who sends
// keys that were made up keeps nobody else from having theirs looked up.
type callers struct {
	mu    sync.Mutex
	at    map[netip.Addr]*caller
	slots chan struct{}
}

type caller struct {
	turn    chan struct{} // has an element while one is looked up
	present int
}

func newCallers() *callers {
	return &callers{at: map[netip.Addr]*caller{}, slots: make(chan struct{}, maxStrangers)}
}

// enter waits for the caller's turn. Who entered leaves.
func (c *callers) enter(ctx context.Context, from netip.Addr) (leave func(), err error) {
	own, ok := c.join(from)
	if !ok {
		return nil, errCrowded
	}
	select {
	case own.turn <- struct{}{}:
	case <-ctx.Done():
		c.part(from, own)
		return nil, ctx.Err()
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		<-own.turn
		c.part(from, own)
		return nil, ctx.Err()
	}
	return func() {
		<-c.slots
		<-own.turn
		c.part(from, own)
	}, nil
}

func (c *callers) join(from netip.Addr) (own *caller, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own = c.at[from]
	if own == nil {
		own = &caller{turn: make(chan struct{}, 1)}
		c.at[from] = own
	}
	if own.present >= maxWaiting {
		return nil, false
	}
	own.present++
	return own, true
}

func (c *callers) part(from netip.Addr, own *caller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own.present--; own.present == 0 {
		delete(c.at, from)
	}
}
