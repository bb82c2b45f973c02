package clickhouse_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/testenv"
)

// fillDays stores a point of each series at an interval for a number of days, one day in each
// insert. The values vary slowly and have two decimals.
func fillDays(b *testing.B, address string, series, days int, every time.Duration) {
	b.Helper()
	each := int(24 * time.Hour / every)
	for d := range days {
		testenv.QueryClickHouse(
			b, address,
			fmt.Sprintf(`INSERT INTO points SELECT bitXor(intDiv(number, %[1]d) + 1, 0) * 11400714819323198485,
			fromUnixTimestamp64Micro(toInt64(%[2]d) + (%[3]d * %[1]d + number %% %[1]d) * %[4]d),
			round(20 + 5 * sin(number / 977) + (rand() %% 1000) / 1000, 2), 1 FROM numbers(%[5]d)
			ORDER BY 1, 2 SETTINGS optimize_on_insert = 0, max_partitions_per_insert_block = 0`,
				each, int64(t0), d, every.Microseconds(), series*each),
		)
	}
}

// fillTenMinutes stores ten minutes of series at 1 Hz in each of a number of inserts.
func fillTenMinutes(b *testing.B, address string, series, inserts int) {
	b.Helper()
	for n := range inserts {
		testenv.QueryClickHouse(
			b, address,
			fmt.Sprintf(`INSERT INTO points SELECT (intDiv(number, 600) + 1) * 11400714819323198485,
			fromUnixTimestamp64Micro(toInt64(%d) + (%d + number %% 600) * 1000000),
			round(20 + 5 * sin(number / 977) + (rand() %% 1000) / 1000, 2), 1 FROM numbers(%d) ORDER BY 1, 2
			SETTINGS optimize_on_insert = 0`,
				int64(t0), n*600, 600*series),
		)
	}
}

// awaitMerges waits until no merge runs.
func awaitMerges(b *testing.B, address string) {
	b.Helper()
	require.Eventually(b, func() bool {
		return testenv.QueryClickHouse(b, address, "SELECT count() FROM system.merges") == "0"
	}, time.Minute, time.Second)
}

// benchIDs returns the ids of the first series that fillDays and fillTenMinutes store.
func benchIDs(n int) (ids []uint64) {
	for s := range n {
		ids = append(ids, uint64(s+1)*11400714819323198485)
	}
	return ids
}

// timeAggregate returns the time of a query, which must return the given number of groups.
func timeAggregate(b *testing.B, db *clickhouse.DB, ask *timeseries.AggregateQuery, groups int) time.Duration {
	b.Helper()
	began := time.Now()
	found, _, err := timeseries.New(db).Aggregate(b.Context(), *ask)
	took := time.Since(began)
	require.NoError(b, err)
	require.Len(b, found, groups)
	return took
}

// rollUpAll runs passes until all points up to a time are rolled up.
func rollUpAll(b *testing.B, db *clickhouse.DB, nowUS int64) (points uint64, took time.Duration) {
	b.Helper()
	for {
		began := time.Now()
		report, err := db.RollUp(b.Context(), clickhouse.RollupPass{NowUS: nowUS})
		require.NoError(b, err)
		took += time.Since(began)
		points += report.Points
		if report.Clean.UnixMicro() >= nowUS {
			return points, took
		}
	}
}

// BenchmarkRollUp measures the cost of an hour of 1,000 series at 1 Hz: as a new hour, and
// again after one late point of each series.
func BenchmarkRollUp(b *testing.B) {
	if b.N > 1 {
		b.Skip("one iteration is enough: -benchtime 1x")
	}
	const series, hours = 1000, 2
	db, address := open(b)
	fillTenMinutes(b, address, series, hours*6)
	points, took := rollUpAll(b, db, t0+hours*3600*second)
	b.ReportMetric(float64(took.Nanoseconds())/float64(points), "new-ns/point")
	ids := benchIDs(series)
	slices.Sort(ids)
	late := &clickhouse.PointColumns{}
	for _, id := range ids {
		late.Append(id, t0+1800*second, 1, 2)
	}
	require.NoError(b, db.InsertPoints(b.Context(), late))
	var again time.Duration
	var computed uint64
	for range 3 {
		began := time.Now()
		report, err := db.RollUp(b.Context(), clickhouse.RollupPass{NowUS: t0})
		require.NoError(b, err)
		again += time.Since(began)
		computed += report.Points
	}
	require.EqualValues(b, series*3600, computed)
	b.ReportMetric(float64(again.Nanoseconds())/float64(computed), "again-ns/point")
	testenv.QueryClickHouse(b, address, "OPTIMIZE TABLE rollup_1m FINAL")
	for _, table := range []string{"rollup_1m", "rollup_1h"} {
		var rows, bytes float64
		_, err := fmt.Sscan(
			testenv.QueryClickHouse(
				b, address,
				"SELECT sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase() AND "+
					"table = '"+table+"'",
			),
			&rows, &bytes,
		)
		require.NoError(b, err)
		b.ReportMetric(bytes/rows, table+"-B/row")
	}
}

// BenchmarkRolledDashboards queries a day by the minute and a month by the hour, of 100 series
// with a point every ten seconds, from points and from rollups.
func BenchmarkRolledDashboards(b *testing.B) {
	if b.N > 1 {
		b.Skip("one iteration is enough: -benchtime 1x")
	}
	const series, days, rounds = 100, 30, 20
	db, address := open(b)
	fillDays(b, address, series, days, 10*time.Second)
	end := int64(t0) + days*24*3600*second
	points, took := rollUpAll(b, db, end)
	b.ReportMetric(float64(took.Nanoseconds())/float64(points), "rollup-ns/point")
	for _, q := range []struct {
		name string
		from int64
		step time.Duration
	}{{"day-by-1m", end - 24*3600*second, time.Minute}, {"month-by-1h", t0, time.Hour}} {
		ask := timeseries.AggregateQuery{Range: timeseries.Range{FromUS: q.from, ToUS: end}, Limit: 1_000_000,
			Grid:      timeseries.NewGrid(q.step, time.UTC, q.from, end),
			Functions: []timeseries.Function{timeseries.Avg, timeseries.Min, timeseries.Max}}
		ask.Series = benchIDs(series)
		for s := range series {
			ask.Groups = append(ask.Groups, s)
		}
		for _, raw := range []bool{true, false} {
			ask.PointsOnly = raw
			var times []time.Duration
			for range rounds {
				times = append(times, timeAggregate(b, db, &ask, series))
			}
			slices.Sort(times)
			from := map[bool]string{true: "raw", false: "rollup"}[raw]
			b.ReportMetric(float64(times[rounds/2].Milliseconds()), q.name+"-"+from+"-p50-ms")
			b.ReportMetric(float64(times[rounds*95/100].Milliseconds()), q.name+"-"+from+"-p95-ms")
		}
	}
}

// BenchmarkDashboardsOfPoints queries hours of 1,000 series at 1 Hz before there are rollups: with
// FINAL, by part, and with buckets that are grouped in this process. The points are stored as the
// consumer does under load, ten minutes of all series in each insert.
func BenchmarkDashboardsOfPoints(b *testing.B) {
	if b.N > 1 {
		b.Skip("one iteration is enough: -benchtime 1x")
	}
	const series, inserts, rounds = 1000, 33, 10
	db, address := open(b)
	fillTenMinutes(b, address, series, inserts)
	awaitMerges(b, address)
	from, to := int64(t0), int64(t0)+5*3600*second
	for _, q := range []struct {
		name     string
		series   int
		groups   int
		step     time.Duration
		function timeseries.Function
	}{
		{"avg-1m", 100, 100, time.Minute, timeseries.Avg}, {"max-10s", 100, 100, 10 * time.Second, timeseries.Max},
		{"rate-1m", 100, 100, time.Minute, timeseries.Rate}, {"all-avg-1m", series, 1, time.Minute, timeseries.Avg},
		{"last-1h", 100, 100, time.Hour, timeseries.Last},
	} {
		ask := timeseries.AggregateQuery{
			Range: timeseries.Range{FromUS: from, ToUS: to}, Limit: 1_000_000,
			Grid: timeseries.NewGrid(q.step, time.UTC, from, to), Functions: []timeseries.Function{q.function},
		}
		ask.Series = benchIDs(q.series)
		for s := range q.series {
			ask.Groups = append(ask.Groups, s%q.groups)
		}
		for _, how := range []string{"final", "by-part", "in-process"} {
			ask.PointsOnly, ask.FineFrom = how == "final", math.MaxInt
			if how == "in-process" {
				if q.name != "max-10s" {
					continue
				}
				ask.FineFrom = 0
			}
			var times []time.Duration
			for range rounds {
				times = append(times, timeAggregate(b, db, &ask, q.groups))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[rounds/2].Microseconds())/1000, q.name+"-"+how+"-p50-ms")
		}
	}
}

// BenchmarkQueriesOfFewRows queries minutes and hours of few of 1,000 series at 1 Hz, whose rollups end twenty minutes
// before the newest points: grouped by ClickHouse, and in this process.
func BenchmarkQueriesOfFewRows(b *testing.B) {
	if b.N > 1 {
		b.Skip("one iteration is enough: -benchtime 1x")
	}
	const series, inserts, rounds = 1000, 32, 40
	db, address := open(b)
	fillTenMinutes(b, address, series, inserts)
	end := int64(t0) + inserts*600*second
	rollUpAll(b, db, int64(t0)+5*3600*second)
	awaitMerges(b, address)
	for _, q := range []struct {
		name   string
		series int
		from   int64
		to     int64
		step   time.Duration
	}{
		{"5m-by-10s-of-10", 10, end - 300*second, end, 10 * time.Second},
		{"30m-by-1m-of-20", 20, end - 1800*second, end, time.Minute},
		{"4h-by-1m-of-10", 10, end - 4*3600*second + second, end, time.Minute},
		{"4h-by-10m-of-20", 20, end - 4*3600*second + second, end, 10 * time.Minute},
	} {
		ask := timeseries.AggregateQuery{
			Range: timeseries.Range{FromUS: q.from, ToUS: q.to}, Limit: 1_000_000, Series: benchIDs(q.series),
			Grid: timeseries.NewGrid(q.step, time.UTC, q.from, q.to), Functions: []timeseries.Function{timeseries.Avg},
		}
		for s := range q.series {
			ask.Groups = append(ask.Groups, s)
		}
		var times [2][]time.Duration
		for range rounds {
			for how, fineFrom := range [2]int{math.MaxInt, 0} {
				ask.FineFrom = fineFrom
				times[how] = append(times[how], timeAggregate(b, db, &ask, q.series))
			}
		}
		for how, name := range [2]string{"by-clickhouse", "in-process"} {
			slices.Sort(times[how])
			b.ReportMetric(float64(times[how][rounds/2].Microseconds())/1000, q.name+"-"+name+"-p50-ms")
		}
	}
}
