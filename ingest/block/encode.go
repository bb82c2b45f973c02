package block

import (
	"slices"

	"github.com/livegraph/livegraph/internal/nativehistogram"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// maxEncodedBytes is the maximum size of the records of one request. The records can be larger than the
// body, because defaults are repeated in every series, and a request that exceeds the producer's buffer
// would always fail.
const maxEncodedBytes = 64 << 20

// Encode encodes the points and the exemplars of registered series into messages and returns their numbers.
func (b *Batch) Encode() (points, exemplars int, err error) {
	o := &b.Output
	numberPoints, err := encodeKind(b, pointblock.KindNumber, &b.Numbers, &o.numbers, b.appendNumbers)
	if err != nil {
		return 0, 0, err
	}
	stringPoints, err := encodeKind(b, b.Texts, &b.Strings, &o.strings, b.appendStrings)
	if err != nil {
		return 0, 0, err
	}
	if exemplars, err = b.encodeExemplars(); err != nil {
		return 0, 0, err
	}
	for _, partition := range o.active {
		o.Messages = o.encoders[partition].AppendMessages(o.Messages, partition)
	}
	for i := range o.Messages {
		o.Messages[i].Route = b.Route
	}
	return numberPoints + stringPoints, exemplars, nil
}

// appendPoints encodes the points of a series.
type appendPoints[V any] func(e *pointblock.Encoder, f *requestSeries, ts []int64, values []V) error

func (b *Batch) appendNumbers(e *pointblock.Encoder, f *requestSeries, ts []int64, values []float64) error {
	l, o := &b.Labels.List[f.Label], &b.Output
	if l.known != nil {
		return e.AppendNumbersWithHeader(l.known.encoded(), ts, values)
	}
	o.identity = b.Identity(l, f.Kind, &o.Tags)
	if b.Hooks.Resolved != nil {
		b.Hooks.Resolved(l, f.Ref, &o.identity)
	}
	return e.AppendNumbers(f.Ref, &o.identity, ts, values)
}

func (b *Batch) appendStrings(e *pointblock.Encoder, f *requestSeries, ts []int64, values []string) error {
	o := &b.Output
	if f.Kind == pointblock.KindSpecial {
		for _, text := range values {
			if nativehistogram.Is(text) {
				o.Histograms++
			}
		}
	}
	o.identity = b.Identity(&b.Labels.List[f.Label], f.Kind, &o.Tags)
	return e.AppendStrings(f.Ref, &o.identity, ts, values)
}

// encodeKind encodes the series of one kind and returns the number of their points.
func encodeKind[V any](
	b *Batch, kind pointblock.Kind, c *Column[V], s *sorted[V], write appendPoints[V],
) (points int, err error) {
	if len(c.Times) == 0 {
		return 0, nil
	}
	o := &b.Output
	if b.Rows {
		s.scatter(b, kind, c)
	} else {
		b.chainRuns(kind)
	}
	for i := range o.Series {
		f := &o.Series[i]
		if f.Kind != kind || !f.Registered || f.Count == 0 {
			continue
		}
		var ts []int64
		var values []V
		if b.Rows {
			end := o.cursor[i]
			ts, values = s.ts[end-int(f.Count):end], s.values[end-int(f.Count):end]
		} else {
			ts, values = s.gather(b, f, c)
		}
		e := b.encoder(b.Sources.List[b.Labels.List[f.Label].Source].Partition)
		before := e.Len()
		if err := write(e, f, ts, values); err != nil {
			return 0, fault.Wrap(err, fault.Internal, "A series could not be encoded")
		}
		if err := b.addSize(e.Len() - before); err != nil {
			return 0, err
		}
		points += int(f.Count)
	}
	return points, nil
}

// addSize adds to the size of the request's records and checks it.
func (b *Batch) addSize(bytes int) error {
	if b.Output.bytes += bytes; b.Output.bytes > maxEncodedBytes {
		return fault.Field(
			fault.TooLarge, b.Hooks.ListName(), "must not amount to more than 64 MiB with their series' names and tags",
		).With("limit", maxEncodedBytes)
	}
	return nil
}

// encoder returns the encoder of a partition.
func (b *Batch) encoder(partition int32) *pointblock.Encoder {
	o := &b.Output
	if missing := int(partition) + 1 - len(o.encoders); missing > 0 {
		o.encoders = append(o.encoders, make([]*pointblock.Encoder, missing)...)
	}
	e := o.encoders[partition]
	if e == nil {
		e = &pointblock.Encoder{}
		o.encoders[partition] = e
	}
	if !slices.Contains(o.active, partition) {
		e.Reset(b.Workspace, b.ReceivedUS)
		o.active = append(o.active, partition)
	}
	return e
}

// sorted contains points ordered by series and, within a series, in the order of the request.
type sorted[V any] struct {
	ts     []int64
	values []V
}

// scatter copies rows into s, ordered by series. Afterwards each cursor is the end of its series.
func (s *sorted[V]) scatter(b *Batch, kind pointblock.Kind, c *Column[V]) {
	o := &b.Output
	o.cursor = slices.Grow(o.cursor[:0], len(o.Series))[:len(o.Series)]
	n := 0
	for i := range o.Series {
		if f := &o.Series[i]; f.Kind == kind && f.Registered {
			o.cursor[i] = n
			n += int(f.Count)
		}
	}
	o.seriesOfLabel = o.seriesOfLabel[:0]
	for i := range b.Labels.List {
		index := b.Labels.List[i].seriesIndex[kind-1]
		if index >= 0 && !o.Series[index].Registered {
			index = -1
		}
		o.seriesOfLabel = append(o.seriesOfLabel, index)
	}
	s.ts = slices.Grow(s.ts[:0], n)[:n]
	s.values = slices.Grow(s.values[:0], n)[:n]
	for i, l := range c.Label {
		if index := o.seriesOfLabel[l]; index >= 0 {
			pos := o.cursor[index]
			s.ts[pos], s.values[pos] = c.Times[i], c.Values[i]
			o.cursor[index] = pos + 1
		}
	}
}

// chainRuns links the runs of each series.
func (b *Batch) chainRuns(kind pointblock.Kind) {
	for i := range b.runs {
		r := &b.runs[i]
		if r.kind != kind {
			continue
		}
		if index := b.Labels.List[r.label].seriesIndex[kind-1]; index >= 0 {
			f := &b.Output.Series[index]
			r.next = f.last
			f.last = int32(i) + 1
			f.runs++
		}
	}
}

// gather returns the points of a series: a slice of the column, or a copy if they are in several runs.
func (s *sorted[V]) gather(b *Batch, f *requestSeries, c *Column[V]) ([]int64, []V) {
	if f.runs == 1 {
		r := &b.runs[f.last-1]
		return c.Times[r.from:r.to], c.Values[r.from:r.to]
	}
	s.ts = slices.Grow(s.ts[:0], int(f.Count))[:f.Count]
	s.values = slices.Grow(s.values[:0], int(f.Count))[:f.Count]
	end := f.Count
	for at := f.last; at != 0; at = b.runs[at-1].next { // from the last to the first
		r := &b.runs[at-1]
		start := end - (r.to - r.from)
		copy(s.ts[start:end], c.Times[r.from:r.to])
		copy(s.values[start:end], c.Values[r.from:r.to])
		end = start
	}
	return s.ts, s.values
}
