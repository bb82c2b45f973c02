package points

import (
	"cmp"
	"slices"

	"github.com/livegraph/livegraph/internal/ceiling"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Sorting single points costs more than storing them. A batch therefore groups spans by
// series and sorts the series: with a hundred points a span this is a hundredth of the
// work, and the spans of a series mostly arrive in the order of time. Spans are sorted only
// where they do not, and rows only where such spans overlap.

// batchSpan is a span of a series in a batch.
type batchSpan struct {
	span    *pointblock.Span
	rec     *record
	next    int32 // index of the next span of the series, in order of arrival; -1: none
	partial bool  // tombstones cover some of its points
}

// seriesRun is the rows of one series in a batch.
type seriesRun struct {
	id            uint64
	first, last   int32 // indexes of spans
	rows          int
	source        sourceID
	covered       ceiling.Steps // tombstones of its source and metric
	sourceDeleted bool          // the source itself is deleted
	receivedAt    int64
}

// sorter is the memory in which a batch is sorted. Batches reuse it.
type sorter struct {
	spans    []batchSpan
	runs     []seriesRun
	runIndex map[uint64]int32 // indexes of runs, by series id
	order    []int32
	floors   map[sourceID]uint64 // lowest version of each source
}

func newSorter() *sorter {
	return &sorter{runIndex: map[uint64]int32{}, floors: map[sourceID]uint64{}}
}

// arrange fills the columns.
func (b *batch) arrange() {
	s, ok := b.c.sorters.Get()
	if !ok {
		s = newSorter()
	}
	defer b.c.sorters.Put(s, 1)
	spans, runs := b.gather(s)
	order := s.order[:0]
	numbers, strings := 0, 0
	for i := range runs {
		order = append(order, int32(i))
		if spans[runs[i].first].span.Kind == pointblock.KindString {
			strings += runs[i].rows
		} else {
			numbers += runs[i].rows
		}
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Compare(runs[x].id, runs[y].id) })
	s.order = order
	b.columns.grow(numbers, strings, len(runs))
	w := writer{columns: b.columns}
	for _, i := range order {
		run := &runs[i]
		b.appendSeries(run, spans)
		if spans[run.first].span.Kind == pointblock.KindString {
			w.writeStrings(run, spans)
		} else {
			w.writeNumbers(run, spans)
		}
	}
	clear(s.spans) // they refer to records
	clear(s.runs)
	for source, receivedAt := range b.columns.sources {
		if receivedAt == 0 {
			continue
		}
		b.columns.activity = append(b.columns.activity, clickhouse.ActivityRow{
			Workspace: source.Workspace, Source: source.Source, ReceivedAtUS: receivedAt,
		})
	}
}

// gather groups by series the spans that tombstones do not cover entirely.
func (b *batch) gather(s *sorter) ([]batchSpan, []seriesRun) {
	count := 0
	for _, rec := range b.records {
		count += len(rec.Spans)
	}
	spans, runs, runIndex := slices.Grow(s.spans[:0], count), s.runs[:0], s.runIndex
	clear(runIndex)
	for _, rec := range b.records {
		for i := range rec.Spans {
			span := &rec.Spans[i]
			n, ok := runIndex[span.SeriesID]
			if !ok {
				n = int32(len(runs))
				runIndex[span.SeriesID] = n
				runs = append(runs, b.newRun(rec, span))
			}
			run := &runs[n]
			next := batchSpan{span: span, rec: rec, next: -1}
			if len(run.covered) > 0 && next.applyTombstones(run.covered) {
				if !run.sourceDeleted {
					run.receivedAt = max(run.receivedAt, rec.ReceivedAtUS)
				}
				continue
			}
			index := int32(len(spans))
			spans = append(spans, next)
			if run.first < 0 {
				run.first = index
			} else {
				spans[run.last].next = index
			}
			run.last = index
			run.rows += span.Count
			run.receivedAt = max(run.receivedAt, rec.ReceivedAtUS)
		}
	}
	for i := range runs {
		run := &runs[i]
		b.columns.sources[run.source] = max(b.columns.sources[run.source], run.receivedAt)
	}
	s.spans, s.runs = spans, runs
	return spans, slices.DeleteFunc(runs, func(r seriesRun) bool { return r.first < 0 })
}

// newRun returns an empty run for the series of a span.
func (b *batch) newRun(rec *record, span *pointblock.Span) seriesRun {
	source := sourceID{Workspace: rec.Workspace, Source: span.Source}
	tombstones := b.tombstonesOf(source)
	return seriesRun{
		id: span.SeriesID, first: -1, last: -1, source: source, covered: tombstones.forMetric(span.Metric),
		sourceDeleted: tombstones != nil && tombstones.sourceDeleted,
	}
}

// tombstonesOf returns the tombstones of a source, nil if it has none.
func (b *batch) tombstonesOf(source sourceID) *sourceTombstones {
	return b.tombstones[source]
}

// applyTombstones reports whether tombstones cover all points of the span. It sets partial
// if they cover only some.
func (p *batchSpan) applyTombstones(covered ceiling.Steps) bool {
	all, some := covered.Cover(p.span.FirstUS, p.span.LastUS, p.rec.version)
	p.partial = some && !all
	return all
}

// appendSeries appends the identity of a series, unless this process has stored it before.
func (b *batch) appendSeries(run *seriesRun, spans []batchSpan) {
	if b.c.storedSeries.has(run.id) {
		return
	}
	span := spans[run.first].span
	tags := map[string]string{}
	for _, t := range span.Tags() {
		tags[t.Key] = t.Value
	}
	b.columns.series = append(b.columns.series, clickhouse.SeriesRow{
		ID: run.id, Workspace: run.source.Workspace, Source: run.source.Source,
		Metric: string(span.Metric), Tags: tags, Kind: uint8(span.Kind),
	})
}

// grow increases the capacity for a number of further rows.
func (c *columns) grow(numbers, strings, series int) {
	p, s := &c.points, &c.states
	p.TS, p.Values = slices.Grow(p.TS, numbers), slices.Grow(p.Values, numbers)
	s.TS, s.Values = slices.Grow(s.TS, strings), slices.Grow(s.Values, strings)
	c.latest = slices.Grow(c.latest, series)
}
