package clickhouse_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
	"github.com/livegraph/livegraph/test/testenv"
)

// Both ways of sending rows store the same rows. (The embedded edition accepts batches of the
// driver over HTTP.)
func TestBothWaysOfSendingStoreTheSameRows(t *testing.T) {
	bodies, bodiesAddress := open(t)
	batches, batchesAddress := open(t)
	batches.SendBatches()
	workspace, source := uuid.New(), uuid.New()
	at := time.UnixMicro(1_795_246_810_123_457).UTC()
	for _, db := range []*clickhouse.DB{bodies, batches} {
		ctx := t.Context()
		require.NoError(t, db.InsertPoints(ctx, &clickhouse.PointColumns{
			Series: native.RunsOf(7, 7, 1<<63), TS: []int64{at.UnixMicro(), 0, 1}, Values: []float64{0.1, -1.5e300, 3},
			Versions: native.RunsOf(1, 1, 1<<63-1),
		}))
		require.NoError(t, db.InsertStates(ctx, &clickhouse.StateColumns{
			Series: native.RunsOf(8, 8), TS: []int64{1, 2}, Values: []string{"", "zu\t€"}, Versions: native.RunsOf(1, 2),
		}))
		require.NoError(t, db.InsertLatest(ctx, []clickhouse.LatestRow{
			{Workspace: workspace, Source: source, Series: 1 << 63, TS: at.UnixMicro(), Value: 2.5, Text: "ä", Version: 3},
		}))
		require.NoError(t, db.InsertActivity(ctx, []clickhouse.ActivityRow{
			{Workspace: workspace, Source: source, ReceivedAtUS: at.UnixMicro()},
		}))
		require.NoError(t, db.InsertSeries(ctx, []clickhouse.SeriesRow{
			{ID: 1, Workspace: workspace, Source: source, Metric: "m'", Tags: map[string]string{"a": "b", "": "\\"}, Kind: 2},
			{ID: 2, Workspace: workspace, Source: source, Metric: "n"},
		}))
		require.NoError(t, auditlog.New(db).InsertAudit(ctx, []auditrecord.Record{
			{
				Workspace: workspace, At: at, RequestID: "req_1", Final: true, Key: source, Method: "GET", Route: "/api/me",
				Status: 503, IP: netip.MustParseAddr("::1"), UserAgent: "u", Duration: time.Second, BytesIn: 1, BytesOut: -1,
				Requests: 70_000,
			},
			{Workspace: workspace, At: at, RequestID: "req_2", Key: source, Method: "POST", Route: "/api/me"},
		}))
	}
	for _, table := range []string{"points", "states", "latest", "source_activity", "series", "audit"} {
		statement := "SELECT count(), sum(cityHash64(*)) FROM " + table
		want := testenv.QueryClickHouse(t, bodiesAddress, statement)
		require.Equal(t, want, testenv.QueryClickHouse(t, batchesAddress, statement), table)
		require.NotEqual(t, "0\t0", want, table)
	}
	require.Equal(t, "GET\t503\t1\t70000\t1795246810123457", testenv.QueryClickHouse(t, bodiesAddress,
		"SELECT method, status, final, requests, toUnixTimestamp64Micro(ts) FROM audit WHERE request_id = 'req_1'"))
}
