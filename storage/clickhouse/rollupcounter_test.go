package clickhouse_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/testenv"
)

// counterQuery asks for the deltas of series 0 by hour, from 10 minutes and a half before t0.
func counterQuery() timeseries.AggregateQuery {
	all := timeseries.Range{FromUS: t0 - 10*minute - 30*second, ToUS: t0 + 12*hour}
	return timeseries.AggregateQuery{
		Series: []uint64{id(0)}, Groups: []int{0}, Range: all, Limit: 1000,
		Grid:      timeseries.NewGrid(time.Hour, time.UTC, all.FromUS, all.ToUS),
		Functions: []timeseries.Function{timeseries.Delta, timeseries.Rate},
	}
}

// storeCounter stores a counter that rises by one each minute and restarts every 100 minutes.
func (r *rollupFixture) storeCounter() {
	r.t.Helper()
	c := r.columns(r.nextVersion(), every(minute, t0-hour, t0+12*hour, id(0))...)
	for i := range c.Values {
		c.Values[i] = float64(i % 100)
	}
	require.NoError(r.t, r.InsertPoints(r.t.Context(), c))
}

func TestCountersAreReadFromRollups(t *testing.T) {
	r := newRollupFixture(t, 1)
	r.storeCounter()
	r.rollUpFully(t0 + 2*day)
	before := r.reads("rollup_1h")
	found, more, err := r.Aggregate(t.Context(), counterQuery())
	require.NoError(t, err)
	require.False(t, more)
	require.Greater(t, r.reads("rollup_1h"), before)
	require.Len(t, found[0].TS, 13)
	require.InDelta(t, 10, found[0].Columns[0].Numbers[0], 1e-9, "up to the last point before t0")
	for _, delta := range found[0].Columns[0].Numbers[1:] { // the value falls to 0 at a restart, which adds nothing
		require.Contains(t, []float64{59, 60}, delta)
	}
	r.requireSame(counterQuery(), "rollups")
}

// TestRollupsWithoutIncreasesAreNotUsedForCounters reads rollups that were written before the column existed.
func TestRollupsWithoutIncreasesAreNotUsedForCounters(t *testing.T) {
	r := newRollupFixture(t, 1)
	r.storeCounter()
	r.rollUpFully(t0 + 2*day)
	for _, table := range []string{clickhouse.TableMinutes, clickhouse.TableHours} {
		testenv.QueryClickHouse(t, r.URL.String(), "INSERT INTO "+table+` (series, ts, points, total, lowest, highest,
			first, last, first_us, last_us, version) SELECT series, ts, points, total, lowest, highest, first, last, first_us,
			last_us, version + 1 FROM `+table+" FINAL")
	}
	points := r.reads(clickhouse.SourcePoints)
	r.requireSame(counterQuery(), "rollups without increases")
	require.Greater(t, r.reads(clickhouse.SourcePoints), points+1, "the query is repeated")
}
