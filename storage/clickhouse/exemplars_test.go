package clickhouse_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// exemplarsOf returns the exemplars of some series as "series@time labels value".
func exemplarsOf(t *testing.T, db *clickhouse.DB, q timeseries.ExemplarQuery) (text string, more bool) {
	t.Helper()
	found, more, err := timeseries.New(db).Exemplars(t.Context(), q)
	require.NoError(t, err)
	var lines []string
	for _, id := range q.Series {
		for _, x := range found[id] {
			lines = append(lines, fmt.Sprintf("%d@%d %s %v", id, x.TS, x.Labels, x.Value))
		}
	}
	return strings.Join(lines, "\n"), more
}

func TestExemplarsAreReadByTimeAndLabels(t *testing.T) {
	db, _ := open(t)
	row := func(series uint64, ts int64, labels string, value float64, version uint64) clickhouse.ExemplarRow {
		return clickhouse.ExemplarRow{Series: series, TS: ts, Labels: labels, Value: value, Version: version}
	}
	require.NoError(t, db.InsertExemplars(t.Context(), []clickhouse.ExemplarRow{
		row(2, 5, "b", 1, 3), row(1, 7, "a", 2, 3), row(2, 5, "a", 3, 3), row(2, 4, "a", 4, 3), row(2, 6, "a", 5, 9),
	}))
	require.NoError(t, db.InsertExemplars(t.Context(), []clickhouse.ExemplarRow{
		row(2, 5, "b", 10, 2), row(2, 4, "a", 40, 4),
	}))
	all := timeseries.ExemplarQuery{Series: []uint64{1, 2, 3}, Range: timeseries.Range{ToUS: 100}, Limit: 5}
	text, more := exemplarsOf(t, db, all)
	require.Equal(t, "1@7 a 2\n2@4 a 40\n2@5 a 3\n2@5 b 1\n2@6 a 5", text, "the highest version of each")
	require.False(t, more)

	q := all
	q.Limit = 4
	text, more = exemplarsOf(t, db, q)
	require.True(t, more)
	require.Equal(t, 4, strings.Count(text, "@"))

	q = all
	q.Range = timeseries.Range{FromUS: 5, ToUS: 7, KeptFrom: timeseries.KeptFrom{2: 6}}
	text, _ = exemplarsOf(t, db, q)
	require.Equal(t, "2@6 a 5", text, "within the range and the retention")

	q.Range = timeseries.Range{ToUS: 100, Hidden: timeseries.Hidden{}}
	q.Range.Hidden.Add(2, clickhouse.Deletion{Ceiling: 4}, false)
	text, _ = exemplarsOf(t, db, q)
	require.Equal(t, "1@7 a 2\n2@6 a 5", text, "what a deletion covers is hidden")
}

func TestExemplarsEndWithTheirRetention(t *testing.T) {
	db, _ := open(t)
	d := insertDeletable(t, db)
	const hour = int64(time.Hour / time.Microsecond)
	require.NoError(t, db.InsertExemplars(t.Context(), []clickhouse.ExemplarRow{
		{Series: 4, TS: hour - 1, Labels: "{}", Version: 1}, {Series: 4, TS: hour, Labels: "{}", Version: 1},
		{Series: 3, TS: 5, Labels: "{}", Version: 1}, // of another source
	}))
	sources := []clickhouse.SourceID{{Workspace: d.Workspace, Source: d.Source}}
	_, err := db.Expire(t.Context(), sources, hour+5, func(context.Context, time.Duration) error { return nil })
	require.NoError(t, err)
	text, _ := exemplarsOf(t, db, timeseries.ExemplarQuery{
		Series: []uint64{3, 4}, Range: timeseries.Range{ToUS: 2 * hour}, Limit: 10,
	})
	require.Equal(t, "3@5 {} 0\n4@3600000000 {} 0", text)
}
