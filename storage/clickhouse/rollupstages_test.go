package clickhouse_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// dayByHour returns a query of a day by the hour.
func (r *rollupFixture) dayByHour(series int) timeseries.AggregateQuery {
	q := timeseries.AggregateQuery{Range: timeseries.Range{FromUS: t0, ToUS: t0 + day}, Functions: rollupFunctions}
	for i := range series {
		q.Series, q.Groups = append(q.Series, id(i)), append(q.Groups, i)
	}
	return q
}

// errDied simulates a process that is killed during a write.
var errDied = errors.New("the process died")

// openThroughProxy opens the database through a proxy that calls before and after at each
// insert into a table. If one of them returns an error, the proxy closes the connection, as if
// the process had been killed.
func (r *rollupFixture) openThroughProxy(table string, before, after func() error) *clickhouse.DB {
	r.t.Helper()
	target := &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host}
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		insert := strings.HasPrefix(request.URL.Query().Get("query"), "INSERT INTO "+table+" ")
		if insert && before() != nil {
			panic(http.ErrAbortHandler)
		}
		answer := httptest.NewRecorder()
		forward.ServeHTTP(answer, request)
		if insert && after() != nil {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	r.t.Cleanup(proxy.Close)
	address := *r.URL
	address.Host = strings.TrimPrefix(proxy.URL, "http://")
	db, err := chtest.Open(r.t.Context(), address.String())
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestPassesBetweenTheStagesOfAWriteMissNothing runs passes between the marks before the
// points, the points, and the marks after them, and kills processes there.
func TestPassesBetweenTheStagesOfAWriteMissNothing(t *testing.T) {
	r := newRollupFixture(t, 1)
	clock := int64(t0 + 2*hour)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), every(5*minute, t0, t0+hour, id(0))...)))
	r.rollUpFully(clock)
	for i, stages := range [][3]int{
		{0, 0, 0}, {1, 0, 0}, {3, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 2, 1}, {3, 1, 0}, {0, 3, 1}, {3, 0, 1}, {2, 2, 0},
	} {
		for _, below := range []bool{true, false} { // below the horizon when the write begins
			at, before, after, dies := int64(t0+10*minute), stages[0], stages[1], stages[2] == 1
			if !below {
				at = clock + hour
			}
			why := fmt.Sprintf("%d and %d passes, below the horizon: %v, dies: %v", before, after, below, dies)
			run := func(n int) {
				for range n {
					if !below {
						clock += hour
					}
					r.pass(clock)
				}
			}
			writer := r.openThroughProxy("points", func() error { run(before); return nil }, func() error {
				if before == 0 { // no pass has run since the mark
					r.requireSame(r.dayByHour(1), "as soon as the points are there: "+why)
				}
				run(after)
				if dies {
					return errDied
				}
				return nil
			})
			c := r.columns(r.nextVersion(), point{Series: id(0), TS: at, Value: float64(i) + 0.5})
			if err := writer.InsertPoints(t.Context(), c); dies {
				require.Error(t, err)
				r.reopen() // another process consumes the record again
				require.NoError(t, r.InsertPoints(t.Context(), c))
			} else {
				require.NoError(t, err)
			}
			r.requireSame(r.dayByHour(1), "when the write is over: "+why)
			r.pass(clock)
			r.requireSame(r.dayByHour(1), "a pass later: "+why)
			r.rollUpFully(clock)
			r.requireSame(r.dayByHour(1), "when all is computed: "+why)
		}
	}
}

// TestAWriteWithAnOldStateMissesNothing runs passes after a writer has read the state that it uses
// for the marks before its next points, and kills processes after these points.
func TestAWriteWithAnOldStateMissesNothing(t *testing.T) {
	r := newRollupFixture(t, 1)
	clock := int64(t0 + 2*hour)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), every(5*minute, t0, t0+hour, id(0))...)))
	r.rollUpFully(clock)
	for i, below := range []bool{true, false, true, false} { // the points are below the horizon of the old state
		dies := i >= 2
		var killed error
		writer := r.openThroughProxy("points", func() error { return nil }, func() error { return killed })
		at := int64(t0 + 10*minute)
		if !below {
			at = clock + hour
		}
		first := r.columns(r.nextVersion(), point{Series: id(0), TS: at, Value: 0.25})
		require.NoError(t, writer.InsertPoints(t.Context(), first))
		for range 2 {
			if !below {
				clock += 2 * hour
			}
			r.pass(clock)
		}
		c := r.columns(r.nextVersion(), point{Series: id(0), TS: at, Value: float64(i) + 0.5})
		if dies {
			killed = errDied
			require.Error(t, writer.InsertPoints(t.Context(), c))
			r.reopen()
			writer = r.DB
		}
		require.NoError(t, writer.InsertPoints(t.Context(), c))
		why := fmt.Sprintf("below the horizon: %v, dies: %v", below, dies)
		r.requireSame(r.dayByHour(1), "when the write is over: "+why)
		r.pass(clock)
		r.requireSame(r.dayByHour(1), "a pass later: "+why)
		r.rollUpFully(clock)
		r.requireSame(r.dayByHour(1), "when all is computed: "+why)
	}
}

// TestAPassMayEndAnywhere interrupts passes at each of their statements.
func TestAPassMayEndAnywhere(t *testing.T) {
	r := newRollupFixture(t, 2)
	cut := errors.New("cut short")
	clock := int64(t0 + 3*hour)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(
		r.nextVersion(), every(5*minute, t0, t0+3*hour, ids(2)...)...,
	)))
	r.rollUpFully(clock)
	for done := false; !done; {
		for at := 0; ; at++ {
			metric := "m1"
			from, to := t0+int64(at)*minute, t0+int64(at+7)*minute
			require.NoError(t, r.Delete(t.Context(), clickhouse.Deletion{
				Workspace: r.workspace, Source: r.source, Metric: &metric, FromUS: &from, ToUS: &to, Ceiling: r.version,
			}))
			require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), every(11*minute, t0, t0+hour, id(0))...)))
			r.pass(clock)
			statements := 0
			_, err := r.RollUp(t.Context(), clickhouse.RollupPass{NowUS: clock, Proceed: func(context.Context) error {
				if statements++; statements > at {
					return cut
				}
				return nil
			}})
			r.requireSame(r.dayByHour(2), fmt.Sprintf("after %d statements", at))
			if err == nil {
				done = at > 0
				break
			}
			require.ErrorIs(t, err, cut)
			clock += hour
			r.pass(clock)
			r.requireSame(r.dayByHour(2), fmt.Sprintf("after %d statements and another pass", at))
		}
	}
}

// TestReadingTheLogTwiceLeavesRollupsAsTheyWere compares the rows of rollups, except for their
// versions.
func TestReadingTheLogTwiceLeavesRollupsAsTheyWere(t *testing.T) {
	r := newRollupFixture(t, 3)
	batches := []*clickhouse.PointColumns{
		r.columns(1, every(7*second, t0, t0+3*hour, ids(3)...)...),
		r.columns(2, every(13*second, t0+hour, t0+2*hour, id(1))...),
		r.columns(3, every(7*second, t0+3*hour, t0+4*hour, ids(3)...)...),
	}
	dump := func() string {
		return testenv.QueryClickHouse(
			t,
			r.URL.String(),
			"SELECT * EXCEPT version FROM rollup_1m FINAL ORDER BY series, ts",
		) +
			testenv.QueryClickHouse(
				t,
				r.URL.String(),
				"SELECT * EXCEPT version FROM rollup_1h FINAL ORDER BY series, ts",
			)
	}
	replay := func() {
		for _, c := range batches {
			require.NoError(t, r.InsertPoints(t.Context(), c))
		}
		r.rollUpFully(t0 + 6*hour)
	}
	replay()
	once := dump()
	require.Greater(t, len(once), 10_000)
	for range 2 {
		r.reopen()
		replay()
		require.Equal(t, once, dump())
	}
}

// TestSteadyLatePointsAreMarkedOnceAnEpoch counts marks.
func TestSteadyLatePointsAreMarkedOnceAnEpoch(t *testing.T) {
	r := newRollupFixture(t, 2)
	r.rollUpFully(t0 + 10*hour)
	marks := func() string {
		return testenv.QueryClickHouse(t, r.URL.String(), "SELECT count(), uniqExact(series) FROM rollup_marks")
	}
	for i := range int64(20) {
		at := t0 + hour + i*second
		require.NoError(t, r.InsertPoints(t.Context(), r.columns(
			r.nextVersion(), point{Series: id(0), TS: at, Value: 1.0}, point{Series: id(1), TS: at, Value: 2.0},
		)))
	}
	require.Equal(t, "2\t2", marks())
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), point{
		Series: id(0), TS: t0 + 10*hour, Value: 1.0,
	})))
	require.Equal(t, "2\t2", marks(), "what is above the horizon needs none")
}

// TestALongThinHistoryIsRolledUp rolls up years with one point a day. Statements process many
// days at a time, of new hours and of late ones.
func TestALongThinHistoryIsRolledUp(t *testing.T) {
	const days = 120
	r := newRollupFixture(t, 2)
	all := timeseries.AggregateQuery{
		Series: ids(2), Groups: []int{0, 1}, Functions: rollupFunctions, Limit: 10_000,
		Range: timeseries.Range{FromUS: t0, ToUS: t0 + days*day},
	}
	all.Grid = timeseries.NewGrid(24*time.Hour, time.UTC, t0, t0+days*day)
	for _, why := range []string{"new hours", "late points"} {
		require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), every(day, t0, t0+days*day, ids(2)...)...)))
		r.rollUpFully(t0 + days*day + 2*hour)
		before := r.reads("rollup_1h")
		r.requireSame(all, why)
		require.Greater(t, r.reads("rollup_1h"), before, why)
	}
}
