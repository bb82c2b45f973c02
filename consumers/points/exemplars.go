package points

import (
	"fmt"
	"maps"
	"slices"

	"github.com/livegraph/livegraph/internal/ceiling"
	"github.com/livegraph/livegraph/internal/exemplar"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// checkExemplars returns an error if a text of a record's exemplars is not one of package exemplar.
func checkExemplars(rec *pointblock.Record) error {
	for i := range rec.Exemplars {
		for j, text := range rec.Exemplars[i].AppendStrings(nil) {
			if err := exemplar.Split(text, func(string, float64) {}); err != nil {
				return fmt.Errorf("exemplars[%d].texts[%d]: %w", i, j, err)
			}
		}
	}
	return nil
}

// arrangeExemplars adds the exemplars that no tombstone covers, and their series, to the columns. They are few, and
// ClickHouse sorts them.
func (b *batch) arrangeExemplars(s *sorter) {
	w := writer{columns: b.columns}
	firsts := map[uint64]batchSpan{}
	for _, rec := range b.records {
		for i := range rec.Exemplars {
			span := &rec.Exemplars[i]
			use := b.use(s, sourceID{Workspace: rec.Workspace, Source: span.Source})
			if use.tombstones == nil || !use.tombstones.sourceDeleted {
				use.receivedAt = rec.ReceivedAtUS
			}
			if b.addExemplars(rec, span, use.tombstones.forMetric(span.Metric())) {
				firsts[span.SeriesID] = batchSpan{series: span.SeriesID, span: span, source: int32(len(s.sources) - 1)}
			}
		}
	}
	w.sources = s.sources
	ids := slices.Sorted(maps.Keys(firsts))
	for _, id := range b.c.storedSeries.appendMissing(nil, ids) {
		first := firsts[id]
		w.appendIdentity(&first)
	}
}

// addExemplars adds the exemplars of a series in a record to the columns, and reports whether there were any.
func (b *batch) addExemplars(rec *record, span *pointblock.Span, covered ceiling.Steps) (added bool) {
	times := span.AppendTimestamps(nil)
	for i, text := range span.AppendStrings(nil) {
		if covered.At(times[i]) >= rec.version {
			continue
		}
		added = true
		_ = exemplar.Split(text, func(labels string, value float64) { // checkExemplars has found that it is valid
			b.columns.exemplars = append(b.columns.exemplars, clickhouse.ExemplarRow{
				Series: span.SeriesID, TS: times[i], Labels: labels, Value: value, Version: rec.version,
			})
		})
	}
	return added
}
