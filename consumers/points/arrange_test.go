package points

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// rowKey identifies a row in the model.
type rowKey struct {
	series uint64
	ts     int64
}

// TestColumnsEqualThoseOfAModel compares arrange with a simple model that processes row by
// row: the highest version wins, and rows that a tombstone covers are left out.
func TestColumnsEqualThoseOfAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workspace := uuid.UUID{1}
		c := newCore(Deps{Logger: slog.New(slog.DiscardHandler)})
		deleted := drawTombstones(rt, workspace)
		b := &batch{c: c, columns: c.getColumns(), tombstones: tombstonesBySource(nil, deleted, nil)}
		want := map[rowKey]string{}
		versions := map[rowKey]uint64{}
		for i := range rapid.IntRange(1, 12).Draw(rt, "records") {
			rec := drawRecord(rt, workspace, uint64(i+1))
			b.records = append(b.records, rec)
			for s := range rec.Spans {
				span := &rec.Spans[s]
				values := valueStrings(span)
				for n, ts := range span.AppendTimestamps(nil) {
					key := rowKey{span.SeriesID, ts}
					if !covered(deleted, span, ts, rec.version) && rec.version >= versions[key] {
						want[key], versions[key] = values[n], rec.version
					}
				}
			}
		}
		b.arrange()
		requireModel(rt, b.columns, want, versions)
	})
}

func covered(tombstones []registry.Tombstone, span *pointblock.Span, ts int64, version uint64) bool {
	return slices.ContainsFunc(tombstones, func(t registry.Tombstone) bool {
		return t.Source == span.Source && version <= t.Ceiling && (t.Metric == nil || *t.Metric == string(span.Metric())) &&
			(t.FromUS == nil || ts >= *t.FromUS) && (t.ToUS == nil || ts < *t.ToUS)
	})
}

func valueStrings(span *pointblock.Span) []string {
	if span.Kind == pointblock.KindString {
		return span.AppendStrings(nil)
	}
	var values []string
	for _, v := range span.AppendValues(nil) {
		values = append(values, fmt.Sprint(v))
	}
	return values
}

func requireModel(t require.TestingT, c *columns, want map[rowKey]string, versions map[rowKey]uint64) {
	got, newest := map[rowKey]string{}, map[uint64]int64{}
	check := func(series []uint64, ts []int64, version []uint64, text func(int) string) {
		require.Len(t, series, len(ts))
		require.Len(t, version, len(ts))
		for i := range series {
			key := rowKey{series[i], ts[i]}
			_, twice := got[key]
			require.False(t, twice, "a row is there twice")
			require.Equal(t, versions[key], version[i])
			got[key] = text(i)
			newest[key.series] = max(newest[key.series], key.ts)
			if i > 0 {
				require.True(t, series[i-1] < series[i] || series[i-1] == series[i] && ts[i-1] < ts[i], "rows are sorted")
			}
		}
	}
	check(c.points.Series.AppendTo(nil, 0), c.points.TS, c.points.Versions.AppendTo(nil, 0), func(i int) string {
		return fmt.Sprint(c.points.Values[i])
	})
	check(c.states.Series.AppendTo(nil, 0), c.states.TS, c.states.Versions.AppendTo(nil, 0), func(i int) string {
		return c.states.Values[i]
	})
	require.Equal(t, want, got)
	require.Equal(t, len(newest), c.latest.Len())
	for i, series := range c.latest.Series {
		key := rowKey{series, c.latest.TS[i]}
		require.Equal(t, newest[series], key.ts)
		require.Equal(t, versions[key], c.latest.Versions[i])
		if text := c.latest.Texts[i]; text != "" {
			require.Equal(t, want[key], text)
		} else {
			require.Equal(t, want[key], fmt.Sprint(c.latest.Values[i]))
		}
	}
}

// drawSource draws one of few sources, as drawMetric does of metrics, so that records and
// tombstones often have the same.
func drawSource(rt *rapid.T) uuid.UUID {
	return uuid.UUID{2, byte(rapid.IntRange(0, 2).Draw(rt, "source"))}
}

func drawMetric(rt *rapid.T) string { return rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "metric") }

func drawTombstones(rt *rapid.T, workspace uuid.UUID) []registry.Tombstone {
	var drawn []registry.Tombstone
	for range rapid.IntRange(0, 8).Draw(rt, "tombstones") {
		s := registry.Tombstone{
			Workspace: workspace, Source: drawSource(rt), Ceiling: uint64(rapid.IntRange(1, 12).Draw(rt, "ceiling")),
		}
		if rapid.Bool().Draw(rt, "metric?") {
			m := drawMetric(rt)
			s.Metric = &m
		}
		from := rapid.Int64Range(0, 30).Draw(rt, "from")
		to := from + rapid.Int64Range(0, 20).Draw(rt, "length")
		if rapid.Bool().Draw(rt, "from?") {
			s.FromUS = &from
		}
		if rapid.Bool().Draw(rt, "to?") {
			s.ToUS = &to
		}
		drawn = append(drawn, s)
	}
	return drawn
}

func drawRecord(rt *rapid.T, workspace uuid.UUID, version uint64) *record {
	var e pointblock.Encoder
	e.Reset(workspace, 1)
	seen := map[string]bool{}
	for range rapid.IntRange(1, 4).Draw(rt, "series") {
		id := pointblock.Identity{
			Workspace: workspace, Source: drawSource(rt), Metric: drawMetric(rt), Kind: pointblock.KindNumber,
		}
		if rapid.Bool().Draw(rt, "text?") {
			id.Kind = pointblock.KindString
		}
		if key := fmt.Sprint(id); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		ts := rapid.SliceOfNDistinct(rapid.Int64Range(0, 40), 1, 12, rapid.ID).Draw(rt, "ts")
		f := id.Fingerprint(&[16]byte{})
		ref := pointblock.SeriesRef{ID: f.SeriesID(), Fingerprint: f}
		if id.Kind == pointblock.KindNumber {
			values := make([]float64, len(ts))
			for i := range values {
				values[i] = float64(version) + float64(i)/100
			}
			require.NoError(rt, e.AppendNumbers(ref, &id, ts, values))
			continue
		}
		values := make([]string, len(ts))
		for i := range values {
			values[i] = fmt.Sprint(version, strings.Repeat("x", i))
		}
		require.NoError(rt, e.AppendStrings(ref, &id, ts, values))
	}
	rec := &record{kafka: &kgo.Record{}, version: version}
	require.NoError(rt, pointblock.Decode(slices.Clone(e.Bytes()), &rec.Record))
	return rec
}
