package timeseries_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	t0     = chtest.T0
	second = 1_000_000
)

// store is a chtest.Store with helpers of these tests.
type store struct {
	*chtest.Store
	t *testing.T
}

type point = chtest.Point

var row = chtest.Row

func TestMain(m *testing.M) {
	testenv.ReduceCases()
	os.Exit(m.Run())
}

func newStore(t *testing.T) *store {
	t.Helper()
	return &store{chtest.New(t), t}
}

// Aggregate runs a query twice, so that rows are grouped in this process, if it can, and by ClickHouse. Both results
// must be equal except for rounding.
func (s *store) Aggregate(
	ctx context.Context, q timeseries.AggregateQuery,
) (found map[int]*timeseries.Points, more bool, err error) {
	s.t.Helper()
	found, more, err = s.Store.Aggregate(ctx, q)
	if err != nil || q.FineFrom != 0 {
		return found, more, err
	}
	q.FineFrom = math.MaxInt
	other, otherMore, err := s.Store.Aggregate(ctx, q)
	require.NoError(s.t, err)
	require.Equal(s.t, otherMore, more)
	if !more {
		require.Len(s.t, found, len(other))
		for group, p := range other {
			require.Equal(s.t, textOf(p), textOf(found[group]))
		}
	}
	return found, more, nil
}

// textOf returns the points as text, with nine digits of each number.
func textOf(p *timeseries.Points) string {
	text := fmt.Sprint(p.TS)
	for _, c := range p.Columns {
		text += fmt.Sprintf(" %.9g", c.Numbers)
		for _, s := range c.Strings {
			if s == nil {
				text += " nil"
				continue
			}
			text += fmt.Sprintf(" %q", *s)
		}
	}
	return text
}

func TestRawPointsHaveTheNewestVersionInOrder(t *testing.T) {
	s := newStore(t)
	s.Insert(t, "points", row(1, t0, 10, 1), row(1, t0+1, 11, 2), row(1, t0+2, 12, 3), row(2, t0, 20, 1))
	s.Insert(t, "points", row(1, t0, 100, 9), row(1, t0+1, 0, 1), row(3, t0, 30, 1))
	s.Insert(t, "states", row(5, t0, `it's \ "on" 🚀`, 1), row(5, t0+1, "", 1))

	query := func(q timeseries.RawQuery) (map[uint64]*timeseries.Points, bool) {
		if q.Range.ToUS == 0 {
			q.Range = chtest.Everything
		}
		found, more, err := s.RawPoints(t.Context(), q)
		require.NoError(t, err)
		return found, more
	}
	found, more := query(timeseries.RawQuery{Numbers: []uint64{1, 2, 4}, Strings: []uint64{5}, Limit: 6})
	require.False(t, more)
	require.Len(t, found, 3)
	require.Equal(t, []int64{t0, t0 + 1, t0 + 2}, found[1].TS)
	require.Equal(t, []float64{100, 11, 12}, found[1].Columns[0].Numbers)
	require.Equal(t, []int64{t0, t0 + 1}, found[5].TS)
	require.Equal(t, `it's \ "on" 🚀`, *found[5].Columns[0].Strings[0])
	require.Equal(t, "", *found[5].Columns[0].Strings[1])

	_, more = query(timeseries.RawQuery{Numbers: []uint64{1, 2, 4}, Strings: []uint64{5}, Limit: 5})
	require.True(t, more)
	for limit, want := range map[int]bool{7: true, 8: false} { // the first string has 16 bytes
		_, more = query(timeseries.RawQuery{
			Numbers: []uint64{1, 2, 4}, Strings: []uint64{5}, Limit: limit, TextUnit: 8,
		})
		require.Equal(t, want, more, limit)
	}
	found, more = query(timeseries.RawQuery{Numbers: []uint64{1}, Limit: 2, Descending: true})
	require.True(t, more)
	require.Equal(t, []int64{t0 + 2, t0 + 1}, found[1].TS)
	found, more = query(timeseries.RawQuery{
		Numbers: []uint64{1}, Limit: 2, Range: timeseries.Range{FromUS: t0 + 1, ToUS: t0 + 2},
	})
	require.False(t, more)
	require.Equal(t, []int64{t0 + 1}, found[1].TS)
	found, more = query(timeseries.RawQuery{Limit: 5})
	require.False(t, more)
	require.Empty(t, found)
}

func TestLatestPointsAreOfTheWorkspaceAndSourcesAsked(t *testing.T) {
	s := newStore(t)
	ws, other, pump, fan := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	row := func(ws, source uuid.UUID, series uint64, ts int64, value float64, text string, version uint64) {
		s.Exec(
			t,
			fmt.Sprintf(
				"INSERT INTO latest (workspace, source, series, ts, value, text, version) VALUES "+
					"('%s','%s',%d,fromUnixTimestamp64Micro(%d),%v,'%s',%d)",
				ws, source, series, ts, value, text, version,
			),
		)
	}
	row(ws, pump, 1, t0, 1, "", 5)
	row(ws, pump, 1, t0+1, 2, "", 3) // a later time with a lower version
	row(ws, pump, 1, t0+1, 3, "", 4)
	row(ws, fan, 2, t0, 0, "on", 1)
	row(other, pump, 3, t0, 9, "", 1)
	row(ws, fan, 4, t0, 7, "", 1)
	row(ws, uuid.New(), 5, t0, 7, "", 1)
	q := timeseries.LatestQuery{Workspace: ws, Series: []timeseries.LatestSeries{
		{ID: 1, Source: pump}, {ID: 3, Source: pump}, {ID: 2, Source: fan, IsString: true}}}
	query := func(q timeseries.LatestQuery) map[uint64]*timeseries.Points {
		t.Helper()
		points, err := s.LatestPoints(t.Context(), q)
		require.NoError(t, err)
		require.Len(t, points, len(q.Series))
		found := map[uint64]*timeseries.Points{}
		for i, p := range points {
			if p != nil {
				found[q.Series[i].ID] = p
			}
		}
		return found
	}
	// Other series of a source are not returned.
	for _, complete := range [][]uuid.UUID{nil, {pump}, {fan}, {pump, fan}} {
		q.CompleteSources, q.FromUS = complete, 0
		found := query(q)
		require.Len(t, found, 2, complete)
		require.Equal(t, []int64{t0 + 1}, found[1].TS)
		require.Equal(t, []float64{3}, found[1].Columns[0].Numbers)
		require.Equal(t, "on", *found[2].Columns[0].Strings[0])
		q.FromUS = t0 + 1
		require.Len(t, query(q), 1, complete)
	}
	q.FromUS, q.KeptFrom = 0, timeseries.KeptFrom{1: t0 + 2}
	require.Len(t, query(q), 1)
	require.Empty(t, query(timeseries.LatestQuery{Workspace: ws}))
}

func TestAggregatesCountEachPointOnceInItsBucket(t *testing.T) {
	s := newStore(t)
	for i, v := range []float64{4, 1, 3, 2} {
		s.Insert(t, "points", row(1, t0+int64(i)*second, v, 1))
	}
	s.Insert(
		t, "points", row(1, t0, 999, 0), row(2, t0, 10, 1), row(1, t0+60*second, 7, 1),
		row(2, t0+3*second, 20, 1),
	)
	all := timeseries.Functions()
	query := func(q timeseries.AggregateQuery) map[int]*timeseries.Points {
		q.Range, q.Limit = timeseries.Range{FromUS: t0 - second, ToUS: t0 + 3600*second}, 100
		found, more, err := s.Aggregate(t.Context(), q)
		require.NoError(t, err)
		require.False(t, more)
		return found
	}
	row := func(p *timeseries.Points, i int) (out []float64) {
		for _, c := range p.Columns {
			out = append(out, c.Numbers[i])
		}
		return out
	}
	grid := timeseries.NewGrid(time.Minute, time.UTC, t0-second, t0+3600*second)
	found := query(timeseries.AggregateQuery{Series: []uint64{1, 2}, Groups: []int{0, 1}, Grid: grid, Functions: all})
	require.Equal(t, []int64{t0, t0 + 60*second}, found[0].TS)
	require.InDeltaSlice(
		t, []float64{2.5, 1, 4, 10, 4, 4, 2, 1.2909944487358056, 2.5, 3.7, 3.85, 3.97, 5. / 3, 5}, row(found[0], 0), 1e-9,
	)
	single := row(found[0], 1)
	require.True(t, math.IsNaN(single[7]), "one value has no deviation")
	require.InDelta(t, 15, row(found[1], 0)[0], 0)

	found = query(timeseries.AggregateQuery{
		Series: []uint64{1, 2}, Groups: []int{0, 0},
		Functions: []timeseries.Function{timeseries.Sum, timeseries.First, timeseries.Last},
	})
	require.Equal(t, []int64{t0 - second}, found[0].TS, "stamped with the range's start")
	require.Equal(t, []float64{47, 4, 7}, row(found[0], 0))

	_, more, err := s.Aggregate(
		t.Context(),
		timeseries.AggregateQuery{Series: []uint64{1, 2}, Groups: []int{0, 1}, Grid: grid,
			Functions: all, Range: chtest.Everything, Limit: 2},
	)
	require.NoError(t, err)
	require.True(t, more)
}

func TestTextsHaveFirstLastAndCount(t *testing.T) {
	s := newStore(t)
	s.Insert(
		t, "states", row(5, t0, "on", 1), row(5, t0+2, "off", 1), row(5, t0+2, "stale", 0),
		row(5, t0+1, "mid", 1),
	)
	found, _, err := s.Aggregate(
		t.Context(),
		timeseries.AggregateQuery{Series: []uint64{5}, Groups: []int{3}, IsString: true,
			Range: chtest.Everything, Functions: timeseries.Functions(), Limit: 10},
	)
	require.NoError(t, err)
	columns := found[3].Columns
	for i, f := range timeseries.Functions() {
		switch f {
		case timeseries.Count:
			require.Equal(t, []float64{3}, columns[i].Numbers)
		case timeseries.First:
			require.Equal(t, "on", *columns[i].Strings[0])
		case timeseries.Last:
			require.Equal(t, "off", *columns[i].Strings[0])
		default:
			require.True(t, math.IsNaN(columns[i].Numbers[0]), f)
		}
	}
}

func TestSumsBeyondTheRangeOfNumbersAreNone(t *testing.T) {
	s := newStore(t)
	s.Insert(t, "points", row(1, t0, 1.7e308, 1), row(1, t0+1, 1.7e308, 1))
	found, _, err := s.Aggregate(
		t.Context(),
		timeseries.AggregateQuery{Series: []uint64{1}, Groups: []int{0}, Range: chtest.Everything,
			Functions: []timeseries.Function{timeseries.Sum, timeseries.Max}, Limit: 10},
	)
	require.NoError(t, err)
	require.True(t, math.IsNaN(found[0].Columns[0].Numbers[0]))
	require.InDelta(t, 1.7e308, found[0].Columns[1].Numbers[0], 0)
}

// TestBucketsInClickHouseAreThoseOfTheGrid stores a point in every half hour of years with
// clock changes and compares their buckets with those of the grid.
func TestBucketsInClickHouseAreThoseOfTheGrid(t *testing.T) {
	s := newStore(t)
	const step, n = int64(1800 * second), 40_000
	for _, from := range []int64{3600 * second, 1_500_000_000 * second} {
		s.Exec(t, "TRUNCATE TABLE "+s.Layout().Stored("points"))
		s.Exec(t, fmt.Sprintf(
			"INSERT INTO points SELECT 1, fromUnixTimestamp64Micro(toInt64(%d + number * %d)), number, 1 FROM numbers(%d) "+
				"SETTINGS max_partitions_per_insert_block = 0",
			from, step, n,
		))
		all := timeseries.Range{FromUS: from, ToUS: from + n*step}
		for _, name := range []string{
			"UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca",
			"Pacific/Apia",
		} {
			zone, err := time.LoadLocation(name)
			require.NoError(t, err)
			for _, interval := range []time.Duration{
				45 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
			} {
				grid := timeseries.NewGrid(interval, zone, all.FromUS, all.ToUS)
				found, more, err := s.Aggregate(
					t.Context(),
					timeseries.AggregateQuery{Series: []uint64{1}, Groups: []int{0}, Range: all,
						Grid: grid, Functions: []timeseries.Function{timeseries.Count}, Limit: 100_000},
				)
				require.NoError(t, err)
				require.False(t, more)
				want := map[int64]float64{}
				for i := range int64(n) {
					want[grid.Start(from+i*step)]++
				}
				got := map[int64]float64{}
				for i, ts := range found[0].TS {
					got[ts] = found[0].Columns[0].Numbers[i]
				}
				require.Equal(t, want, got, "%s %s", name, interval)
			}
		}
	}
}

func TestStatisticsCountExistingPoints(t *testing.T) {
	s := newStore(t)
	s.Insert(t, "points", row(1, t0, 1, 1), row(1, t0, 2, 2), row(1, t0+5, 3, 1), row(2, t0, 1, 1))
	s.Insert(t, "states", row(7, t0+9, "x", 1))
	stats, err := s.SeriesStats(t.Context(), []uint64{1, 99}, []uint64{7}, nil, nil)
	require.NoError(t, err)
	require.Equal(t, map[uint64]timeseries.SeriesStats{
		1: {FirstUS: t0, LastUS: t0 + 5, Count: 2}, 7: {FirstUS: t0 + 9, LastUS: t0 + 9, Count: 1}}, stats)
}

func TestActivityIsTheNewestReceipt(t *testing.T) {
	s := newStore(t)
	ws, pump, fan := uuid.New(), uuid.New(), uuid.New()
	for i, id := range []uuid.UUID{pump, pump} {
		s.Exec(t, fmt.Sprintf(
			"INSERT INTO source_activity VALUES ('%s','%s',fromUnixTimestamp64Micro(%d))", ws, id, t0-int64(i),
		))
	}
	found, err := s.SourceActivity(t.Context(), ws, []uuid.UUID{pump, fan})
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]time.Time{pump: time.UnixMicro(t0).UTC()}, found)
	found, err = s.SourceActivity(t.Context(), uuid.New(), []uuid.UUID{pump})
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestAQueryWithManySeriesAndGroupsRuns(t *testing.T) {
	s := newStore(t)
	q := timeseries.AggregateQuery{Range: chtest.Everything, Functions: []timeseries.Function{timeseries.Sum}, Limit: 10}
	for i := range 100_000 {
		q.Series, q.Groups = append(q.Series, math.MaxUint64-uint64(i)), append(q.Groups, i%7)
	}
	s.Insert(
		t, "points", row(math.MaxUint64-8, t0, 5, 1), row(math.MaxUint64-15, t0, 6, 1),
		row(math.MaxUint64-100_000, t0, 6, 1),
	)
	found, _, err := s.Aggregate(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, []float64{11}, found[1].Columns[0].Numbers)
}

func TestAQueryThatTakesTooLongEndsWithItsDeadline(t *testing.T) {
	s := newStore(t)
	s.Exec(t, fmt.Sprintf(
		"INSERT INTO points SELECT 1, fromUnixTimestamp64Micro(toInt64(%d + number)), rand(), 1 FROM numbers(5000000)",
		int64(t0),
	))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err := s.Aggregate(ctx, timeseries.AggregateQuery{
		Series: []uint64{1}, Groups: []int{0}, Range: chtest.Everything,
		Grid: timeseries.NewGrid(time.Second, time.UTC, t0, t0+10*second), Functions: timeseries.Functions(), Limit: 10,
	})
	require.Equal(t, fault.Timeout, fault.KindOf(err), "%v", err)
}

func TestAStoppedServerIsUnavailable(t *testing.T) {
	server := testenv.StoppableClickHouse(t)
	db, err := chtest.Open(t.Context(), server.Address())
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	require.NoError(t, db.Migrate(t.Context()))
	require.NoError(t, server.Stop(t.Context()))
	_, _, err = timeseries.New(db).
		RawPoints(t.Context(), timeseries.RawQuery{Numbers: []uint64{1}, Range: chtest.Everything, Limit: 1})
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
	_, _, err = timeseries.New(db).Aggregate(t.Context(), timeseries.AggregateQuery{ // it first reads the rollups' state
		Series: []uint64{1}, Groups: []int{0}, Range: chtest.Everything, Functions: []timeseries.Function{timeseries.Avg},
		Limit: 1,
	})
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
	require.NoError(t, server.Start(t.Context()))
	_, _, err = timeseries.New(db).
		RawPoints(t.Context(), timeseries.RawQuery{Numbers: []uint64{1}, Range: chtest.Everything, Limit: 1})
	require.NoError(t, err)
}
