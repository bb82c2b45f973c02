package clickhouse_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/testenv"
)

// TestRollupsAndPointsAgreeWhateverHappens writes, overwrites, deletes, expires and replays at
// random, with passes in between, some of which are interrupted, and compares the results.
func TestRollupsAndPointsAgreeWhateverHappens(t *testing.T) {
	const series = 4
	requireAgreement(newRollupFixture(t, series), series, testenv.InFull(300, 60))
}

func requireAgreement(r *rollupFixture, series, steps int) {
	t := r.t
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	const span = int64(3 * day)
	var log []func(context.Context) error // all writes, for replays
	var history []*clickhouse.PointColumns
	clock := int64(t0 + 12*hour)
	cut := errors.New("cut short")
	for step := range steps {
		what := random.IntN(12)
		var err error
		switch {
		case what < 4: // points: live, late, overwriting
			version := r.nextVersion()
			var points []point
			for range 1 + random.IntN(3) {
				from := t0 + random.Int64N(span)
				if random.IntN(2) == 0 {
					from = clock - random.Int64N(2*hour)
				}
				points = append(
					points, every(1+random.Int64N(20*minute), from, from+random.Int64N(3*hour), id(random.IntN(series)))...,
				)
			}
			c := r.columns(version, points...)
			for i := range c.Values {
				c.Values[i] = math.Round(random.NormFloat64()*1e4) / 100
			}
			do := func(ctx context.Context) error { return r.InsertPoints(ctx, c) }
			log, history, err = append(log, do), append(history, c), do(t.Context())
		case what == 4: // a deletion, up to a version
			d := clickhouse.Deletion{
				Workspace: r.workspace, Source: r.source, Ceiling: uint64(random.Int64N(int64(r.version)+1)) + 1,
			}
			if random.IntN(2) == 0 {
				metric := fmt.Sprintf("m%d", random.IntN(series))
				d.Metric = &metric
			}
			if random.IntN(4) > 0 {
				from := t0 + random.Int64N(span)
				d.FromUS = &from
			}
			if random.IntN(4) > 0 {
				to := t0 + random.Int64N(span)
				d.ToUS = &to
			}
			err = r.Delete(t.Context(), d)
		case what == 5 && len(log) > 0: // replay of a part of the log
			err = log[random.IntN(len(log))](t.Context())
		case what == 6: // a pass that is interrupted
			left := random.IntN(6)
			_, passed := r.RollUp(t.Context(), clickhouse.RollupPass{NowUS: clock, Proceed: func(context.Context) error {
				if left--; left < 0 {
					return cut
				}
				return nil
			}})
			if passed != nil {
				require.ErrorIs(t, passed, cut)
			}
		case what == 7:
			r.reopen()
		case what == 8: // expiry of rows before a time, with their rollups
			_, err = r.Expire(t.Context(), []clickhouse.SourceID{{Workspace: r.workspace, Source: r.source}},
				t0+random.Int64N(span/4), func(context.Context, time.Duration) error { return nil })
		case what >= 9 && what < 11: // rollups that a process computed which has seen a part of the log
			var seen []*clickhouse.PointColumns
			all := random.IntN(2) == 0
			for i := range history {
				if all || random.IntN(len(history)) > 0 {
					seen = append(seen, history[i])
				}
			}
			err = r.InsertRollups(t.Context(), rollupsOf(seen))
		default:
			clock += random.Int64N(5 * hour)
			r.pass(clock)
		}
		require.NoError(t, err)
		if step%3 == 2 {
			q, why := r.randomQuery(random, series, span), fmt.Sprintf("step %d of seed %d", step, seed)
			r.requireSame(q, why)
			r.requireSame(fine(q), "fine buckets: "+why)
			r.requireSame(ofSingleSeries(q), "in this process: "+why)
			r.requireSameWindows(random, q, "windows: "+why)
		}
	}
	r.rollUpFully(clock + 4*day)
	for range min(10, steps) {
		q, why := r.randomQuery(random, series, span), fmt.Sprintf("at the end of seed %d", seed)
		r.requireSame(q, why)
		r.requireSame(fine(q), "fine buckets: "+why)
		r.requireSame(ofSingleSeries(q), "in this process: "+why)
		r.requireSameWindows(random, q, "windows: "+why)
	}
	require.Positive(t, r.reads("rollup_1m")+r.reads("rollup_1h"))
	require.Equal(
		t, "0",
		testenv.QueryClickHouse(
			t,
			r.URL.String(),
			"SELECT count() FROM rollup_1h AS h FINAL FULL JOIN (SELECT series, toStartOfHour(ts) AS ts, sum(points) AS points "+
				"FROM rollup_1m FINAL GROUP BY series, ts) AS m "+
				"ON h.series = m.series AND toDateTime(h.ts) = m.ts WHERE h.points != m.points "+
				"SETTINGS distributed_product_mode = 'local'",
		),
	)
}

// fine returns the query with buckets that are grouped in this process, not by ClickHouse and not from
// rollups.
func fine(q timeseries.AggregateQuery) timeseries.AggregateQuery {
	q.Grid = timeseries.NewGrid(40*time.Second, time.UTC, q.Range.FromUS, q.Range.ToUS)
	q = ofSingleSeries(q)
	q.FineFrom = 1
	return q
}

// ofSingleSeries returns the query with a group for each series, and with functions that this process can compute from
// rollups and points.
func ofSingleSeries(q timeseries.AggregateQuery) timeseries.AggregateQuery {
	q.Functions = []timeseries.Function{
		timeseries.Avg, timeseries.Min, timeseries.Max, timeseries.Sum, timeseries.Count, timeseries.First, timeseries.Last,
	}
	q.Groups = nil
	for i := range q.Series {
		q.Groups = append(q.Groups, i)
	}
	return q
}

// randomQuery returns a random query.
func (r *rollupFixture) randomQuery(random *rand.Rand, series int, span int64) timeseries.AggregateQuery {
	from := t0 - hour + random.Int64N(span)
	all := timeseries.Range{FromUS: from, ToUS: from + random.Int64N(span)}
	if random.IntN(3) == 0 { // some series have a retention
		all.KeptFrom = timeseries.KeptFrom{}
		for i := range series {
			if random.IntN(2) == 0 {
				all.KeptFrom[id(i)] = t0 + random.Int64N(span)
			}
		}
	}
	q := timeseries.AggregateQuery{Range: all, Functions: rollupFunctions}
	if random.IntN(3) == 0 {
		q.Functions = append(slices.Clone(rollupFunctions), timeseries.Rate, timeseries.Delta)
	}
	for i := range series {
		if random.IntN(4) > 0 {
			q.Series, q.Groups = append(q.Series, id(i)), append(q.Groups, random.IntN(3))
		}
	}
	zones := []string{"UTC", "UTC", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"}
	steps := []time.Duration{
		time.Minute, 5 * time.Minute, time.Hour, time.Hour, 6 * time.Hour, 24 * time.Hour, 40 * time.Second,
	}
	if random.IntN(6) > 0 {
		zone, err := time.LoadLocation(zones[random.IntN(len(zones))])
		require.NoError(r.t, err)
		q.Grid = timeseries.NewGrid(steps[random.IntN(len(steps))], zone, all.FromUS, all.ToUS)
	}
	return q
}

// TestWhatIsStoredIsInEveryAnswerWhilePassesRun runs writers that each query their own points
// as soon as they are stored, above and below a horizon that rises.
func TestWhatIsStoredIsInEveryAnswerWhilePassesRun(t *testing.T) {
	const writers = 3
	rounds := testenv.InFull(40, 20)
	r := newRollupFixture(t, writers)
	ctx, stop := context.WithCancel(t.Context())
	var passes, work sync.WaitGroup
	passed := 0
	passes.Go(func() {
		for clock := int64(t0); ctx.Err() == nil; clock += 20 * minute {
			if _, err := r.RollUp(ctx, clickhouse.RollupPass{NowUS: clock}); err == nil {
				passed++
			} else if ctx.Err() == nil {
				t.Errorf("pass: %v", err)
				return
			}
		}
	})
	for w := range writers {
		work.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 7))
			stored := map[int64]float64{}
			for round := range rounds {
				c := &clickhouse.PointColumns{}
				from := t0 + random.Int64N(12)*hour
				for ts := from; ts < from+hour; ts += 9 * minute {
					at, value := ts+random.Int64N(3)*second, float64(round*1000+w)
					c.Append(id(w), at, value, uint64(round+1))
					stored[at] = value
				}
				if err := r.InsertPoints(ctx, c); err != nil {
					t.Errorf("writer: %v", err)
					return
				}
				found, _, err := r.Aggregate(
					ctx,
					timeseries.AggregateQuery{Series: []uint64{id(w)}, Groups: []int{0}, Limit: 10,
						Range:     timeseries.Range{FromUS: t0, ToUS: t0 + 2*day},
						Functions: []timeseries.Function{timeseries.Count, timeseries.Sum}},
				)
				if err != nil {
					t.Errorf("reader: %v", err)
					return
				}
				sum := 0.0
				for _, v := range stored {
					sum += v
				}
				if got := found[0].Columns; got[0].Numbers[0] != float64(len(stored)) ||
					math.Abs(got[1].Numbers[0]-sum) > 1e-6*sum {
					t.Errorf(
						"writer %d, round %d: %v points and sum %v, not %d and %v", w, round, got[0].Numbers[0], got[1].Numbers[0],
						len(stored), sum,
					)
					return
				}
			}
		})
	}
	work.Wait()
	stop()
	passes.Wait()
	require.Positive(t, r.reads("rollup_1h"))
	require.Greater(t, passed, 3)
}
