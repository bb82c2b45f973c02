package proxy

import (
	"bytes"
	"time"
)

// Direction is which way bytes go.
type Direction int

// The two ways: what clients send, and what the server sends.
const (
	Request Direction = iota
	Answer
)

// Rule is something that is wrong with the way. The zero value is nothing.
type Rule struct {
	// Share of the connections that it is for, by lot; 0: all.
	Share float64
	// Refuse ends connections when they are accepted, and those that stand.
	Refuse bool
	// Silent takes bytes and passes none on while the rule holds: half-open. They go on
	// their way afterwards, as those that TCP sends again.
	Silent bool
	// Latency is how long each piece of up to 32 KiB waits before it is passed on.
	Latency time.Duration
	// BytesPerSecond bounds each direction of each connection; 0: it does not.
	BytesPerSecond int
	// Cut ends connections in the middle.
	Cut Cut
}

// Cut says when a connection is ended: both sides see a reset.
type Cut struct {
	Chance float64   // of each piece that qualifies; 0: never
	Of     Direction // what pieces
	// Holding is what a piece must have in it; nil: anything. Postgres says
	// "COMMIT" when it has committed: an answer that holds it and is not passed on is
	// a commit that nobody was told of.
	Holding []byte
	// After is how many bytes of the piece are passed on before, if it has more; below
	// 0: none.
	After int
}

// concerns reports whether the rule is for a connection that has drawn this lot.
func (r *Rule) concerns(lot float64) bool { return r.Share == 0 || lot < r.Share }

// verdict is what several rules come to.
type verdict struct {
	silent  bool
	latency time.Duration
	rate    int
	cuts    []Cut
}

func (v *verdict) add(r *Rule) {
	v.silent = v.silent || r.Silent
	v.latency = max(v.latency, r.Latency)
	if r.BytesPerSecond > 0 && (v.rate == 0 || r.BytesPerSecond < v.rate) {
		v.rate = r.BytesPerSecond
	}
	if r.Cut.Chance > 0 {
		v.cuts = append(v.cuts, r.Cut)
	}
}

// cut returns how many bytes of a piece are passed on before the connection is ended,
// if it is.
func (v *verdict) cut(d Direction, piece []byte, chance func(float64) bool) (after int, is bool) {
	for _, c := range v.cuts {
		if c.Of == d && (c.Holding == nil || bytes.Contains(piece, c.Holding)) && chance(c.Chance) {
			return max(0, min(c.After, len(piece)-1)), true
		}
	}
	return 0, false
}
