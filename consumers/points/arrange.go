package points

import (
	"cmp"
	"slices"

	"github.com/livegraph/livegraph/internal/ceiling"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Sorting points one by one costs more than storing them. So spans are gathered by
// series and the series sorted: a hundredth of the work when a span has a hundred
// points, and the spans of a series mostly come in the order of time by
// themselves. Only where they do not are spans, and where those overlap rows, put
// in order.

// piece is one span of a series in a batch.
type piece struct {
	span    *pointblock.Span
	rec     *record
	next    int32 // of the same series, in order of arrival; -1: none
	partial bool  // some of its points lie under tombstones
}

// line is one series of a batch.
type line struct {
	id          uint64
	first, last int32 // pieces
	rows        int
	owner       owner
	covered     ceiling.Steps // of its source and metric
	whole       bool          // the source itself is deleted
	receivedAt  int64
}

// sorter is what a batch is sorted with. It serves the next one, too.
type sorter struct {
	pieces []piece
	lines  []line
	known  map[uint64]int32 // lines by the ids of their series
	order  []int32
	floors map[owner]uint64 // the lowest version of each source
}

func newSorter() *sorter {
	return &sorter{known: map[uint64]int32{}, floors: map[owner]uint64{}}
}

// arrange fills the columns.
func (b *batch) arrange() {
	s, ok := b.c.sorters.Get()
	if !ok {
		s = newSorter()
	}
	defer b.c.sorters.Put(s, 1)
	pieces, lines := b.gather(s)
	order := s.order[:0]
	numbers, texts := 0, 0
	for i := range lines {
		order = append(order, int32(i))
		if pieces[lines[i].first].span.Kind == pointblock.KindString {
			texts += lines[i].rows
		} else {
			numbers += lines[i].rows
		}
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Compare(lines[x].id, lines[y].id) })
	s.order = order
	b.columns.grow(numbers, texts, len(lines))
	w := writer{columns: b.columns}
	for _, i := range order {
		l := &lines[i]
		b.describe(l, pieces)
		if pieces[l.first].span.Kind == pointblock.KindString {
			w.texts(l, pieces)
		} else {
			w.numbers(l, pieces)
		}
	}
	clear(s.pieces) // they refer to records
	clear(s.lines)
	for source, at := range b.columns.sources {
		if at == 0 {
			continue
		}
		b.columns.activity = append(b.columns.activity, clickhouse.ActivityRow{
			Workspace: source.Workspace, Source: source.Source, ReceivedAtUS: at,
		})
	}
}

// gather lists the spans that are not wholly under tombstones, by series.
func (b *batch) gather(s *sorter) ([]piece, []line) {
	spans := 0
	for _, rec := range b.records {
		spans += len(rec.Spans)
	}
	pieces, lines, known := slices.Grow(s.pieces[:0], spans), s.lines[:0], s.known
	clear(known)
	for _, rec := range b.records {
		for i := range rec.Spans {
			span := &rec.Spans[i]
			n, ok := known[span.SeriesID]
			if !ok {
				n = int32(len(lines))
				known[span.SeriesID] = n
				lines = append(lines, b.line(rec, span))
			}
			l := &lines[n]
			p := piece{span: span, rec: rec, next: -1}
			if len(l.covered) > 0 && p.bury(l.covered) {
				if !l.whole {
					l.receivedAt = max(l.receivedAt, rec.ReceivedAtUS)
				}
				continue
			}
			at := int32(len(pieces))
			pieces = append(pieces, p)
			if l.first < 0 {
				l.first = at
			} else {
				pieces[l.last].next = at
			}
			l.last = at
			l.rows += span.Count
			l.receivedAt = max(l.receivedAt, rec.ReceivedAtUS)
		}
	}
	for i := range lines {
		l := &lines[i]
		b.columns.sources[l.owner] = max(b.columns.sources[l.owner], l.receivedAt)
	}
	s.pieces, s.lines = pieces, lines
	return pieces, slices.DeleteFunc(lines, func(l line) bool { return l.first < 0 })
}

// line begins the series of a span.
func (b *batch) line(rec *record, span *pointblock.Span) line {
	key := owner{Workspace: rec.Workspace, Source: span.Source}
	covers := b.tombstonesOf(key)
	return line{
		id: span.SeriesID, first: -1, last: -1, owner: key, covered: covers.of(span.Metric),
		whole: covers != nil && covers.whole,
	}
}

// tombstonesOf returns what the tombstones of a source cover; nil: nothing.
func (b *batch) tombstonesOf(source owner) *covering {
	return b.covering[source]
}

// bury reports whether all of the piece lies under tombstones, and notes if some
// of it does.
func (p *piece) bury(covered ceiling.Steps) bool {
	all, some := covered.Cover(p.span.FirstUS, p.span.LastUS, p.rec.version)
	p.partial = some && !all
	return all
}

// describe copies the series' identity unless that was done before.
func (b *batch) describe(l *line, pieces []piece) {
	if b.c.copied.has(l.id) {
		return
	}
	span := pieces[l.first].span
	tags := map[string]string{}
	for _, t := range span.Tags() {
		tags[t.Key] = t.Value
	}
	b.columns.series = append(b.columns.series, clickhouse.SeriesRow{
		ID: l.id, Workspace: l.owner.Workspace, Source: l.owner.Source,
		Metric: string(span.Metric), Tags: tags, Kind: uint8(span.Kind),
	})
}

// grow makes room for so many rows.
func (c *columns) grow(numbers, texts, lines int) {
	p, s := &c.points, &c.states
	p.TS, p.Values = slices.Grow(p.TS, numbers), slices.Grow(p.Values, numbers)
	s.TS, s.Values = slices.Grow(s.TS, texts), slices.Grow(s.Values, texts)
	c.latest = slices.Grow(c.latest, lines)
}
