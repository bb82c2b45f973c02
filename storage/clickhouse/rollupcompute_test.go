package clickhouse_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/testenv"
)

// TestMinutesInSeveralPartsAreComputedWithoutFinal stores every third point of each minute in a separate part, in
// no order of time.
func TestMinutesInSeveralPartsAreComputedWithoutFinal(t *testing.T) {
	r := newRollupFixture(t, 3)
	testenv.QueryClickHouse(t, r.URL.String(), "SYSTEM STOP MERGES points")
	for _, offset := range []int64{2, 0, 1} {
		points := every(3*second, t0+offset*second, t0+3*hour, ids(3)...)
		require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), points...)))
	}
	r.pass(t0 + 3*hour)
	report := r.pass(t0 + 3*hour)
	require.Zero(t, report.Repeated)
	require.EqualValues(t, 3*3*3600, report.Points)
	require.EqualValues(t, 3*3*60, report.Minutes)
	r.requireSame(r.dayByHour(3), "points of several parts")
}

// TestPointsWithSeveralRowsAreComputedOnce overwrites points before and after their hours are computed.
func TestPointsWithSeveralRowsAreComputedOnce(t *testing.T) {
	r := newRollupFixture(t, 3)
	testenv.QueryClickHouse(t, r.URL.String(), "SYSTEM STOP MERGES points")
	for range 2 {
		points := every(second, t0, t0+2*hour, ids(3)...)
		c := r.columns(r.nextVersion(), points...)
		for i := range c.Values {
			c.Values[i] += float64(r.version)
		}
		require.NoError(t, r.InsertPoints(t.Context(), c))
	}
	r.pass(t0 + 2*hour)
	report := r.pass(t0 + 2*hour)
	require.Equal(t, 1, report.Repeated, "only the first statement is tried without FINAL")
	require.EqualValues(t, 3*2*3600, report.Points)
	r.requireSame(r.dayByHour(3), "points that were overwritten before")

	overwritten := point{Series: id(1), TS: t0 + 30*minute, Value: 1e6}
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), overwritten)))
	first, second := r.pass(t0+2*hour), r.pass(t0+2*hour)
	require.Equal(t, 1, first.Repeated+second.Repeated)
	r.requireSame(r.dayByHour(3), "a point that was overwritten afterwards")
}

// TestASeriesThatExceedsTheMemoryOfAStatementIsComputedWithFinal stores an hour of one series whose arrays
// need more memory than a statement may use. Such a statement cannot be divided further.
func TestASeriesThatExceedsTheMemoryOfAStatementIsComputedWithFinal(t *testing.T) {
	const points, memory = 12_000_000, 160 << 20
	r := newRollupFixture(t, 1)
	testenv.QueryClickHouse(t, r.URL.String(), fmt.Sprintf(`
		INSERT INTO points SELECT %d, fromUnixTimestamp64Micro(toInt64(%d + number * %d)), number %% 977, %d
		FROM numbers(%d)`, id(0), t0, hour/points, r.nextVersion(), points))
	var computed clickhouse.RollupReport
	for computed.Points == 0 {
		var err error
		computed, err = r.RollUp(t.Context(), clickhouse.RollupPass{NowUS: t0 + hour, Memory: memory})
		require.NoError(t, err)
	}
	require.Equal(t, 1, computed.Repeated)
	require.EqualValues(t, points, computed.Points)
	require.EqualValues(t, 60, computed.Minutes)
	r.requireSame(r.dayByHour(1), "a series with more points than fit into memory")
}
