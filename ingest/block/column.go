package block

import "github.com/livegraph/livegraph/schemas/pointblock"

// Column contains the accepted points of one kind, in the order of the request.
// Label has the label of each point if the points came as rows. If they came as
// columns, their runs have the labels.
type Column[V any] struct {
	Label  []int32
	Times  []int64 // microseconds since the Unix epoch
	Values []V
	Index  []int32 // for rows, the index of each in the request
}

func (c *Column[V]) reset() {
	c.Label, c.Times, c.Values, c.Index = c.Label[:0], c.Times[:0], c.Values[:0], c.Index[:0]
}

// run is a range of a column that belongs to one label.
type run struct {
	label    int32
	from, to int32
	next     int32 // the next run of the same series, plus one
	index    int32 // of its object in the request
	kind     pointblock.Kind
	filtered bool // not all of the object's points are in it
}

// Add appends a point of a label.
func (c *Column[V]) Add(label int32, ts int64, value V) {
	c.Label = append(c.Label, label)
	c.Times = append(c.Times, ts)
	c.Values = append(c.Values, value)
}

// LabelRuns converts columns to rows: it sets the label of each point from the runs and removes the runs.
func (b *Batch) LabelRuns() {
	for i := range b.runs {
		if r := &b.runs[i]; r.kind == pointblock.KindNumber {
			b.Numbers.setLabels(r)
		} else {
			b.Strings.setLabels(r)
		}
	}
	b.runs = b.runs[:0]
}

// setLabels sets the labels of a run's points, which are the first points without a label.
func (c *Column[V]) setLabels(r *run) {
	for len(c.Label) < int(r.to) {
		c.Label = append(c.Label, r.label)
		c.Index = append(c.Index, r.index)
	}
}
