package clickhouse_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/testenv"
)

// seriesHour is an hour of a series.
type seriesHour struct {
	series uint64
	start  int64
}

// observed are the points of an hour in the order in which they were written.
type observed struct {
	ts          []int64
	values      []float64
	fingerprint uint64
}

// intHash64 is that of ClickHouse.
func intHash64(x uint64) uint64 {
	x ^= 0x4CF2D2BAAE6DA887
	for _, factor := range []uint64{0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53} {
		x = (x ^ x>>33) * factor
	}
	return x ^ x>>33
}

// rollupsOf returns the rollups that a process computes which has seen these writes and no others. It
// computes no hours whose points did not come in the order of time.
func rollupsOf(writes []*clickhouse.PointColumns) *clickhouse.Rollups {
	hours := map[seriesHour]*observed{}
	for _, c := range writes {
		row := 0
		versions := c.Versions.AppendTo(nil, 0)
		for series, rows := range c.Series.All() {
			for range rows {
				at := seriesHour{series, c.TS[row] - c.TS[row]%hour}
				h := hours[at]
				if h == nil {
					h = &observed{}
					hours[at] = h
				}
				h.ts, h.values = append(h.ts, c.TS[row]), append(h.values, c.Values[row])
				h.fingerprint += intHash64(uint64(c.TS[row]) ^ intHash64(versions[row]))
				row++
			}
		}
	}
	rollups := &clickhouse.Rollups{}
	for at, h := range hours {
		risen := 1
		for risen < len(h.ts) && h.ts[risen] > h.ts[risen-1] {
			risen++
		}
		var minutes uint64
		for from, to := 0, 0; from < risen; from = to {
			start := h.ts[from] - h.ts[from]%minute
			for to < risen && h.ts[to] < start+minute {
				to++
			}
			appendRollup(&rollups.Minutes, at.series, start, h.ts[from:to], h.values[from:to])
			minutes += rollups.Minutes.Fingerprint(rollups.Minutes.Len() - 1)
		}
		if risen == len(h.ts) {
			appendRollup(&rollups.Hours, at.series, at.start, h.ts, h.values)
			rollups.Fingerprints = append(rollups.Fingerprints, h.fingerprint)
			rollups.MinuteFingerprints = append(rollups.MinuteFingerprints, minutes)
		}
	}
	return rollups
}

func appendRollup(c *clickhouse.RollupColumns, series uint64, start int64, ts []int64, values []float64) {
	n := len(ts)
	total, increase, spread := 0.0, 0.0, 0.0
	for i, v := range values {
		total += v
		switch {
		case i > 0 && v >= values[i-1]:
			increase += v - values[i-1]
		case i > 0:
			increase += v
		}
	}
	for _, v := range values {
		spread += math.Pow(v-total/float64(n), 2)
	}
	c.Series.Append(series, 1)
	c.TS, c.Points, c.Totals = append(c.TS, start), append(c.Points, uint32(n)), append(c.Totals, total)
	c.Lowest, c.Highest = append(c.Lowest, slices.Min(values)), append(c.Highest, slices.Max(values))
	c.First, c.Last = append(c.First, values[0]), append(c.Last, values[n-1])
	c.FirstUS, c.LastUS = append(c.FirstUS, uint32(ts[0]-start)), append(c.LastUS, uint32(ts[n-1]-start))
	c.Increases, c.Spreads = append(c.Increases, increase), append(c.Spreads, spread)
}

// write stores points, and returns their columns.
func (r *rollupFixture) write(points ...point) *clickhouse.PointColumns {
	r.t.Helper()
	c := r.columns(r.nextVersion(), points...)
	require.NoError(r.t, r.InsertPoints(r.t.Context(), c))
	return c
}

// storedHours returns the number of hours whose valid row is one that was not computed by a pass.
func (r *rollupFixture) storedHours() string {
	r.t.Helper()
	return strings.TrimSpace(testenv.QueryClickHouse(
		r.t, r.URL.String(), "SELECT count() FROM rollup_1h FINAL WHERE fingerprint != 0 AND points > 0",
	))
}

func TestAPassKeepsStoredRollupsThatMatchThePoints(t *testing.T) {
	for name, late := range map[string]bool{"new hours": false, "marked hours": true} {
		t.Run(name, func(t *testing.T) {
			r := newRollupFixture(t, 3)
			if late {
				r.rollUpFully(t0 + 2*day)
			}
			writes := []*clickhouse.PointColumns{
				r.write(every(10*second, t0, t0+90*minute, id(0), id(1))...),
				r.write(every(10*second, t0+90*minute, t0+3*hour, id(0), id(1))...),
			}
			r.write(every(10*second, t0, t0+2*hour, id(2))...) // its rollups are not stored
			require.NoError(t, r.InsertRollups(t.Context(), rollupsOf(writes)))
			r.requireSame(r.dayByHour(3), "before a pass")
			minutes := uint64(0)
			for range 3 {
				minutes += r.pass(t0 + 2*day).Minutes
			}
			require.EqualValues(t, 120, minutes, "only those of the series whose rollups were not stored")
			require.Equal(t, "6", r.storedHours())
			before := r.reads(clickhouse.TableHours)
			r.requireSame(r.dayByHour(3), "after a pass")
			require.Greater(t, r.reads(clickhouse.TableHours), before, "rollups are read")
		})
	}
}

func TestAPassComputesHoursWhoseStoredRollupsDoNotMatch(t *testing.T) {
	type columns = *clickhouse.PointColumns
	for name, change := range map[string]func(r *rollupFixture, writes []columns) []columns{
		"an earlier write is missing": func(_ *rollupFixture, writes []columns) []columns {
			return writes[1:]
		},
		"a later write is missing": func(_ *rollupFixture, writes []columns) []columns {
			return writes[:2]
		},
		"a write was not stored": func(r *rollupFixture, writes []columns) []columns {
			return append(writes, r.columns(r.nextVersion(), every(minute, t0+50*minute, t0+hour, id(0))...))
		},
		"one point was deleted and another one is missing": func(r *rollupFixture, writes []columns) []columns {
			r.write(point{Series: id(0), TS: t0 + 90*second, Value: 5.0})
			r.write(every(minute, t0+50*minute, t0+55*minute, id(0))...)
			require.NoError(r.t, r.Delete(r.t.Context(), clickhouse.Deletion{
				Workspace: r.workspace, Source: r.source, FromUS: new(int64(t0 + 10*minute)), ToUS: new(int64(t0 + 11*minute)),
				Ceiling: r.version + 1,
			}))
			r.rollUpFully(t0 + 2*day)
			return append(writes, r.columns(r.version, every(minute, t0+50*minute, t0+55*minute, id(0))...))
		},
		"a point was overwritten": func(r *rollupFixture, writes []columns) []columns {
			r.write(point{Series: id(0), TS: t0 + 5*minute, Value: 1e6})
			r.Exec(r.t, "OPTIMIZE TABLE "+r.Layout().Stored("points")+" FINAL")
			return writes
		},
		"points were deleted": func(r *rollupFixture, writes []columns) []columns {
			require.NoError(r.t, r.Delete(r.t.Context(), clickhouse.Deletion{
				Workspace: r.workspace, Source: r.source, FromUS: new(int64(t0 + 10*minute)), ToUS: new(int64(t0 + 12*minute)),
				Ceiling: r.version + 1,
			}))
			r.rollUpFully(t0 + 2*day) // the rollups are stored after the deletion
			return writes
		},
		"all points were deleted": func(r *rollupFixture, writes []columns) []columns {
			require.NoError(r.t, r.Delete(r.t.Context(), clickhouse.Deletion{
				Workspace: r.workspace, Source: r.source, Ceiling: r.version + 1,
			}))
			r.rollUpFully(t0 + 2*day)
			return writes
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRollupFixture(t, 1)
			r.pass(t0 + 2*day)
			writes := []columns{
				r.write(every(minute, t0, t0+20*minute, id(0))...),
				r.write(every(minute, t0+20*minute, t0+30*minute, id(0))...),
				r.write(every(minute, t0+30*minute, t0+50*minute, id(0))...),
			}
			require.NoError(t, r.InsertRollups(t.Context(), rollupsOf(change(r, writes))))
			r.requireSame(r.dayByHour(1), "before a pass")
			r.rollUpFully(t0 + 2*day)
			r.requireSame(r.dayByHour(1), "after a pass")
			require.Equal(t, "0", r.storedHours())
		})
	}
}

// TestAPassRemovesMinutesThatADeletionDidNotReach tests an hour with minutes that a process stored which did not
// know of a deletion, and ended before it stored the hour. Another process may store the hour.
func TestAPassRemovesMinutesThatADeletionDidNotReach(t *testing.T) {
	for name, hourIsStored := range map[string]bool{"the hour is not stored": false, "the hour matches": true} {
		t.Run(name, func(t *testing.T) {
			r := newRollupFixture(t, 1)
			r.pass(t0 + 2*day)
			points := every(minute, t0, t0+hour, id(0))
			all := r.write(points...)
			require.NoError(t, r.Delete(t.Context(), clickhouse.Deletion{
				Workspace: r.workspace, Source: r.source, FromUS: new(int64(t0 + 10*minute)), ToUS: new(int64(t0 + 12*minute)),
				Ceiling: r.version + 1,
			}))
			r.rollUpFully(t0 + 2*day)
			outdated := rollupsOf([]*clickhouse.PointColumns{all})
			outdated.Hours, outdated.Fingerprints, outdated.MinuteFingerprints = clickhouse.RollupColumns{}, nil, nil
			require.NoError(t, r.InsertRollups(t.Context(), outdated))
			left := slices.DeleteFunc(points, func(p point) bool { return p.TS >= t0+10*minute && p.TS < t0+12*minute })
			require.Less(t, len(left), 60)
			if hourIsStored {
				known := r.columns(r.version, left...)
				require.NoError(t, r.InsertRollups(t.Context(), rollupsOf([]*clickhouse.PointColumns{known})))
			}
			r.rollUpFully(t0 + 2*day)
			byMinute := r.dayByHour(1)
			byMinute.Grid = timeseries.NewGrid(time.Minute, time.UTC, byMinute.Range.FromUS, byMinute.Range.ToUS)
			r.requireSame(byMinute, "after a pass")
			require.Equal(t, "0", r.storedHours())
		})
	}
}

// TestAPassComputesMinutesThatAnotherProcessStored tests minutes with as many points as are stored, of which one has
// been overwritten since. A process that lost the partition stores them after the hour was stored.
func TestAPassComputesMinutesThatAnotherProcessStored(t *testing.T) {
	for name, values := range map[string]struct{ outdated, current []float64 }{
		"another value":                      {[]float64{1e6}, []float64{5}},
		"the same sum":                       {[]float64{3, 1, 2}, []float64{1, 2, 3}},
		"the same sum, first and last value": {[]float64{1, 3, 2, 4}, []float64{1, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRollupFixture(t, 1)
			r.pass(t0 + 2*day)
			points := every(minute, t0, t0+hour, id(0))
			var outdated []point
			for i, v := range values.current {
				at := t0 + 5*minute + int64(i)*second
				outdated = append(outdated, point{Series: id(0), TS: at, Value: values.outdated[i]})
				points = slices.Insert(points, 5+i, point{Series: id(0), TS: at, Value: v})
			}
			n := len(outdated)
			points = slices.Delete(points, 5+n, 6+n) // it has the time of the first one
			stale := rollupsOf([]*clickhouse.PointColumns{r.columns(r.nextVersion(), outdated...)})
			stale.Hours, stale.Fingerprints, stale.MinuteFingerprints = clickhouse.RollupColumns{}, nil, nil
			require.NoError(t, r.InsertRollups(t.Context(), rollupsOf([]*clickhouse.PointColumns{r.write(points...)})))
			require.NoError(t, r.InsertRollups(t.Context(), stale))
			r.rollUpFully(t0 + 2*day)
			byMinute := r.dayByHour(1)
			byMinute.Grid = timeseries.NewGrid(time.Minute, time.UTC, byMinute.Range.FromUS, byMinute.Range.ToUS)
			byMinute.Functions = append(slices.Clone(byMinute.Functions), timeseries.Delta)
			r.requireSame(byMinute, "after a pass")
			require.Equal(t, "0", r.storedHours())
		})
	}
}

// TestAPassWhileRollupsAreStoredHidesNoneOfThem runs passes that compute a part of an hour before and
// between the inserts of its minutes and of the hour, and kills processes there.
func TestAPassWhileRollupsAreStoredHidesNoneOfThem(t *testing.T) {
	for _, table := range []string{clickhouse.TableMinutes, clickhouse.TableHours} {
		for _, dies := range []bool{false, true} {
			r := newRollupFixture(t, 1)
			clock := int64(t0 + 2*day)
			r.pass(clock)
			first := r.write(every(minute, t0, t0+30*minute+30*second, id(0))...)
			passes := 0
			run := func() error {
				if passes++; passes > 1 {
					return nil // InsertRollups stores them again
				}
				r.pass(clock)
				r.pass(clock)
				if dies {
					return errDied
				}
				return nil
			}
			second := r.write(every(minute, t0+31*minute, t0+hour, id(0))...)
			writer := r.openThroughProxy(table, run, func() error { return nil })
			err := writer.InsertRollups(t.Context(), rollupsOf([]*clickhouse.PointColumns{first, second}))
			require.Equal(t, dies, err != nil, "%v", err)
			r.requireSame(r.dayByHour(1), "when they are stored")
			r.rollUpFully(clock)
			r.requireSame(r.dayByHour(1), "after a pass")
			if !dies {
				require.Equal(t, "1", r.storedHours(), "they are stored again, with a version above that of the pass")
			}
		}
	}
}
