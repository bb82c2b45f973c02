package block

import "github.com/livegraph/livegraph/schemas/pointblock"

// Column contains the accepted points of one kind, in the order of the request.
// A point's label is set where points came as rows; where they came as
// columns, it is that of their run.
type Column[V any] struct {
	Label  []int32
	Times  []int64 // microseconds since the Unix epoch
	Values []V
	Index  []int32 // of rows, where each is in the request
}

func (c *Column[V]) reset() {
	c.Label, c.Times, c.Values, c.Index = c.Label[:0], c.Times[:0], c.Values[:0], c.Index[:0]
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

// Add appends a point of a label.
func (c *Column[V]) Add(label int32, ts int64, value V) {
	c.Label = append(c.Label, label)
	c.Times = append(c.Times, ts)
	c.Values = append(c.Values, value)
}

// LabelRuns sets the label of each point, which so far only the runs have.
func (b *Batch) LabelRuns() {
	for i := range b.runs {
		if part := &b.runs[i]; part.kind == pointblock.KindNumber {
			b.Numbers.fill(part)
		} else {
			b.Strings.fill(part)
		}
	}
	b.runs = b.runs[:0]
}

// fill sets the labels of a run's points, which are the first without one.
func (c *Column[V]) fill(part *run) {
	for len(c.Label) < part.to {
		c.Label = append(c.Label, part.label)
		c.Index = append(c.Index, int32(part.index))
	}
}
