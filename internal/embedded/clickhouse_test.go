package embedded_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/test/testenv"
)

const pointsTable = `CREATE TABLE points (
	series UInt64, ts DateTime64(6, 'UTC') CODEC(Delta(8), LZ4), value Float64, version UInt64 CODEC(Delta(8), LZ4)
) ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(ts) ORDER BY (series, ts)`

// open connects with the options of the service: HTTP, no compression.
func open(t testing.TB, address string) driver.Conn {
	t.Helper()
	options, err := clickhouse.ParseDSN(address)
	require.NoError(t, err)
	require.Equal(t, clickhouse.HTTP, options.Protocol)
	options.Settings = clickhouse.Settings{"max_execution_time": 60, "async_insert": 0, "optimize_on_insert": 0}
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// startClickHouse starts a separate engine, whose process the test may signal.
func startClickHouse(t *testing.T) *supervisor.Process {
	t.Helper()
	testenv.RequireEngines(t)
	packages, err := embedded.Install(t.Context(), nil)
	require.NoError(t, err)
	server, err := embedded.StartClickHouse(t.Context(), engine.Options{Dir: t.TempDir(), Packages: packages})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	return server
}

// columns are rows of table points, sorted, with 1,000 points per series.
type columns struct {
	series  []uint64
	ts      []time.Time // clickhouse-go interprets []int64 as milliseconds
	value   []float64
	version []uint64
}

func makeColumns(rows int) columns {
	c := columns{make([]uint64, rows), make([]time.Time, rows), make([]float64, rows), make([]uint64, rows)}
	for i := range rows {
		c.series[i] = uint64(i / 1000)
		c.ts[i] = time.UnixMicro(1763700000000000 + int64(i%1000)*1000000)
		c.value[i] = float64(i%977) * 0.37
		c.version[i] = uint64(i / 100)
	}
	return c
}

func insert(ctx context.Context, conn driver.Conn, c columns) error {
	batch, err := conn.PrepareBatch(ctx, `INSERT INTO points (series, ts, value, version)`)
	if err != nil {
		return err
	}
	for i, column := range []any{c.series, c.ts, c.value, c.version} {
		if err := batch.Column(i).Append(column); err != nil {
			_ = batch.Abort()
			return err
		}
	}
	return batch.Send()
}

func TestClickHouseTakesAMillionRowsInOneInsert(t *testing.T) {
	conn := open(t, testenv.ClickHouse(t))
	require.NoError(t, conn.Ping(t.Context()))
	require.NoError(t, conn.Exec(t.Context(), pointsTable))
	const rows = 1_000_000
	require.NoError(t, insert(t.Context(), conn, makeColumns(rows)))

	var count, series uint64
	var sum float64
	var last time.Time
	row := conn.QueryRow(t.Context(), `SELECT count(), uniqExact(series), sum(value), max(ts) FROM points`)
	require.NoError(t, row.Scan(&count, &series, &sum, &last))
	require.EqualValues(t, rows, count)
	require.EqualValues(t, rows/1000, series)
	require.Equal(t, time.UnixMicro(1763700000000000+999*1000000).UTC(), last.UTC())
}

func TestClickHouseTakesEveryColumnTypeWeUse(t *testing.T) {
	conn := open(t, testenv.ClickHouse(t))
	require.NoError(t, conn.Exec(t.Context(), `CREATE TABLE t (id UUID, name String, kind LowCardinality(String),
		tags Map(String, String), list Array(UInt64), maybe Nullable(Float64), at DateTime64(6, 'UTC'),
		big UInt128 DEFAULT 7) ENGINE = MergeTree ORDER BY id`))
	batch, err := conn.PrepareBatch(t.Context(), `INSERT INTO t (id, name, kind, tags, list, maybe, at)`)
	require.NoError(t, err)
	at := time.Date(2026, 11, 21, 7, 40, 8, 290296000, time.UTC)
	tags := map[string]string{"a;b": "c'd\\", "": "\n"}
	require.NoError(t, batch.Append(
		"0193449e-0000-7000-8000-000000000001", "semi;colon ' quote \\ \x00 ü", "k", tags, []uint64{1, 2}, nil, at,
	))
	require.NoError(t, batch.Send())

	var name, kind string
	var gotTags map[string]string
	var list []uint64
	var maybe *float64
	var gotAt time.Time
	row := conn.QueryRow(t.Context(), `SELECT name, kind, tags, list, maybe, at FROM t WHERE big = 7`)
	require.NoError(t, row.Scan(&name, &kind, &gotTags, &list, &maybe, &gotAt))
	require.Equal(t, "semi;colon ' quote \\ \x00 ü", name)
	require.Equal(t, tags, gotTags)
	require.Equal(t, []uint64{1, 2}, list)
	require.Nil(t, maybe)
	require.True(t, at.Equal(gotAt))
	require.Equal(t, "k", kind)
}

func TestClickHousePassesSettingsAndParametersOn(t *testing.T) {
	conn := open(t, testenv.ClickHouse(t))
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 1234}),
		clickhouse.WithParameters(clickhouse.Parameters{"name": `it's; a\\test`, "ids": "[1,2,3]"}))
	var size uint64
	var name string
	var ids []uint64
	row := conn.QueryRow(ctx, `SELECT toUInt64(getSetting('max_block_size')), {name:String}, {ids:Array(UInt64)}`)
	require.NoError(t, row.Scan(&size, &name, &ids))
	require.EqualValues(t, 1234, size)
	require.Equal(t, `it's; a\test`, name, "ClickHouse takes parameters in its escaped form")
	require.Equal(t, []uint64{1, 2, 3}, ids)

	row = conn.QueryRow(t.Context(), `SELECT toUInt64(getSetting('max_block_size'))`)
	require.NoError(t, row.Scan(&size))
	require.NotEqualValues(t, 1234, size, "a setting leaked into another request")
}

func TestClickHouseErrorsHaveTheirCode(t *testing.T) {
	conn := open(t, testenv.ClickHouse(t))
	var exception *clickhouse.Exception
	require.ErrorAs(t, conn.Exec(t.Context(), `SELECT * FROM no_such_table`), &exception)
	require.EqualValues(t, 60, exception.Code)

	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{
		"max_block_size": 10000, "max_threads": 1,
	}))
	rows, err := conn.Query(ctx, `SELECT number, throwIf(number = 90000) FROM numbers(200000)`)
	require.NoError(t, err, "the error comes after the first blocks")
	seen := 0
	for rows.Next() {
		seen++
	}
	require.ErrorAs(t, rows.Err(), &exception)
	require.EqualValues(t, 395, exception.Code)
	require.Positive(t, seen)
	require.NoError(t, conn.Ping(t.Context()), "the connection goes on")
}

func TestClickHouseStreamsLargeResults(t *testing.T) {
	conn := open(t, testenv.ClickHouse(t))
	rows, err := conn.Query(t.Context(), `SELECT number, toString(number) FROM numbers(3000000)`)
	require.NoError(t, err)
	defer rows.Close()
	var n, want uint64
	var text string
	for rows.Next() {
		require.NoError(t, rows.Scan(&n, &text))
		if n != want {
			t.Fatalf("row %d, want %d", n, want)
		}
		want++
	}
	require.NoError(t, rows.Err())
	require.EqualValues(t, 3000000, want)
}

func TestClickHouseStopsAQueryWhoseClientLeft(t *testing.T) {
	conn := open(t, testenv.ClickHouse(t))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := conn.QueryRow(ctx, `SELECT sum(sipHash64(number)) FROM numbers(1000000000000)`).Scan(new(uint64))
	require.Error(t, err)
	require.Less(t, time.Since(start), 30*time.Second) // the query would take hours
	require.Eventually(t, func() bool {
		var running uint64
		row := conn.QueryRow(
			t.Context(),
			`SELECT count() FROM system.processes WHERE query LIKE '%sipHash64(number)%' AND query NOT LIKE '%processes%'`,
		)
		return row.Scan(&running) == nil && running == 0
	}, time.Minute, 50*time.Millisecond)
}

// The number of a closed connection is used again for the next one. The query of the next
// one must not be stopped instead.
func TestClickHouseStopsNoQueryForAnotherClientThatLeft(t *testing.T) {
	u, err := url.Parse(testenv.ClickHouse(t))
	require.NoError(t, err)
	u.Path = "/"
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(4)
	for range 400 {
		group.Go(func() error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(
				`SELECT sum(sipHash64(number)) FROM numbers(300000)`,
			))
			if err != nil {
				return err
			}
			response, err := client.Do(request)
			if err != nil {
				return err
			}
			defer func() { _ = response.Body.Close() }()
			if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
				return fmt.Errorf("status %d: %s", response.StatusCode, body)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

func TestClickHouseQueriesDoNotHoldUpInsertsOrHealth(t *testing.T) {
	conn := open(t, testenv.ClickHouse(t))
	require.NoError(t, conn.Exec(t.Context(), pointsTable))
	queryCtx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 20 { // more than run at once
		wg.Go(func() {
			other := open(t, testenv.ClickHouse(t))
			_ = other.QueryRow(queryCtx, `SELECT sum(sipHash64(number)) FROM numbers(1000000000000)`).Scan(new(uint64))
		})
	}
	time.Sleep(500 * time.Millisecond)
	for range 5 {
		start := time.Now()
		require.NoError(t, insert(t.Context(), conn, makeColumns(10000)))
		require.NoError(t, conn.Ping(t.Context()))
		require.Less(t, time.Since(start), 5*time.Second)
	}
	stop()
	wg.Wait()
}

func TestClickHouseRunsGooseMigrations(t *testing.T) {
	options, err := clickhouse.ParseDSN(testenv.ClickHouse(t))
	require.NoError(t, err)
	db := clickhouse.OpenDB(options)
	defer db.Close()
	migrations := fstest.MapFS{
		"00001_a.sql": {Data: []byte(
			"-- +goose Up\nCREATE TABLE a (x Int64) ENGINE = MergeTree ORDER BY x;\n-- a comment; with a semicolon\nCREATE " +
				"TABLE b (x Int64) ENGINE = MergeTree ORDER BY x;\n",
		)},
		"00002_b.sql": {Data: []byte(
			"-- +goose Up\nINSERT INTO a VALUES (1), (2);\nALTER TABLE b ADD COLUMN y String DEFAULT 'z';\n",
		)},
	}
	for range 2 { // the second time there is nothing to do
		provider, err := goose.NewProvider(goose.DialectClickHouse, db, migrations)
		require.NoError(t, err)
		_, err = provider.Up(t.Context())
		require.NoError(t, err)
	}
	var n int
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT toInt64(sum(x)) FROM a`).Scan(&n))
	require.Equal(t, 3, n)
	require.ErrorIs(t, db.QueryRowContext(t.Context(), `SELECT x FROM a WHERE x > 5`).Scan(&n), sql.ErrNoRows)
}

func TestClickHouseRefusesWhoDoesNotKnowThePassword(t *testing.T) {
	u, err := url.Parse(testenv.ClickHouse(t))
	require.NoError(t, err)
	u.Path = "/"
	for _, user := range []*url.Userinfo{
		nil, url.User("default"), url.UserPassword("default", "wrong"), url.UserPassword("admin", "x"),
	} {
		u.User = user
		status, body := post(t, u, "SELECT 1")
		require.Equal(t, http.StatusForbidden, status)
		require.Contains(t, body, "Code: 516.")
	}
}

func BenchmarkClickHouseInsert(b *testing.B) {
	for _, rows := range []int{10, 1000, 100_000, 1_000_000, 3_000_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			conn := open(b, testenv.ClickHouse(b))
			require.NoError(b, conn.Exec(b.Context(), pointsTable))
			c := makeColumns(rows)
			for b.Loop() {
				if err := insert(b.Context(), conn, c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// Mutations that wait for merges use all slots of their class. The statements that resume merges
// have their own slots.
func TestClickHouseStartsMergesWhileChangesWaitForThem(t *testing.T) {
	conn := open(t, testenv.ClickHouse(t))
	require.NoError(t, conn.Exec(t.Context(), `CREATE TABLE waits (id UInt64, n UInt64) ENGINE = MergeTree ORDER BY id`))
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO waits SELECT number, 0 FROM numbers(1000)`))
	require.NoError(t, conn.Exec(t.Context(), `SYSTEM STOP MERGES`))
	var changes errgroup.Group
	for range 2 {
		changes.Go(func() error {
			return conn.Exec(t.Context(), `ALTER TABLE waits UPDATE n = n + 1 WHERE 1 SETTINGS mutations_sync = 1`)
		})
	}
	require.Eventually(t, func() bool {
		var waiting uint64
		err := conn.QueryRow(
			t.Context(), `SELECT count() FROM system.mutations WHERE table = 'waits' AND NOT is_done`,
		).Scan(&waiting)
		return err == nil && waiting == 2
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, conn.Exec(t.Context(), `SYSTEM START MERGES`))
	require.NoError(t, changes.Wait())
	var sum uint64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT sum(n) FROM waits`).Scan(&sum))
	require.EqualValues(t, 2000, sum)
}
