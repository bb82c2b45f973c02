package clickhouse_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/storage/clickhouse/dump"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// clusterSeries is the number of series of newCluster.
const clusterSeries = 40

// newCluster creates a store on two shards with the rows of a source: numbers, strings, latest values,
// identities of series, the activity of the source, and audit records.
func newCluster(t *testing.T) *rollupFixture {
	t.Helper()
	r := fillRollupFixture(t, chtest.NewOnShards(t), clusterSeries)
	fillCluster(r)
	return r
}

func fillCluster(r *rollupFixture) {
	t := r.t
	t.Helper()
	ctx := t.Context()
	var states clickhouse.StateColumns
	var latest clickhouse.LatestColumns
	var points []point
	var activity []clickhouse.ActivityRow
	var records []auditrecord.Record
	var exemplars []clickhouse.ExemplarRow
	for i := range clusterSeries {
		points = append(points, every(minute, t0, t0+3*hour, id(i))...)
		states.Append(id(i), t0, "on", 1)
		exemplars = append(exemplars, clickhouse.ExemplarRow{Series: id(i), TS: t0, Labels: `{"a":"1"}`, Version: 1})
		latest.Append(&clickhouse.LatestRow{
			Workspace: r.workspace, Source: r.source, Series: id(i), TS: t0 + 3*hour - minute, Version: 1,
		})
		activity = append(activity, clickhouse.ActivityRow{Workspace: r.workspace, Source: uuid.New(), ReceivedAtUS: t0})
		records = append(records, auditrecord.Record{
			Workspace: r.workspace, At: time.UnixMicro(t0).UTC(), RequestID: fmt.Sprintf("r%d", i), Final: true,
			Route: "/api/me", Status: 200, IP: netip.MustParseAddr("::1"), Requests: 1,
		})
	}
	require.NoError(t, r.InsertPoints(ctx, r.columns(r.nextVersion(), points...)))
	require.NoError(t, r.InsertStates(ctx, &states))
	require.NoError(t, r.InsertExemplars(ctx, exemplars))
	require.NoError(t, r.InsertLatest(ctx, &latest))
	require.NoError(t, r.InsertActivity(ctx, activity))
	require.NoError(t, auditlog.New(r.DB).InsertAudit(ctx, records))
}

// insertLate stores a point of each series that has passed rollups, which therefore get marks.
func (r *rollupFixture) insertLate() {
	r.t.Helper()
	points := every(hour, t0, t0+hour, ids(clusterSeries)...)
	require.NoError(r.t, r.InsertPoints(r.t.Context(), r.columns(r.nextVersion(), points...)))
}

// requireColocated requires that both shards have rows of each table, and that all rows of these tables with
// one value of the column are in one shard.
func requireColocated(r *rollupFixture, tables map[string]string) {
	r.t.Helper()
	home := map[string]int{}
	for table, column := range tables {
		for shard := 1; shard <= 2; shard++ {
			found := r.Ask(r.t, shard, "SELECT DISTINCT "+column+" FROM "+table+"_local")
			require.NotEmpty(r.t, found, "shard %d has no rows of table %s", shard, table)
			for key := range strings.FieldsSeq(found) {
				before, known := home[key]
				require.True(r.t, !known || before == shard, "rows of %s with %s %s are in another shard", table, column, key)
				home[key] = shard
			}
		}
	}
}

func TestTheRowsOfASeriesAreInOneShard(t *testing.T) {
	r := newCluster(t)
	r.rollUpFully(t0 + 10*hour)
	r.insertLate()
	requireColocated(r, map[string]string{
		"points": "series", "states": "series", "exemplars": "series", "latest": "series", "rollup_1m": "series",
		"rollup_1h": "series", "rollup_marks": "series", "series": "id",
	})
	requireColocated(r, map[string]string{"source_activity": "source"})
	requireColocated(r, map[string]string{"audit": "request_id"})
	require.Equal(t, "0", r.Ask(t, 2, "SELECT count() FROM rollup_state_local"), "the state is in the first shard")
}

func TestRollupsAndPointsAgreeOnShards(t *testing.T) {
	testenv.RequireFull(t)
	const series = 4
	requireAgreement(fillRollupFixture(t, chtest.NewOnShards(t), series), series, 60)
}

func TestADeletedSourceIsRemovedFromAllShards(t *testing.T) {
	r := newCluster(t)
	require.NoError(t, r.Delete(t.Context(), clickhouse.Deletion{
		Workspace: r.workspace, Source: r.source, WholeSource: true, ForgetSeries: true, Ceiling: 1 << 60,
	}))
	for _, table := range []string{"points", "states", "exemplars", "latest", "series"} {
		require.Equal(t, "0", testenv.QueryClickHouse(t, r.URL.String(), "SELECT count() FROM "+table), table)
	}
}

func TestAWorkspaceIsErasedFromAllShards(t *testing.T) {
	r := newCluster(t)
	rows, err := r.WorkspaceRows(t.Context(), r.workspace)
	require.NoError(t, err)
	var removed int64
	require.NoError(t, r.EraseWorkspace(t.Context(), r.workspace, func(n int64) error { removed += n; return nil }))
	require.Equal(t, rows, removed)
	require.GreaterOrEqual(
		t, removed, int64(clusterSeries*(180+1+1+1+1)), "points, states, exemplars, latest values, activity",
	)
	rows, err = r.WorkspaceRows(t.Context(), r.workspace)
	require.NoError(t, err)
	require.Zero(t, rows)
	require.NoError(t, r.ForgetWorkspace(t.Context(), r.workspace))
	require.Equal(t, "0", testenv.QueryClickHouse(t, r.URL.String(), "SELECT count() FROM series"))
}

func TestOldRowsAreRemovedFromAllShards(t *testing.T) {
	r := newCluster(t)
	parts, err := r.Parts(t.Context(), t0+400*day)
	require.NoError(t, err)
	require.Empty(t, parts, "a part of one shard cannot be dropped")
	pause := func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	source := []clickhouse.SourceID{{Workspace: r.workspace, Source: r.source}}
	_, err = r.Expire(t.Context(), source, t0+2*hour, pause)
	require.NoError(t, err)
	left := testenv.QueryClickHouse(t, r.URL.String(), "SELECT count() FROM points")
	require.Equal(t, fmt.Sprint(clusterSeries*60), left)
	rewritten, err := r.Reclaim(t.Context(), pause)
	require.NoError(t, err)
	require.Positive(t, rewritten)
	for shard := 1; shard <= 2; shard++ {
		require.Equal(t, "0", r.Ask(t, shard, "SELECT sum(has_lightweight_delete) FROM system.parts WHERE active AND "+
			"database = currentDatabase() AND table = 'points_local'"))
	}
	months, err := auditlog.New(r.DB).ExpireAudit(t.Context(), time.UnixMicro(t0+40*day))
	require.NoError(t, err)
	require.Equal(t, 1, months)
	require.Equal(t, "0", testenv.QueryClickHouse(t, r.URL.String(), "SELECT count() FROM audit"))
}

func TestABackupOfOneServerIsRestoredToAClusterAndBack(t *testing.T) {
	testenv.RequireFull(t)
	one := fillRollupFixture(t, chtest.New(t), clusterSeries)
	fillCluster(one)
	cluster, again := chtest.NewOnShards(t), chtest.New(t)
	copyTables(t, one.store, cluster)
	copyTables(t, cluster, again)
	for _, table := range []string{"points", "states", "latest", "series", "source_activity", "audit"} {
		statement := "SELECT count(), sum(cityHash64(*)) FROM " + table + " FINAL"
		want := testenv.QueryClickHouse(t, one.URL.String(), statement)
		require.NotEqual(t, "0\t0", want, table)
		require.Equal(t, want, testenv.QueryClickHouse(t, cluster.URL.String(), statement), table)
		require.Equal(t, want, testenv.QueryClickHouse(t, again.URL.String(), statement), table)
	}
}

func copyTables(t *testing.T, from, to *store) {
	t.Helper()
	source, target := dump.New(from.DB), dump.New(to.DB)
	require.NoError(t, target.RequireEmpty(t.Context()))
	parts, err := source.Parts(t.Context())
	require.NoError(t, err)
	for _, p := range parts {
		var file bytes.Buffer
		rows, err := source.Dump(t.Context(), p, &file, func(int64) {})
		require.NoError(t, err)
		require.NoError(t, target.Load(t.Context(), p, rows, &file, func(int64) {}))
	}
	err = target.RequireEmpty(t.Context())
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	require.NotContains(t, err.Error(), "_local")
}

func TestAuditRecordsAreReadFromAllShards(t *testing.T) {
	r := newCluster(t)
	records := auditlog.New(r.DB)
	filter := auditlog.Filter{Workspace: &r.workspace}
	count, err := records.CountAudit(t.Context(), filter, 1000)
	require.NoError(t, err)
	require.EqualValues(t, clusterSeries, count)
	first, err := records.Audit(t.Context(), filter, nil, 0, 30)
	require.NoError(t, err)
	last := first[len(first)-1]
	rest, err := records.Audit(
		t.Context(), filter, &auditlog.Position{US: last.At.UnixMicro(), RequestID: last.RequestID}, 0, 30,
	)
	require.NoError(t, err)
	require.Len(t, append(first, rest...), clusterSeries)
	usage, total, err := records.AuditUsage(t.Context(), filter, true, 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, total)
	require.EqualValues(t, clusterSeries, usage[0].Requests)
}

func TestGroupsOfSeriesOfSeveralShards(t *testing.T) {
	r := newCluster(t)
	groups := make([]int, clusterSeries)
	for _, pointsOnly := range []bool{false, true} {
		found, more, err := r.Aggregate(t.Context(), timeseries.AggregateQuery{
			Series: ids(clusterSeries), Groups: groups, Range: chtest.Everything, Limit: 10, PointsOnly: pointsOnly,
			Functions: []timeseries.Function{timeseries.Count, timeseries.P50},
		})
		require.NoError(t, err)
		require.False(t, more)
		require.Equal(t, []float64{clusterSeries * 180}, found[0].Columns[0].Numbers)
	}
	points, more, err := r.RawPoints(t.Context(), timeseries.RawQuery{
		Numbers: ids(clusterSeries), Range: chtest.Everything, Limit: clusterSeries * 180,
	})
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, points, clusterSeries)
	stats, err := r.SeriesStats(t.Context(), ids(clusterSeries), nil, nil, nil)
	require.NoError(t, err)
	require.EqualValues(t, 180, stats[id(7)].Count)
	require.Len(t, stats, clusterSeries)
}

func TestALayoutThatDiffersFromTheTablesIsRefused(t *testing.T) {
	cluster := chtest.NewOnShards(t)
	one, err := clickhouse.Open(t.Context(), cluster.URL.String())
	require.NoError(t, err)
	defer one.Close()
	err = one.Migrate(t.Context())
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.ErrorContains(t, err, "set LIVEGRAPH_CLICKHOUSE_CLUSTER")

	address := testenv.ClickHouseShards(t)
	testenv.QueryClickHouse(t, address, "CREATE TABLE points (series UInt64) ENGINE = MergeTree ORDER BY series")
	for name, message := range map[string]string{
		embedded.ClickHouseCluster: "has the tables of one server", "": "",
	} {
		db, err := clickhouse.Open(t.Context(), address, clickhouse.WithCluster(name))
		require.NoError(t, err)
		defer db.Close()
		if message != "" {
			err = db.Migrate(t.Context())
			require.True(t, fault.Is(err, fault.Invalid), "%v", err)
			require.ErrorContains(t, err, message)
		}
	}
	unknown, err := clickhouse.Open(t.Context(), testenv.ClickHouseShards(t), clickhouse.WithCluster("other"))
	require.NoError(t, err)
	defer unknown.Close()
	err = unknown.Migrate(t.Context())
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.ErrorContains(t, err, `no cluster "other"`)
}

func TestMigrationsOfAClusterCanBeRepeatedAndTheirVersionIsRead(t *testing.T) {
	r := chtest.NewOnShards(t)
	require.NoError(t, r.Migrate(t.Context()))
	version, err := r.SchemaVersion(t.Context())
	require.NoError(t, err)
	require.Positive(t, version)
	testenv.RequireOneServer(t) // for the comparison
	one := chtest.New(t)
	columns := `SELECT table, name, type, default_expression, compression_codec FROM system.columns
		WHERE database = currentDatabase() AND table NOT LIKE 'goose%' ORDER BY table, name`
	want := testenv.QueryClickHouse(t, one.URL.String(), columns)
	for shard := 1; shard <= 2; shard++ {
		require.Equal(t, want, strings.ReplaceAll(r.Ask(t, shard, columns), "_local\t", "\t"))
	}
	require.Equal(t, "merge_selector_base = 10", strings.Join(strings.FieldsFunc(r.Ask(t, 2,
		"SELECT extract(engine_full, 'merge_selector_base = 10') FROM system.tables WHERE database = currentDatabase() "+
			"AND name = 'points_local'"), func(c rune) bool { return c == '\n' }), ""))
}

func TestAnotherServerIsUsedWhileTheFirstDoesNotRespond(t *testing.T) {
	r := newCluster(t)
	u := *r.URL
	u.Host = "127.0.0.1:1," + u.Host
	address := strings.Replace(r.URL.String(), r.URL.Host, u.Host, 1)
	db, err := clickhouse.Open(t.Context(), address, clickhouse.WithCluster(r.Cluster))
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Migrate(t.Context()))
	require.NoError(t, db.InsertPoints(t.Context(), &clickhouse.PointColumns{
		Series: native.RunsOf(id(0)), TS: []int64{t0 - 1}, Values: []float64{1}, Versions: native.RunsOf(1),
	}))
	require.Equal(t, "1", testenv.QueryClickHouse(t, r.URL.String(), fmt.Sprintf(
		"SELECT count() FROM points WHERE series = %d AND ts < %s", id(0), clickhouse.TimeExpression(t0))))
}

// distribute lets the Distributed tables name a number of shards, as docs/scaling.md describes.
func distribute(t *testing.T, s *store, shards int) {
	t.Helper()
	tables := testenv.QueryClickHouse(t, s.URL.String(), "SELECT name, engine_full FROM system.tables "+
		"WHERE database = currentDatabase() AND engine = 'Distributed' FORMAT TSVRaw")
	for line := range strings.Lines(tables) {
		name, engine, _ := strings.Cut(strings.TrimSpace(line), "\t")
		require.Contains(t, engine, "jumpConsistentHash")
		engine = engine[:strings.LastIndex(engine, ", ")] + fmt.Sprintf(", %d))", shards)
		s.Exec(t, fmt.Sprintf("CREATE OR REPLACE TABLE %s ON CLUSTER 'livegraph' AS %s.%s_local ENGINE = %s",
			name, strings.Trim(s.URL.Path, "/"), name, engine))
	}
}

func TestAShardIsAdded(t *testing.T) {
	testenv.RequireFull(t)
	s := chtest.NewOnShards(t)
	distribute(t, s, 1)
	r := fillRollupFixture(t, s, clusterSeries)
	fillCluster(r)
	r.rollUpFully(t0 + 10*hour)
	database := strings.Trim(s.URL.Path, "/")
	keys := map[string]string{
		"points": "intHash64(series)", "states": "intHash64(series)", "latest": "intHash64(series)",
		"rollup_1m": "intHash64(series)", "rollup_1h": "intHash64(series)", "rollup_marks": "intHash64(series)",
		"series": "intHash64(id)", "source_activity": "cityHash64(workspace, source)", "audit": "cityHash64(request_id)",
	}
	before := map[string]string{}
	for table := range keys {
		require.Equal(t, "0", r.Ask(t, 2, "SELECT count() FROM "+table+"_local"), table)
		before[table] = testenv.QueryClickHouse(t, s.URL.String(), "SELECT count(), sum(cityHash64(*)) FROM "+table+" FINAL")
	}

	distribute(t, s, 2)
	for table, key := range keys {
		moved := "jumpConsistentHash(" + key + ", 2) = 1"
		for range 2 { // also after an interruption
			r.Ask(t, 1, "INSERT INTO "+database+"."+table+" SELECT * FROM "+table+"_local WHERE "+moved)
		}
		r.Ask(t, 1, "DELETE FROM "+table+"_local WHERE "+moved)
	}
	for table, want := range before {
		require.Equal(t, want, testenv.QueryClickHouse(
			t, s.URL.String(), "SELECT count(), sum(cityHash64(*)) FROM "+table+" FINAL",
		), table)
	}
	require.NoError(t, r.Migrate(t.Context()))
	r.insertLate()
	requireColocated(r, map[string]string{
		"points": "series", "states": "series", "latest": "series", "rollup_1m": "series", "rollup_1h": "series",
		"series": "id",
	})
}

func TestAnUnfinishedDeletionOfAShardIsNotQueuedAgain(t *testing.T) {
	r := newCluster(t)
	const unfinished = "SELECT count() FROM system.mutations WHERE database = currentDatabase() AND " +
		"table = 'points_local' AND NOT is_done"
	r.Ask(t, 2, "SYSTEM STOP MERGES points_local")
	deletion := clickhouse.Deletion{Workspace: r.workspace, Source: r.source, Ceiling: 1 << 40}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		err := r.Delete(ctx, deletion)
		cancel()
		require.Error(t, err, "it is not done")
		require.Equal(t, "1", r.Ask(t, 2, unfinished))
		r.reopen() // as another process
	}
	r.Ask(t, 2, "SYSTEM START MERGES points_local")
	require.NoError(t, r.Delete(t.Context(), deletion))
	require.Equal(t, "0", testenv.QueryClickHouse(t, r.URL.String(), "SELECT count() FROM points"))
	require.Equal(t, "0", r.Ask(t, 2, unfinished))
}
