package points

import (
	"slices"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Sorting single points costs more than storing them. A batch therefore sorts spans by
// series: with a hundred points a span this is a hundredth of the work, and the spans of a
// series mostly arrive in the order of time. Spans of a series are sorted by time only where
// they do not, and rows only where such spans overlap.
//
// Live sensors send one point of each series, so a batch has as many spans as points. All that
// writing such a span requires is copied into its batchSpan while the spans are read in the
// order of their records. Reading the spans again in the order of series would be as many random
// accesses to memory. The copies are brought into this order in a loop that does nothing else,
// in which the processor makes many accesses at the same time.

// batchSpan is a span in a batch.
type batchSpan struct {
	series  uint64
	span    *pointblock.Span
	rec     *record
	first   int64   // time of the first point
	last    int64   // time of the last point, equal to first if there is only one
	value   float64 // value of the only point of a span of numbers
	source  int32   // index in sorter.sources
	strings bool    // the values are strings
	partial bool    // tombstones cover some of the points
}

// sourceUse is a source of consecutive spans.
type sourceUse struct {
	id         sourceID
	tombstones *sourceTombstones // nil: none
	receivedAt int64             // newest receive time, in microseconds; 0: its points are deleted
}

// sorter is the memory in which a batch is sorted. Batches reuse it.
type sorter struct {
	spans       []batchSpan
	ordered     []batchSpan // the spans, ordered by series
	sources     []sourceUse
	keys, spare []spanKey
	ids, added  []uint64            // series of the batch, and those that this process has not stored
	floors      map[sourceID]uint64 // lowest version of each source
	values      []float64           // scratch

	numbers, strings int // rows of each kind
}

func newSorter() *sorter { return &sorter{floors: map[sourceID]uint64{}} }

// arrange fills the columns.
func (b *batch) arrange() {
	s, ok := b.c.sorters.Get()
	if !ok {
		s = newSorter()
	}
	defer b.c.sorters.Put(s, 1)
	b.gather(s)
	s.keys, s.spare = sortKeys(s.keys, s.spare)
	s.ids = appendSeries(s.ids[:0], s.keys)
	s.added = b.c.storedSeries.appendMissing(s.added[:0], s.ids)
	b.columns.grow(s.numbers, s.strings, len(s.ids))
	s.ordered = slices.Grow(s.ordered[:0], len(s.keys))[:len(s.keys)]
	for i := range s.keys {
		s.ordered[i] = s.spans[s.keys[i].span]
	}
	b.write(s)
	b.arrangeExemplars(s)
	b.noteSources(s.sources)
	clear(s.spans) // they refer to records
	clear(s.ordered)
	clear(s.sources)
}

// write decodes the ordered spans into the columns.
func (b *batch) write(s *sorter) {
	w := writer{columns: b.columns, sources: s.sources}
	spans, added := s.ordered, s.added
	touched := 0 // spans from the start of spans that are touched
	for len(spans) > 0 {
		series := spans[0].series
		n := 1
		for n < len(spans) && spans[n].series == series {
			n++
		}
		for touched < n {
			next := spans[touched:min(touched+touchedSpans, len(spans))]
			w.touch(next)
			touched += len(next)
		}
		if len(added) > 0 && added[0] == series {
			w.appendIdentity(&spans[0])
			added = added[1:]
		}
		w.write(series, spans[:n])
		spans, touched = spans[n:], touched-n
	}
}

// noteSources adds the sources of the batch to the columns, and their activity where it is due.
func (b *batch) noteSources(uses []sourceUse) {
	for i := range uses {
		u := &uses[i]
		b.columns.sources[u.id] = max(b.columns.sources[u.id], u.receivedAt)
	}
	for source, receivedAt := range b.columns.sources {
		if receivedAt == 0 || !b.c.activity.due(source, receivedAt) {
			continue
		}
		b.columns.activity = append(b.columns.activity, clickhouse.ActivityRow{
			Workspace: source.Workspace, Source: source.Source, ReceivedAtUS: receivedAt,
		})
	}
}

// gather collects the spans that tombstones do not cover entirely, with the keys to sort them.
func (b *batch) gather(s *sorter) {
	count := 0
	for _, rec := range b.records {
		count += len(rec.Spans)
	}
	s.spans, s.keys, s.sources = slices.Grow(s.spans[:0], count), slices.Grow(s.keys[:0], count), s.sources[:0]
	s.numbers, s.strings = 0, 0
	for _, rec := range b.records {
		var use *sourceUse
		for i := range rec.Spans {
			span := &rec.Spans[i]
			if use == nil || use.id.Source != span.Source {
				use = b.use(s, sourceID{Workspace: rec.Workspace, Source: span.Source})
			}
			s.add(rec, span, use)
		}
	}
}

// use adds a source to the sources of the batch.
func (b *batch) use(s *sorter, id sourceID) *sourceUse {
	s.sources = append(s.sources, sourceUse{id: id, tombstones: b.tombstones[id]})
	return &s.sources[len(s.sources)-1]
}

// add adds a span, unless tombstones cover all of its points.
func (s *sorter) add(rec *record, span *pointblock.Span, use *sourceUse) {
	next := batchSpan{
		series: span.SeriesID, span: span, rec: rec, first: span.FirstUS, last: span.LastUS,
		source: int32(len(s.sources) - 1), strings: span.Kind != pointblock.KindNumber,
	}
	if use.tombstones != nil {
		all, some := use.tombstones.forMetric(span.Metric()).Cover(span.FirstUS, span.LastUS, rec.version)
		if all {
			if !use.tombstones.sourceDeleted {
				use.receivedAt = max(use.receivedAt, rec.ReceivedAtUS)
			}
			return
		}
		next.partial = some
	}
	use.receivedAt = max(use.receivedAt, rec.ReceivedAtUS)
	switch {
	case next.strings:
		s.strings += span.Count
	case span.Count == 1:
		s.values = span.AppendValues(s.values[:0])
		next.value = s.values[0]
		s.numbers++
	default:
		s.numbers += span.Count
	}
	s.keys = append(s.keys, spanKey{series: span.SeriesID, span: int32(len(s.spans))})
	s.spans = append(s.spans, next)
}

// grow increases the capacity for a number of further rows.
func (c *columns) grow(numbers, strings, series int) {
	p, s := &c.points, &c.states
	p.TS, p.Values = slices.Grow(p.TS, numbers), slices.Grow(p.Values, numbers)
	s.TS, s.Values = slices.Grow(s.TS, strings), slices.Grow(s.Values, strings)
	c.latest.Grow(series)
}
