package admin

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/password"
)

// Bounds of what is hashed: each password takes 19 MiB and some 20 ms of a core.
const (
	hashesAtOnce  = 2
	hashesWaiting = 32
	hashPatience  = 5 * time.Second
)

// hashing computes hashes of passwords, few at a time.
type hashing struct {
	slots   chan struct{}
	waiting atomic.Int32
}

func newHashing() *hashing { return &hashing{slots: make(chan struct{}, hashesAtOnce)} }

// matches reports whether text is the password of a hash.
func (h *hashing) matches(ctx context.Context, hash, text string) (ok bool, err error) {
	err = h.within(ctx, func() { ok = password.Matches(hash, text) })
	return ok, err
}

// hash returns the hash of a password.
func (h *hashing) hash(ctx context.Context, text string) (hash string, err error) {
	err = h.within(ctx, func() { hash = password.Hash(text) })
	return hash, err
}

// within runs work when there is room for it. Unavailable: there is none for some time.
func (h *hashing) within(ctx context.Context, work func()) error {
	busy := fault.New(fault.Unavailable, "Too many logins at a time").After(time.Second)
	if h.waiting.Add(1) > hashesWaiting {
		h.waiting.Add(-1)
		return busy
	}
	defer h.waiting.Add(-1)
	waitTimeout := time.NewTimer(hashPatience)
	defer waitTimeout.Stop()
	select {
	case h.slots <- struct{}{}:
	case <-waitTimeout.C:
		return busy
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.slots }()
	work()
	return nil
}
