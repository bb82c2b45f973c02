package clickhouse_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/testenv"
)

func open(tb testing.TB) (*clickhouse.DB, string) {
	tb.Helper()
	address := testenv.ClickHouse(tb)
	db, err := chtest.Open(context.Background(), address)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	require.NoError(tb, db.Migrate(context.Background()))
	return db, address
}

func TestProcessesThatStartTogetherCanMigrate(t *testing.T) {
	address := testenv.ClickHouse(t)
	var group errgroup.Group
	for range 3 {
		group.Go(func() error {
			db, err := chtest.Open(t.Context(), address)
			if err != nil {
				return err
			}
			defer db.Close()
			return db.Migrate(t.Context())
		})
	}
	require.NoError(t, group.Wait())
	db, err := chtest.Open(t.Context(), address)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Migrate(t.Context()))
	require.Equal(t, "0", testenv.QueryClickHouse(t, address, "SELECT count() FROM points"))
}

func TestTheURLIsNotShown(t *testing.T) {
	for _, address := range []string{
		"http://u:secret@%zz", "clickhouse://u:secret@127.0.0.1:1/x?dial_timeout=nonsense", "http://u:secret@127.0.0.1:1/x",
	} {
		_, err := chtest.Open(t.Context(), address)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestRowsAreStoredToTheMicrosecondAndTheHighestVersionIsRead(t *testing.T) {
	db, address := open(t)
	const us = 1_795_246_810_123_457
	require.NoError(t, db.InsertPoints(t.Context(), &clickhouse.PointColumns{
		Series: native.RunsOf(1<<63, 7, 7, 7), TS: []int64{us, 0, us, us}, Values: []float64{0.1, -1.5e300, 3, 2},
		Versions: native.RunsOf(1, 1, 9, 8),
	}))
	require.NoError(t, db.InsertStates(t.Context(), &clickhouse.StateColumns{
		Series: native.RunsOf(8, 8), TS: []int64{us, us + 1}, Values: []string{"offen", "zu\t€"},
		Versions: native.RunsOf(1, 1),
	}))
	require.Equal(
		t,
		"7\t1970-01-01 00:00:00.000000\t-1.5e300\n7\t2026-11-21 07:40:10.123457\t3\n9223372036854775808\t2026-11-21 "+
			"07:40:10.123457\t0.1",
		testenv.QueryClickHouse(t, address, "SELECT series, ts, value FROM points FINAL ORDER BY series, ts"),
	)
	require.Equal(t, "8\t1795246810123457\toffen\n8\t1795246810123458\tzu\\t€",
		testenv.QueryClickHouse(
			t, address, "SELECT series, toUnixTimestamp64Micro(ts), value FROM states FINAL ORDER BY series, ts",
		))
}

func TestABatchMayHoldPointsOfEveryMonth(t *testing.T) {
	db, address := open(t)
	var c clickhouse.PointColumns
	for month := range int64(240) {
		c.Append(1, month*31*86400e6, 1, 1)
	}
	require.NoError(t, db.InsertPoints(t.Context(), &c))
	require.Equal(t, "240", testenv.QueryClickHouse(t, address, "SELECT count() FROM points"))
}

func TestOfLatestAndActivityTheNewestStays(t *testing.T) {
	db, address := open(t)
	w, s := uuid.New(), uuid.New()
	row := func(ts int64, version uint64, value float64) *clickhouse.LatestColumns {
		return clickhouse.LatestOf(clickhouse.LatestRow{
			Workspace: w, Source: s, Series: 5, TS: ts, Version: version, Value: value,
		})
	}
	require.NoError(t, db.InsertLatest(t.Context(), row(20, 3, 1)))
	require.NoError(t, db.InsertLatest(t.Context(), row(10, 9, 2)))
	require.NoError(t, db.InsertLatest(t.Context(), row(20, 4, 3)))
	require.Equal(t, fmt.Sprintf("%s\t%s\t5\t20\t3", w, s), testenv.QueryClickHouse(
		t, address, "SELECT workspace, source, series, toUnixTimestamp64Micro(ts), value FROM latest FINAL",
	))

	require.NoError(t, db.InsertActivity(t.Context(), []clickhouse.ActivityRow{
		{Workspace: w, Source: s, ReceivedAtUS: 7},
	}))
	require.NoError(t, db.InsertActivity(t.Context(), []clickhouse.ActivityRow{
		{Workspace: w, Source: s, ReceivedAtUS: 6},
	}))
	require.Equal(t, "7", testenv.QueryClickHouse(
		t, address, "SELECT toUnixTimestamp64Micro(received_at) FROM source_activity FINAL",
	))

	require.NoError(t, db.InsertSeries(t.Context(), []clickhouse.SeriesRow{
		{ID: 5, Workspace: w, Source: s, Metric: "temperature", Tags: map[string]string{"room": "a"}, Kind: 1},
	}))
	require.Equal(t, "5\ttemperature\t{'room':'a'}\t1", testenv.QueryClickHouse(
		t, address, "SELECT id, metric, tags, kind FROM series FINAL",
	))
}

// insertDeletable stores a source with two metrics of ten points each, all of version 5, and
// one string.
func insertDeletable(t *testing.T, db *clickhouse.DB) clickhouse.Deletion {
	t.Helper()
	w, s := uuid.New(), uuid.New()
	var c clickhouse.PointColumns
	other := uuid.New()
	var latest clickhouse.LatestColumns
	for _, id := range []uint64{1, 2, 3} { // 3 belongs to another source
		for ts := range int64(10) {
			c.Append(id, ts, float64(ts), 5)
		}
		row := clickhouse.LatestRow{Workspace: w, Source: s, Series: id, TS: 9, Value: 9, Version: 5}
		if id == 3 {
			row.Source = other
		}
		latest.Append(&row)
	}
	latest.Append(&clickhouse.LatestRow{Workspace: w, Source: s, Series: 4, TS: 9, Text: "on", Version: 5})
	require.NoError(t, db.InsertPoints(t.Context(), &c))
	require.NoError(t, db.InsertStates(t.Context(), &clickhouse.StateColumns{
		Series: native.RunsOf(4, 4), TS: []int64{3, 9}, Values: []string{"off", "on"},
		Versions: native.RunsOf(5, 5)}))
	require.NoError(t, db.InsertLatest(t.Context(), &latest))
	require.NoError(t, db.InsertActivity(t.Context(), []clickhouse.ActivityRow{
		{Workspace: w, Source: s, ReceivedAtUS: 7},
	}))
	require.NoError(t, db.InsertSeries(t.Context(), []clickhouse.SeriesRow{
		{ID: 1, Workspace: w, Source: s, Metric: "a", Kind: 1}, {ID: 2, Workspace: w, Source: s, Metric: "b", Kind: 1},
		{ID: 3, Workspace: w, Source: other, Metric: "a", Kind: 1},
		{ID: 4, Workspace: w, Source: s, Metric: "state", Kind: 2},
	}))
	return clickhouse.Deletion{Workspace: w, Source: s, Ceiling: 6}
}

func TestADeletionRemovesWhatItNamesAndLatestFollows(t *testing.T) {
	db, address := open(t)
	d := insertDeletable(t, db)
	metric, from, to := "a", int64(5), int64(12)
	d.Metric, d.FromUS, d.ToUS = &metric, &from, &to
	for range 2 { // a repetition changes nothing
		require.NoError(t, db.Delete(t.Context(), d))
		require.Equal(t, "1\t5\n2\t10\n3\t10", testenv.QueryClickHouse(
			t, address, "SELECT series, uniq(ts) FROM points GROUP BY series ORDER BY series",
		))
		require.Equal(t, "1\t4\t4\t\n2\t9\t9\t\n3\t9\t9\t\n4\t9\t0\ton",
			testenv.QueryClickHouse(
				t, address, "SELECT series, toUnixTimestamp64Micro(ts), value, text FROM latest FINAL ORDER BY series",
			))
	}
}

func TestADeletionSparesNewerVersions(t *testing.T) {
	db, address := open(t)
	d := insertDeletable(t, db)
	require.NoError(t, db.InsertPoints(t.Context(), &clickhouse.PointColumns{
		Series: native.RunsOf(1), TS: []int64{2}, Values: []float64{42}, Versions: native.RunsOf(7)}))
	require.NoError(t, db.Delete(t.Context(), d))
	require.Equal(t, "1\t2\t42\n3\t9\t9", testenv.QueryClickHouse(
		t, address,
		"SELECT series, toUnixTimestamp64Micro(max(ts)), argMax(value, ts) FROM points GROUP BY series ORDER BY series",
	))
	require.Equal(t, "1\t2\t42\n3\t9\t9", testenv.QueryClickHouse(
		t, address, "SELECT series, toUnixTimestamp64Micro(ts), value FROM latest FINAL ORDER BY series",
	))
	require.Equal(t, "0", testenv.QueryClickHouse(t, address, "SELECT count() FROM states"))
}

func TestADeletedSourceLosesItsSeriesAndItsActivity(t *testing.T) {
	db, address := open(t)
	d := insertDeletable(t, db)
	d.WholeSource = true
	for range 2 {
		require.NoError(t, db.Delete(t.Context(), d))
		require.Equal(t, "3", testenv.QueryClickHouse(t, address, "SELECT DISTINCT series FROM points"))
		require.Equal(t, "3", testenv.QueryClickHouse(t, address, "SELECT series FROM latest FINAL"))
		require.Equal(
			t, "1\n2\n3\n4", testenv.QueryClickHouse(t, address, "SELECT id FROM series FINAL ORDER BY id"),
			"by them a repetition finds what comes late",
		)
		require.Equal(t, "0", testenv.QueryClickHouse(t, address, "SELECT count() FROM source_activity"))
	}
	d.ForgetSeries = true
	require.NoError(t, db.Delete(t.Context(), d))
	require.Equal(t, "3", testenv.QueryClickHouse(t, address, "SELECT id FROM series FINAL"))
}

func TestManySourcesAreDeletedTogether(t *testing.T) {
	db, address := open(t)
	const sources = 1500
	w := uuid.New()
	deletions := make([]clickhouse.Deletion, sources)
	var c clickhouse.PointColumns
	var series []clickhouse.SeriesRow
	var latest []clickhouse.LatestRow
	for i := range deletions {
		id := uint64(i) + 1
		deletions[i] = clickhouse.Deletion{Workspace: w, Source: uuid.New(), WholeSource: true}
		c.Append(id, 1, 1, 5)
		series = append(
			series,
			clickhouse.SeriesRow{ID: id, Workspace: w, Source: deletions[i].Source, Metric: "m", Kind: 1},
		)
		latest = append(latest, clickhouse.LatestRow{
			Workspace: w, Source: deletions[i].Source, Series: id, TS: 1, Version: 5,
		})
	}
	require.NoError(t, db.InsertPoints(t.Context(), &c))
	require.NoError(t, db.InsertSeries(t.Context(), series))
	require.NoError(t, db.InsertLatest(t.Context(), clickhouse.LatestOf(latest...)))
	deletions = deletions[:sources-1] // the last one is kept
	deletions[7].ForgetSeries = true
	require.NoError(t, db.Delete(t.Context(), deletions...))
	require.Equal(t, strconv.Itoa(sources), testenv.QueryClickHouse(t, address, "SELECT series FROM points"))
	require.Equal(t, strconv.Itoa(sources), testenv.QueryClickHouse(t, address, "SELECT series FROM latest FINAL"))
	require.Equal(t, strconv.Itoa(sources-1), testenv.QueryClickHouse(t, address, "SELECT count() FROM series FINAL"))
	mutations, err := strconv.Atoi(testenv.QueryClickHouse(
		t, address,
		"SELECT count() FROM system.mutations WHERE database = currentDatabase() AND table IN ('points', 'latest')",
	))
	require.NoError(t, err)
	require.LessOrEqual(t, mutations, 4, "a statement each thousand sources, not each source")
}

func TestOnlyErrorsOfTheDataArePermanent(t *testing.T) {
	testenv.RequireOneServer(t)
	db, address := open(t)
	one := &clickhouse.PointColumns{
		Series: native.RunsOf(1), TS: []int64{1}, Values: []float64{666}, Versions: native.RunsOf(1),
	}
	testenv.QueryClickHouse(t, address, "ALTER TABLE points ADD CONSTRAINT good CHECK value != 666")
	err := db.InsertPoints(t.Context(), one)
	require.Error(t, err)
	require.True(t, clickhouse.Permanent(err), err)

	testenv.QueryClickHouse(t, address, "DROP TABLE points")
	err = db.InsertPoints(t.Context(), one)
	require.Error(t, err)
	require.False(t, clickhouse.Permanent(err), err)
	require.False(t, clickhouse.Permanent(context.DeadlineExceeded))
}

func TestASchemaOfANewerVersionIsRefused(t *testing.T) {
	db, address := open(t)
	testenv.QueryClickHouse(t, address, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	err := db.Migrate(t.Context())
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.ErrorContains(t, err, "the schema of ClickHouse is of a newer version of Livegraph (migration 9999")
	_, err = db.SchemaVersion(t.Context())
	require.True(t, fault.Is(err, fault.Invalid), "a backup of it would lack what this version does not know: %v", err)
}
