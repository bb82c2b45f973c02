package points

import (
	"cmp"
	"slices"

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
	graves      []grave
	receivedAt  int64
}

// sorter is what a batch is sorted with. It serves the next one, too.
type sorter struct {
	pieces []piece
	lines  []line
	known  map[uint64]int32 // lines by the ids of their series
	order  []int32
}

// arrange fills the columns.
func (b *batch) arrange() {
	s, ok := b.c.sorters.Take()
	if !ok {
		s = &sorter{known: map[uint64]int32{}}
	}
	defer b.c.sorters.Give(s, 1)
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
			Workspace: source.workspace, Source: source.source, ReceivedAtUS: at,
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
				key := owner{rec.Workspace, span.Source}
				lines = append(lines, line{id: span.SeriesID, first: -1, last: -1, owner: key, graves: b.c.graves.of(key)})
			}
			l := &lines[n]
			p := piece{span: span, rec: rec, next: -1}
			if len(l.graves) > 0 && p.bury(l.graves) {
				if !wholeGone(l.graves) {
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

// bury reports whether all of the piece lies under tombstones, and notes if some
// of it does.
func (p *piece) bury(graves []grave) bool {
	for _, g := range graves {
		all, some := g.holds(p.span, p.rec.version)
		if all {
			return true
		}
		p.partial = p.partial || some
	}
	return false
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
		ID: l.id, Workspace: l.owner.workspace, Source: l.owner.source,
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
