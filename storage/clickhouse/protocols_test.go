package clickhouse_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// Both ways of reading blocks return the same rows, also of a result of several blocks.
func TestBothWaysOfReadingReturnTheSameRows(t *testing.T) {
	bodies, address := open(t)
	rows, err := chtest.Open(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = rows.Close() })
	rows.ReadRows()
	const count = 25_000
	columns := []ch.ColumnNameAndType{
		{Name: "a", Type: "UInt64"}, {Name: "b", Type: "Int64"}, {Name: "c", Type: "Float64"}, {Name: "d", Type: "String"},
		{Name: "e", Type: "UInt8"},
	}
	read := func(db *clickhouse.DB, from int) (a []uint64, b []int64, c []float64, d []string, e []uint8) {
		statement := fmt.Sprintf(`SELECT number AS a, -toInt64(number) AS b, number / 3 AS c,
			concat('ä', toString(number)) AS d, toUInt8(number %% 2) AS e FROM numbers(%d, {count:Int64})`, from)
		err := db.QueryBlocks(t.Context(), clickhouse.OpRaw, statement, ch.Parameters{"count": strconv.Itoa(count - from)},
			columns, func(block *native.Block) error {
				a, b, c = append(a, block.UInt64(0)...), append(b, block.Int64(1)...), append(c, block.Float64(2)...)
				for row := range block.Rows() {
					d = append(d, block.String(3, row))
				}
				e = append(e, block.UInt8(4)...)
				return nil
			})
		require.NoError(t, err)
		return a, b, c, d, e
	}
	for _, from := range []int{0, 5_000, count} { // with, and without, rows after the last full block; no rows
		a, b, c, d, e := read(bodies, from)
		require.Len(t, a, count-from)
		a2, b2, c2, d2, e2 := read(rows, from)
		require.Equal(t, []any{a, b, c, d, e}, []any{a2, b2, c2, d2, e2})
	}
	for _, db := range []*clickhouse.DB{bodies, rows} {
		refused := errors.New("refused")
		err := db.QueryBlocks(t.Context(), clickhouse.OpRaw, "SELECT toUInt64(number) AS a FROM numbers(3)", nil,
			columns[:1], func(*native.Block) error { return refused })
		require.ErrorIs(t, err, refused)
		err = db.QueryBlocks(t.Context(), clickhouse.OpRaw, "SELECT throwIf(1) AS a", nil,
			columns[:1], func(*native.Block) error { return nil })
		require.Error(t, err)
	}
}

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
		require.NoError(t, db.InsertLatest(ctx, clickhouse.LatestOf(clickhouse.LatestRow{
			Workspace: workspace, Source: source, Series: 1 << 63, TS: at.UnixMicro(), Value: 2.5, Text: "ä", Version: 3,
		})))
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
