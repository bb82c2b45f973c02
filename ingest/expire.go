package ingest

import (
	"math"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// expire rejects the points that are older than the oldest time of their source.
func (b *batch) expire() {
	expire(b, pointblock.KindNumber, &b.numbers)
	expire(b, pointblock.KindString, &b.strings)
}

// expire removes what is too old from a column.
func expire[V any](b *batch, kind pointblock.Kind, c *column[V]) {
	if len(c.label) > 0 {
		c.expireRows(b, kind)
		return
	}
	for i := range b.runs {
		r := &b.runs[i]
		l := &b.labels.list[r.label]
		oldest := b.oldest[l.source]
		if r.kind != kind || oldest == math.MinInt64 {
			continue
		}
		kept := r.from
		for at := r.from; at < r.to; at++ {
			if c.ts[at] < oldest {
				position := whole
				if !r.sifted {
					position = at - r.from
				}
				b.reject(timeExpired, r.index, position, 1, l)
				continue
			}
			c.ts[kept], c.values[kept] = c.ts[at], c.values[at]
			kept++
		}
		l.count[kind-1] -= r.to - kept
		r.to = kept
	}
}

func (c *column[V]) expireRows(b *batch, kind pointblock.Kind) {
	kept := 0
	for at, ts := range c.ts {
		l := &b.labels.list[c.label[at]]
		if ts < b.oldest[l.source] {
			index := l.first[kind-1]
			if len(c.index) == len(c.ts) {
				index = int(c.index[at])
			}
			b.reject(timeExpired, index, whole, 1, l)
			l.count[kind-1]--
			continue
		}
		c.label[kept], c.ts[kept], c.values[kept] = c.label[at], ts, c.values[at]
		kept++
	}
	c.label, c.ts, c.values, c.index = c.label[:kept], c.ts[:kept], c.values[:kept], c.index[:0]
}
