package dump_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/storage/clickhouse/dump"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/testenv"
)

func open(t *testing.T) (*clickhouse.DB, string) {
	t.Helper()
	address := testenv.ClickHouse(t)
	db, err := chtest.Open(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, db.Migrate(t.Context()))
	return db, address
}

// fillEverything writes rows to every table of a backup: strings of two months on several
// pages, among them rows that replace others.
func fillEverything(t *testing.T, db *clickhouse.DB) {
	t.Helper()
	ctx := t.Context()
	const rows, month = 45_000, int64(31 * 24 * time.Hour / time.Microsecond)
	var states clickhouse.StateColumns
	for i := range rows {
		states.Append(
			uint64(i/9000)<<60|7, 1_795_246_810_000_000+int64(i%9000)-int64(i%2)*month, fmt.Sprintf("open \\ ' \n %d", i), 1,
		)
	}
	require.NoError(t, db.InsertStates(ctx, &states))
	var shut clickhouse.StateColumns
	for i := range 9000 {
		shut.Append(7, states.TS[i], "shut", 2)
	}
	require.NoError(t, db.InsertStates(ctx, &shut))
	require.NoError(t, db.InsertPoints(ctx, &clickhouse.PointColumns{
		Series: native.RunsOf(1, 1, 1<<63), TS: []int64{5, 5, 1_795_246_810_123_457}, Values: []float64{1, 2, -1.5e300},
		Versions: native.RunsOf(1, 2, 1<<63-1),
	}))
	exemplars := make([]clickhouse.ExemplarRow, 21_000)
	for i := range exemplars {
		exemplars[i] = clickhouse.ExemplarRow{
			Series: uint64(i / 10_000), TS: 1_795_246_810_000_000 + int64(i%3), Labels: fmt.Sprintf(`{"id":"'\\n\"%d"}`, i/2),
			Value: float64(i), Version: uint64(i%2) + 1,
		}
	}
	require.NoError(t, db.InsertExemplars(ctx, exemplars))
	w, s := uuid.New(), uuid.New()
	require.NoError(t, db.InsertLatest(ctx, clickhouse.LatestOf(
		clickhouse.LatestRow{Workspace: w, Source: s, Series: 1 << 63, TS: 9, Text: "ä", Version: 3},
		clickhouse.LatestRow{Workspace: w, Source: s, Series: 1 << 63, TS: 8, Text: "old", Version: 4},
	)))
	require.NoError(t, db.InsertActivity(ctx, []clickhouse.ActivityRow{
		{Workspace: w, Source: s, ReceivedAtUS: 7}, {Workspace: w, Source: s, ReceivedAtUS: 6},
	}))
	require.NoError(t, db.InsertSeries(ctx, []clickhouse.SeriesRow{
		{
			ID: 1 << 63, Workspace: w, Source: s, Metric: "m'",
			Tags: map[string]string{"a": "b", "": "\\", "c": "d", "e": "f", "g": "h", "i": "j"}, Kind: 2,
		},
		{ID: 1, Workspace: w, Source: s, Metric: "m", Kind: 1},
	}))
	var records []auditrecord.Record
	for i := range 3 {
		records = append(records, auditrecord.Record{Workspace: w, At: time.UnixMicro(1_795_246_810_123_457).UTC(),
			RequestID: fmt.Sprintf("req_%d'", i/2), Final: i == 1, Key: s,
			Method: "GET", Route: "/api/me", Status: 200, IP: netip.MustParseAddr("::1"), UserAgent: "u",
			Duration: time.Second, BytesIn: 1, BytesOut: -1, Requests: 1})
	}
	require.NoError(t, auditlog.New(db).InsertAudit(ctx, records))
}

func TestEveryTableOfABackupIsFilledAgainRowForRow(t *testing.T) {
	source, fromAddress := open(t)
	target, toAddress := open(t)
	fillEverything(t, source)
	from, to := dump.New(source), dump.New(target)
	require.NoError(t, to.RequireEmpty(t.Context()))
	parts, err := from.Parts(t.Context())
	require.NoError(t, err)
	names := map[string]bool{}
	for _, p := range parts {
		names[p.Table] = true
		var file bytes.Buffer
		reported := int64(0)
		rows, err := from.Dump(t.Context(), p, &file, func(n int64) { reported += n })
		require.NoError(t, err)
		require.Equal(t, rows, reported)
		require.NoError(t, to.Load(t.Context(), p, rows, bytes.NewReader(file.Bytes()), func(int64) {}))
		if rows > 0 {
			require.ErrorContains(
				t, to.Load(t.Context(), p, rows+1, bytes.NewReader(file.Bytes()), func(int64) {}), "were written",
			)
		}
	}
	require.Len(t, names, 7)
	for table := range names {
		statement := "SELECT count(), sum(cityHash64(*)) FROM " + table + " FINAL"
		want := testenv.QueryClickHouse(t, fromAddress, statement)
		require.Equal(t, want, testenv.QueryClickHouse(t, toAddress, statement), table)
		require.NotEqual(t, "0\t0", want, table)
	}
	require.Equal(t, "45000", testenv.QueryClickHouse(t, toAddress, "SELECT count() FROM states FINAL"))
	err = to.RequireEmpty(t.Context())
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
}
