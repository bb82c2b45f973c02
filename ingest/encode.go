package ingest

import (
	"slices"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// maxEncodedBytes bounds the records of one request. A body can be made to
// expand (defaults are repeated in every series), and a request beyond what the
// producer buffers would be refused for ever.
const maxEncodedBytes = 64 << 20

// encode turns the points of registered series into messages and gives how many
// points these are.
func (b *batch) encode() (points int, err error) {
	o := &b.output
	numbers, err := encodeKind(b, pointblock.KindNumber, &b.numbers, &o.numbers, b.appendNumbers)
	if err != nil {
		return 0, err
	}
	texts, err := encodeKind(b, pointblock.KindString, &b.strings, &o.strings, b.appendStrings)
	if err != nil {
		return 0, err
	}
	for _, partition := range o.active {
		o.messages = o.encoders[partition].AppendMessages(o.messages, partition)
	}
	for i := range o.messages {
		o.messages[i].Route = b.route
	}
	return numbers + texts, nil
}

// appendPoints encodes the points of a series.
type appendPoints[V any] func(e *pointblock.Encoder, f *final, ts []int64, values []V) error

func (b *batch) appendNumbers(e *pointblock.Encoder, f *final, ts []int64, values []float64) error {
	l, o := &b.labels.list[f.label], &b.output
	if l.known != nil {
		return e.AppendNumbersOf(l.known.encoded, l.known.source, ts, values)
	}
	o.identity = b.identity(l, f.kind, &o.tags)
	if b.hooks.resolved != nil {
		b.hooks.resolved(l, f.ref, &o.identity)
	}
	return e.AppendNumbers(f.ref, &o.identity, ts, values)
}

func (b *batch) appendStrings(e *pointblock.Encoder, f *final, ts []int64, values []string) error {
	o := &b.output
	o.identity = b.identity(&b.labels.list[f.label], f.kind, &o.tags)
	return e.AppendStrings(f.ref, &o.identity, ts, values)
}

// encodeKind encodes the series of one kind.
func encodeKind[V any](
	b *batch, kind pointblock.Kind, c *column[V], s *sorted[V], write appendPoints[V],
) (points int, err error) {
	if len(c.ts) == 0 {
		return 0, nil
	}
	o := &b.output
	if b.rows {
		s.scatter(b, kind, c)
	} else {
		b.chainRuns(kind)
	}
	for i := range o.finals {
		f := &o.finals[i]
		if f.kind != kind || !f.registered {
			continue
		}
		var ts []int64
		var values []V
		if b.rows {
			end := o.cursor[i]
			ts, values = s.ts[end-f.count:end], s.values[end-f.count:end]
		} else {
			ts, values = s.gather(b, f, c)
		}
		e := b.encoder(b.sources.list[b.labels.list[f.label].source].partition)
		before := e.Len()
		if err := write(e, f, ts, values); err != nil {
			return 0, fault.Wrap(err, fault.Internal, "A series could not be encoded")
		}
		if o.bytes += e.Len() - before; o.bytes > maxEncodedBytes {
			return 0, fault.Field(
				fault.TooLarge, b.hooks.listName(), "must not amount to more than 64 MiB with their series' names and tags",
			).
				With("limit", maxEncodedBytes)
		}
		points += f.count
	}
	return points, nil
}

// encoder returns the encoder of a partition.
func (b *batch) encoder(partition int32) *pointblock.Encoder {
	o := &b.output
	if missing := int(partition) + 1 - len(o.encoders); missing > 0 {
		o.encoders = append(o.encoders, make([]*pointblock.Encoder, missing)...)
	}
	e := o.encoders[partition]
	if e == nil {
		e = &pointblock.Encoder{}
		o.encoders[partition] = e
	}
	if !slices.Contains(o.active, partition) {
		e.Reset(b.workspace, b.receivedUS)
		o.active = append(o.active, partition)
	}
	return e
}

// sorted holds points in the order of their series, within a series in the order
// in which they came.
type sorted[V any] struct {
	ts     []int64
	values []V
}

// scatter brings rows into the order of their series; the cursors then stand
// where each series ends.
func (s *sorted[V]) scatter(b *batch, kind pointblock.Kind, c *column[V]) {
	o := &b.output
	o.cursor = slices.Grow(o.cursor[:0], len(o.finals))[:len(o.finals)]
	n := 0
	for i := range o.finals {
		if f := &o.finals[i]; f.kind == kind && f.registered {
			o.cursor[i] = n
			n += f.count
		}
	}
	o.route = o.route[:0]
	for i := range b.labels.list {
		at := b.labels.list[i].final[kind-1]
		if at >= 0 && !o.finals[at].registered {
			at = -1
		}
		o.route = append(o.route, at)
	}
	s.ts = slices.Grow(s.ts[:0], n)[:n]
	s.values = slices.Grow(s.values[:0], n)[:n]
	for i, l := range c.label {
		if at := o.route[l]; at >= 0 {
			to := o.cursor[at]
			s.ts[to], s.values[to] = c.ts[i], c.values[i]
			o.cursor[at] = to + 1
		}
	}
}

// chainRuns links the runs of each series.
func (b *batch) chainRuns(kind pointblock.Kind) {
	for i := range b.runs {
		r := &b.runs[i]
		if r.kind != kind {
			continue
		}
		if at := b.labels.list[r.label].final[kind-1]; at >= 0 {
			f := &b.output.finals[at]
			r.next = f.last
			f.last = int32(i) + 1
			f.runs++
		}
	}
}

// gather returns a series' points: as they are in the columns, or, when they came
// in several runs, put together.
func (s *sorted[V]) gather(b *batch, f *final, c *column[V]) ([]int64, []V) {
	if f.runs == 1 {
		r := &b.runs[f.last-1]
		return c.ts[r.from:r.to], c.values[r.from:r.to]
	}
	s.ts = slices.Grow(s.ts[:0], f.count)[:f.count]
	s.values = slices.Grow(s.values[:0], f.count)[:f.count]
	end := f.count
	for at := f.last; at != 0; at = b.runs[at-1].next { // from the last to the first
		r := &b.runs[at-1]
		start := end - (r.to - r.from)
		copy(s.ts[start:end], c.ts[r.from:r.to])
		copy(s.values[start:end], c.values[r.from:r.to])
		end = start
	}
	return s.ts, s.values
}
