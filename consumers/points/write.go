package points

import (
	"cmp"
	"slices"

	"github.com/livegraph/livegraph/internal/ceiling"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// writer decodes spans into columns, one series after the other.
type writer struct {
	columns *columns
	sources []sourceUse
	merger  merger
	values  []float64
	strings []string
	// versions is scratch: the versions of the rows of a series.
	versions []uint64
	touched  int // what touch read
}

// touchedSpans is the number of spans that are touched before they are decoded: so many that the processor
// reads as many of them at the same time as it can, and so few that they stay in its cache.
const touchedSpans = 32

// touch reads some bytes of each span. Spans of one series are far from each other in memory. If each was
// first read when it is decoded, the processor would wait for memory for most of the time; here it reads
// them at the same time.
func (w *writer) touch(spans []batchSpan) {
	touched := 0
	for i := range spans {
		if p := &spans[i]; p.first != p.last { // a single point is in p
			touched += p.span.Count
		}
	}
	for i := range spans {
		if p := &spans[i]; p.first != p.last {
			touched += p.span.Touch()
		}
	}
	w.touched += touched
}

// write writes the spans of one series.
func (w *writer) write(series uint64, spans []batchSpan) {
	source := &w.sources[spans[0].source].id
	latest := clickhouse.LatestRow{Workspace: source.Workspace, Source: source.Source, Series: series}
	var written bool
	if spans[0].strings {
		c := &w.columns.states
		if w.strings, written = writeSeries(w, spans, c, w.strings, decodeStrings); written {
			n := c.Len() - 1
			latest.TS, latest.Text, latest.Version = c.TS[n], c.Values[n], c.Versions.Last()
			w.columns.latest.Append(&latest)
		}
		return
	}
	c := &w.columns.points
	if w.values, written = writeSeries(w, spans, c, w.values, decodeNumbers); written {
		n := c.Len() - 1
		latest.TS, latest.Value, latest.Version = c.TS[n], c.Values[n], c.Versions.Last()
		w.columns.latest.Append(&latest)
	}
}

func decodeStrings(p *batchSpan, values []string) []string { return p.span.AppendStrings(values) }

func decodeNumbers(p *batchSpan, values []float64) []float64 {
	if p.first == p.last {
		return append(values, p.value)
	}
	return p.span.AppendValues(values)
}

// sortSpans sorts the spans of a series by their first time, and reports whether no two of
// them overlap.
func sortSpans(spans []batchSpan) (disjoint bool) {
	disjoint, ordered := true, true
	for i := 1; i < len(spans); i++ {
		ordered = ordered && spans[i].first >= spans[i-1].first
		disjoint = disjoint && spans[i].first > spans[i-1].last
	}
	if ordered {
		return disjoint
	}
	slices.SortStableFunc(spans, func(x, y batchSpan) int { return cmp.Compare(x.first, y.first) })
	disjoint = true
	for i := 1; i < len(spans); i++ {
		disjoint = disjoint && spans[i].first > spans[i-1].last
	}
	return disjoint
}

// writeSeries appends the decoded spans of a series to columns, in the order of time
// and with one row for each time. It returns the scratch memory and reports whether it
// appended any row.
func writeSeries[V float64 | string](
	w *writer, spans []batchSpan, c *clickhouse.Columns[V], scratch []V, decode func(*batchSpan, []V) []V,
) ([]V, bool) {
	begin := c.Len()
	disjoint := sortSpans(spans)
	for i := range spans {
		p := &spans[i]
		from := len(c.TS)
		if p.first == p.last {
			c.TS = append(c.TS, p.first)
		} else {
			c.TS = p.span.AppendTimestamps(c.TS)
		}
		c.Values = decode(p, c.Values)
		if p.partial {
			covered := w.sources[p.source].tombstones.forMetric(p.span.Metric())
			n := from + keepUncovered(p, covered, c.TS[from:], c.Values[from:])
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
	c.Series.Append(spans[0].series, len(c.TS)-begin)
	return scratch, c.Len() > begin
}

// appendIdentity appends the identity of a span's series.
func (w *writer) appendIdentity(p *batchSpan) {
	tags := map[string]string{}
	for _, t := range p.span.Tags() {
		tags[t.Key] = t.Value
	}
	source := &w.sources[p.source].id
	w.columns.series = append(w.columns.series, clickhouse.SeriesRow{
		ID: p.series, Workspace: source.Workspace, Source: source.Source,
		Metric: string(p.span.Metric()), Tags: tags, Kind: uint8(p.span.Kind),
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
