package ingest

import "github.com/livegraph/livegraph/schemas/pointblock"

// column holds the accepted points of one kind, in the order in which they came.
// A point's label is given where points came as rows; where they came as
// columns, runs say it.
type column[V any] struct {
	label  []int32
	ts     []int64 // microseconds since the Unix epoch
	values []V
	index  []int32 // of rows, where each is in the request
}

func (c *column[V]) reset() {
	c.label, c.ts, c.values, c.index = c.label[:0], c.ts[:0], c.values[:0], c.index[:0]
}

// run is a part of a column that belongs to one label.
type run struct {
	label    int32
	kind     pointblock.Kind
	from, to int
	next     int32 // the next run of the same series, plus one
	index    int   // of its object in the request
	sifted   bool  // not all of the object's points are in it
}

func (c *column[V]) add(label int32, ts int64, value V) {
	c.label = append(c.label, label)
	c.ts = append(c.ts, ts)
	c.values = append(c.values, value)
}

// labelRuns says of each point what so far only the runs say: its label.
func (b *batch) labelRuns() {
	for i := range b.runs {
		if part := &b.runs[i]; part.kind == pointblock.KindNumber {
			b.numbers.fill(part)
		} else {
			b.strings.fill(part)
		}
	}
	b.runs = b.runs[:0]
}

// fill returns the points of a run, which are the column's next without a label,
// the run's.
func (c *column[V]) fill(part *run) {
	for len(c.label) < part.to {
		c.label = append(c.label, part.label)
		c.index = append(c.index, int32(part.index))
	}
}
