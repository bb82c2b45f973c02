package points

import (
	"cmp"
	"slices"

	"github.com/livegraph/livegraph/internal/ceiling"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// writer decodes spans into columns, series after series.
type writer struct {
	columns *columns
	spans   []int32 // scratch: the pieces of a series in order of time
	merger  merger
	values  []float64
	strings []string
	// versions is scratch: those of the rows of a series.
	versions []uint64
}

// sorted returns the pieces of a series in the order of their first time, and
// whether they lie one after the other.
func (w *writer) sorted(l *line, pieces []piece) (order []int32, apart bool) {
	w.spans = w.spans[:0]
	apart, ordered := true, true
	for at, last := l.first, (*pointblock.Span)(nil); at >= 0; at = pieces[at].next {
		span := pieces[at].span
		if last != nil {
			ordered = ordered && span.FirstUS >= last.FirstUS
			apart = apart && span.FirstUS > last.LastUS
		}
		w.spans, last = append(w.spans, at), span
	}
	if ordered {
		return w.spans, apart
	}
	slices.SortStableFunc(w.spans, func(x, y int32) int {
		return cmp.Compare(pieces[x].span.FirstUS, pieces[y].span.FirstUS)
	})
	apart = true
	for i := 1; i < len(w.spans); i++ {
		apart = apart && pieces[w.spans[i]].span.FirstUS > pieces[w.spans[i-1]].span.LastUS
	}
	return w.spans, apart
}

// numbers writes a series of numbers.
func (w *writer) numbers(l *line, pieces []piece) {
	c := &w.columns.points
	var newest bool
	if w.values, newest = write(w, l, pieces, c, w.values, (*pointblock.Span).AppendValues); newest {
		n := c.Len() - 1
		w.newest(l, c.TS[n], c.Versions.Last(), c.Values[n], "")
	}
}

// texts writes a series of texts.
func (w *writer) texts(l *line, pieces []piece) {
	c := &w.columns.states
	var newest bool
	if w.strings, newest = write(w, l, pieces, c, w.strings, (*pointblock.Span).AppendTexts); newest {
		n := c.Len() - 1
		w.newest(l, c.TS[n], c.Versions.Last(), 0, c.Values[n])
	}
}

// write decodes the pieces of a series into the end of columns, in the order of
// time and each time once, and reports whether there was any row. It gives the
// scratch back.
func write[V float64 | string](
	w *writer, l *line, pieces []piece, c *clickhouse.Columns[V], scratch []V, decode func(*pointblock.Span, []V) []V,
) ([]V, bool) {
	begin := c.Len()
	order, apart := w.sorted(l, pieces)
	for _, at := range order {
		p := &pieces[at]
		from := len(c.TS)
		c.TS = p.span.AppendTimestamps(c.TS)
		c.Values = decode(p.span, c.Values)
		if p.partial {
			n := from + exhume(p, l.covered, c.TS[from:], c.Values[from:])
			c.TS, c.Values = c.TS[:n], c.Values[:n]
		}
		c.Versions.Append(p.rec.version, len(c.TS)-from)
	}
	if !apart {
		w.versions = c.Versions.AppendTo(w.versions[:0], begin)
		rows := w.merger.order(c.TS[begin:], w.versions)
		scratch = pick(scratch, rows, c.Values[begin:])
		c.TS, c.Values = c.TS[:begin], c.Values[:begin+len(rows)]
		c.Versions.Truncate(begin)
		for _, r := range rows {
			c.TS = append(c.TS, r.ts)
			c.Versions.Append(r.version, 1)
		}
	}
	c.Series.Append(l.id, len(c.TS)-begin)
	return scratch, c.Len() > begin
}

// newest offers a point to table latest.
func (w *writer) newest(l *line, ts int64, version uint64, value float64, text string) {
	w.columns.latest = append(w.columns.latest, clickhouse.LatestRow{
		Workspace: l.owner.Workspace, Source: l.owner.Source, Series: l.id, TS: ts, Version: version, Value: value,
		Text: text,
	})
}

// exhume keeps of a piece's points those that lie under no tombstone, and gives
// how many they are.
func exhume[V any](p *piece, covered ceiling.Steps, ts []int64, values []V) int {
	n := 0
	for i := range ts {
		if covered.At(ts[i]) < p.rec.version {
			ts[n], values[n] = ts[i], values[i]
			n++
		}
	}
	return n
}

// pick puts the values of the rows to the front, in their order.
func pick[V any](scratch []V, order []row, values []V) []V {
	scratch = append(scratch[:0], values...)
	for i, r := range order {
		values[i] = scratch[r.at]
	}
	clear(scratch)
	return scratch[:0]
}
