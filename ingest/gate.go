package ingest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// gate bounds the bytes that all requests together hold. It never waits: what
// has no room is turned away at once, so that overload cannot pile up.
type gate struct {
	limit int64
	used  atomic.Int64
}

// enter takes room for n more bytes of a request that has some already, and
// reports whether there was any. A request that is larger than the gate passes
// when it is alone.
func (g *gate) enter(n, has int64) bool {
	if used := g.used.Add(n); used > g.limit && used != n+has {
		g.used.Add(-n)
		return false
	}
	return true
}

// leave releases the room.
func (g *gate) leave(n int64) { g.used.Add(-n) }

// Requests of this many bytes or more wait for each other; smaller ones do not wait
// behind them.
const queuedBytes = 64 << 10

// What parts of the bytes in flight the bodies have that are being parsed, and what they
// are parsed into: that can be many times a body's size, and is known only afterwards.
const (
	parsedPart = 4
	roomPart   = 2
)

// queue lets requests wait until there is room for them.
type queue struct {
	room     *semaphore.Weighted
	size     int64
	least    int64 // that a request takes of it
	patience time.Duration
}

// newQueue creates one of so many bytes in which nobody waits longer than this. Where
// atATime is given, no more requests than that have room at a time.
func newQueue(size int64, atATime int, patience time.Duration) *queue {
	q := &queue{size: max(size, int64(atATime), 1), patience: patience}
	q.room = semaphore.NewWeighted(q.size)
	if atATime > 0 {
		q.least = q.size / int64(atATime)
	}
	return q
}

// wait returns when there is room for what a body of so many bytes needs, until done is
// called, which may be called more often than once. What needs more than all there is
// gets room alone.
func (q *queue) wait(ctx context.Context, bytes, need int64) (done func(), err error) {
	if bytes < queuedBytes {
		return func() {}, nil
	}
	share := min(max(need, q.least), q.size)
	patience, cancel := context.WithTimeout(ctx, q.patience)
	defer cancel()
	if q.room.Acquire(patience, share) == nil {
		return sync.OnceFunc(func() { q.room.Release(share) }), nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, overloaded()
}
