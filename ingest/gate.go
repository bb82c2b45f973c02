package ingest

import "sync/atomic"

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

// leave gives the room back.
func (g *gate) leave(n int64) { g.used.Add(-n) }
