package proxy

import (
	"bytes"
	"time"
)

// Direction is the direction of bytes.
type Direction int

// The two directions: from the client and from the server.
const (
	Request Direction = iota
	Answer
)

// Rule is a fault of the proxy. The zero value has no effect.
type Rule struct {
	// Share is the share of connections to which the rule applies, chosen at random; 0: all.
	Share float64
	// Refuse resets new and existing connections.
	Refuse bool
	// Silent accepts bytes and forwards none while the rule is active, as on a half-open connection.
	// They are forwarded afterwards, like bytes that TCP retransmits.
	Silent bool
	// Latency is the delay of each chunk of up to 32 KiB.
	Latency time.Duration
	// BytesPerSecond bounds each direction of each connection; 0: no bound.
	BytesPerSecond int
	// Cut resets connections in the middle of a transfer.
	Cut Cut
}

// Cut configures when a connection is reset, on both sides.
type Cut struct {
	Chance    float64   // probability for each matching chunk; 0: never
	Direction Direction // direction of the chunk
	// Contains is what a chunk must contain; nil: anything. Postgres sends "COMMIT" after a commit:
	// cutting the connection at this answer leaves the client without the outcome of the commit.
	Contains []byte
	// After is the number of bytes of the chunk that are forwarded first, if it is longer; negative:
	// none.
	After int
}

// appliesTo reports whether the rule applies to a connection with this sample.
func (r *Rule) appliesTo(sample float64) bool { return r.Share == 0 || sample < r.Share }

// effect is the combined effect of several rules.
type effect struct {
	silent  bool
	latency time.Duration
	rate    int
	cuts    []Cut
}

func (v *effect) add(r *Rule) {
	v.silent = v.silent || r.Silent
	v.latency = max(v.latency, r.Latency)
	if r.BytesPerSecond > 0 && (v.rate == 0 || r.BytesPerSecond < v.rate) {
		v.rate = r.BytesPerSecond
	}
	if r.Cut.Chance > 0 {
		v.cuts = append(v.cuts, r.Cut)
	}
}

// cut reports whether the connection is reset at a chunk, and how many of its bytes are forwarded
// first.
func (v *effect) cut(d Direction, chunk []byte, chance func(float64) bool) (after int, ok bool) {
	for _, c := range v.cuts {
		if c.Direction == d && (c.Contains == nil || bytes.Contains(chunk, c.Contains)) && chance(c.Chance) {
			return max(0, min(c.After, len(chunk)-1)), true
		}
	}
	return 0, false
}
