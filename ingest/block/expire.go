package block

import (
	"math"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Expire rejects the points, and drops the exemplars, that are older than the oldest time of their source.
func (b *Batch) Expire() {
	expire(b, pointblock.KindNumber, &b.Numbers)
	expire(b, b.Texts, &b.Strings)
	b.dropExemplars(func(x *requestExemplar) bool { return x.us < b.Oldest[b.Labels.List[x.label].Source] })
}

// expire removes expired points from a column.
func expire[V any](b *Batch, kind pointblock.Kind, c *Column[V]) {
	if len(c.Label) > 0 {
		c.expireRows(b, kind)
		return
	}
	for i := range b.runs {
		r := &b.runs[i]
		l := &b.Labels.List[r.label]
		oldest := b.Oldest[l.Source]
		if r.kind != kind || oldest == math.MinInt64 {
			continue
		}
		kept := r.from
		for j := r.from; j < r.to; j++ {
			if c.Times[j] < oldest {
				position := rejection.NoPosition
				if !r.filtered {
					position = int(j - r.from)
				}
				b.Reject(rejection.TimeExpired, int(r.index), position, 1, l)
				continue
			}
			c.Times[kept], c.Values[kept] = c.Times[j], c.Values[j]
			kept++
		}
		l.Count[kind-1] -= r.to - kept
		r.to = kept
	}
}

func (c *Column[V]) expireRows(b *Batch, kind pointblock.Kind) {
	kept := 0
	for i, ts := range c.Times {
		l := &b.Labels.List[c.Label[i]]
		if ts < b.Oldest[l.Source] {
			index := l.First[kind-1]
			if len(c.Index) == len(c.Times) {
				index = c.Index[i]
			}
			b.Reject(rejection.TimeExpired, int(index), rejection.NoPosition, 1, l)
			l.Count[kind-1]--
			continue
		}
		c.Label[kept], c.Times[kept], c.Values[kept] = c.Label[i], ts, c.Values[i]
		kept++
	}
	c.Label, c.Times, c.Values, c.Index = c.Label[:kept], c.Times[:kept], c.Values[:kept], c.Index[:0]
}
