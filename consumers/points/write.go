package points

import (
	"cmp"
	"slices"

	"github.com/livegraph/livegraph/internal/ceiling"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// writer decodes spans into columns, one series after the other.
type writer struct {
	columns *columns
	order   []int32 // scratch: indexes of the spans of a series, in the order of time
	merger  merger
	values  []float64
	strings []string
	// versions is scratch: the versions of the rows of a series.
	versions []uint64
}

// sortSpans returns the spans of a series in the order of their first time, and
// reports whether no two of them overlap.
func (w *writer) sortSpans(run *seriesRun, spans []batchSpan) (order []int32, disjoint bool) {
	w.order = w.order[:0]
	disjoint, ordered := true, true
	for i, last := run.first, (*pointblock.Span)(nil); i >= 0; i = spans[i].next {
		span := spans[i].span
		if last != nil {
			ordered = ordered && span.FirstUS >= last.FirstUS
			disjoint = disjoint && span.FirstUS > last.LastUS
		}
		w.order, last = append(w.order, i), span
	}
	if ordered {
		return w.order, disjoint
	}
	slices.SortStableFunc(w.order, func(x, y int32) int {
		return cmp.Compare(spans[x].span.FirstUS, spans[y].span.FirstUS)
	})
	disjoint = true
	for i := 1; i < len(w.order); i++ {
		disjoint = disjoint && spans[w.order[i]].span.FirstUS > spans[w.order[i-1]].span.LastUS
	}
	return w.order, disjoint
}

// writeNumbers writes a series of numbers.
func (w *writer) writeNumbers(run *seriesRun, spans []batchSpan) {
	c := &w.columns.points
	var written bool
	if w.values, written = writeSeries(w, run, spans, c, w.values, (*pointblock.Span).AppendValues); written {
		n := c.Len() - 1
		w.appendLatest(run, c.TS[n], c.Versions.Last(), c.Values[n], "")
	}
}

// writeStrings writes a series of strings.
func (w *writer) writeStrings(run *seriesRun, spans []batchSpan) {
	c := &w.columns.states
	var written bool
	if w.strings, written = writeSeries(w, run, spans, c, w.strings, (*pointblock.Span).AppendStrings); written {
		n := c.Len() - 1
		w.appendLatest(run, c.TS[n], c.Versions.Last(), 0, c.Values[n])
	}
}

// writeSeries appends the decoded spans of a series to columns, in the order of time
// and with one row for each time. It returns the scratch memory and reports whether it
// appended any row.
func writeSeries[V float64 | string](
	w *writer, run *seriesRun, spans []batchSpan, c *clickhouse.Columns[V], scratch []V,
	decode func(*pointblock.Span, []V) []V,
) ([]V, bool) {
	begin := c.Len()
	order, disjoint := w.sortSpans(run, spans)
	for _, i := range order {
		p := &spans[i]
		from := len(c.TS)
		c.TS = p.span.AppendTimestamps(c.TS)
		c.Values = decode(p.span, c.Values)
		if p.partial {
			n := from + keepUncovered(p, run.covered, c.TS[from:], c.Values[from:])
			c.TS, c.Values = c.TS[:n], c.Values[:n]
		}
		c.Versions.Append(p.rec.version, len(c.TS)-from)
	}
	if !disjoint {
		w.versions = c.Versions.AppendTo(w.versions[:0], begin)
		rows := w.merger.sort(c.TS[begin:], w.versions)
		scratch = reorder(scratch, rows, c.Values[begin:])
		c.TS, c.Values = c.TS[:begin], c.Values[:begin+len(rows)]
		c.Versions.Truncate(begin)
		for _, r := range rows {
			c.TS = append(c.TS, r.ts)
			c.Versions.Append(r.version, 1)
		}
	}
	c.Series.Append(run.id, len(c.TS)-begin)
	return scratch, c.Len() > begin
}

// appendLatest appends a row of table latest.
func (w *writer) appendLatest(run *seriesRun, ts int64, version uint64, value float64, text string) {
	w.columns.latest = append(w.columns.latest, clickhouse.LatestRow{
		Workspace: run.source.Workspace, Source: run.source.Source, Series: run.id, TS: ts, Version: version, Value: value,
		Text: text,
	})
}

// keepUncovered moves the points of a span that no tombstone covers to the front and
// returns their number.
func keepUncovered[V any](p *batchSpan, covered ceiling.Steps, ts []int64, values []V) int {
	n := 0
	for i := range ts {
		if covered.At(ts[i]) < p.rec.version {
			ts[n], values[n] = ts[i], values[i]
			n++
		}
	}
	return n
}

// reorder moves the values of the rows to the front of values, in the order of the rows,
// and returns the scratch memory.
func reorder[V any](scratch []V, order []row, values []V) []V {
	scratch = append(scratch[:0], values...)
	for i, r := range order {
		values[i] = scratch[r.index]
	}
	clear(scratch)
	return scratch[:0]
}
