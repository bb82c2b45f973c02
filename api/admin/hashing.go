package admin

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/password"
)

// Limits of hashing: a hash takes 19 MiB of memory and about 20 ms of a core.
const (
	maxConcurrentHashes = 2
	maxQueuedHashes     = 32
	hashWaitTimeout     = 5 * time.Second
)

// hashing computes hashes of passwords with limited concurrency.
type hashing struct {
	slots   chan struct{}
	waiting atomic.Int32
}

func newHashing() *hashing { return &hashing{slots: make(chan struct{}, maxConcurrentHashes)} }

// matches reports whether text is the password of a hash.
func (h *hashing) matches(ctx context.Context, hash, text string) (ok bool, err error) {
	err = h.withSlot(ctx, func() { ok = password.Matches(hash, text) })
	return ok, err
}

// hash returns the hash of a password.
func (h *hashing) hash(ctx context.Context, text string) (hash string, err error) {
	err = h.withSlot(ctx, func() { hash = password.Hash(text) })
	return hash, err
}

// withSlot waits for a slot and runs work. It returns an Unavailable error if too many wait
// already or no slot becomes free in time.
func (h *hashing) withSlot(ctx context.Context, work func()) error {
	busy := fault.New(fault.Unavailable, "Too many logins at a time").After(time.Second)
	if h.waiting.Add(1) > maxQueuedHashes {
		h.waiting.Add(-1)
		return busy
	}
	defer h.waiting.Add(-1)
	timer := time.NewTimer(hashWaitTimeout)
	defer timer.Stop()
	select {
	case h.slots <- struct{}{}:
	case <-timer.C:
		return busy
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.slots }()
	work()
	return nil
}
