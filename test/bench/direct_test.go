package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/chtest"
)

// direct is the baseline: it inserts the same sorted points into a table with the same definition in
// the same engine. It uses batches of clickhouse-go, filled by columns, with the service's options and
// settings; or, to measure the maximum throughput of ClickHouse, the service's own writer, which sends columns
// without copying them.
type direct struct {
	t      *target
	db     *clickhouse.DB
	driver driver.Conn
	series []seriesID // sorted by id, as the table is
}

// writer returns a function that inserts columns. It prepares them before the clock starts.
type writer func(*direct, *clickhouse.PointColumns) (insert func(context.Context) error)

// seriesID is a series of the fleet: its number there and its id in the table.
type seriesID struct {
	number int
	id     uint64
}

// concurrentInserts is the number of concurrent inserts. 2 was the fastest on two cores.
const concurrentInserts = 2

// newDirect creates a second database with the server's tables.
func (t *target) newDirect(f *load.Fleet) *direct {
	t.b.Helper()
	const database = "direct"
	t.AskClickHouse("CREATE DATABASE IF NOT EXISTS " + database)
	address, err := url.Parse(t.RunFile().ClickHouseURL)
	require.NoError(t.b, err)
	address.Path = "/" + database
	db, err := chtest.Open(t.b.Context(), address.String())
	require.NoError(t.b, err)
	t.b.Cleanup(func() { _ = db.Close() })
	require.NoError(t.b, db.Migrate(t.b.Context()))
	options, err := clickhouse.Driver(address.String(), nil)
	require.NoError(t.b, err)
	conn, err := ch.Open(options)
	require.NoError(t.b, err)
	t.b.Cleanup(func() { _ = conn.Close() })
	return &direct{t: t, db: db, driver: conn, series: t.knownSeries(f)}
}

// byWriter inserts with the service's writer.
func byWriter(d *direct, c *clickhouse.PointColumns) func(context.Context) error {
	return func(ctx context.Context) error { return d.db.InsertPoints(ctx, c) }
}

// byDriver inserts with clickhouse-go.
func byDriver(d *direct, c *clickhouse.PointColumns) func(context.Context) error {
	columns := []any{
		c.Series.AppendTo(make([]uint64, 0, c.Len()), 0), make([]time.Time, c.Len()),
		c.Values, c.Versions.AppendTo(make([]uint64, 0, c.Len()), 0),
	}
	for row, ts := range c.TS {
		columns[1].([]time.Time)[row] = time.UnixMicro(ts).UTC()
	}
	return func(ctx context.Context) error {
		batch, err := d.driver.PrepareBatch(ch.Context(ctx, ch.WithSettings(ch.Settings{
			"optimize_on_insert": 0, "insert_deduplicate": 0, "max_partitions_per_insert_block": 0,
		})), "INSERT INTO points (series, ts, value, version)")
		if err != nil {
			return err
		}
		for i, values := range columns {
			if err := batch.Column(i).Append(values); err != nil {
				return errors.Join(err, batch.Abort())
			}
		}
		return batch.Send()
	}
}

// knownSeries returns the ids of a fleet's series in the server's ClickHouse.
func (t *target) knownSeries(f *load.Fleet) []seriesID {
	t.b.Helper()
	numbers := map[string]int{} // of sources
	for i, id := range f.Sources() {
		numbers[id] = i
	}
	var series []seriesID
	for line := range strings.Lines(t.AskClickHouse("SELECT DISTINCT source, metric, id FROM series")) {
		fields := strings.Fields(line)
		source, ok := numbers[fields[0]]
		if !ok {
			continue
		}
		metric, err := strconv.Atoi(strings.TrimPrefix(fields[1], "m"))
		require.NoError(t.b, err)
		id, err := strconv.ParseUint(fields[2], 10, 64)
		require.NoError(t.b, err)
		series = append(series, seriesID{number: metric*len(f.Sources()) + source, id: id})
	}
	slices.SortFunc(series, func(a, b seriesID) int { return cmp.Compare(a.id, b.id) })
	return series
}

// directRows is the number of rows per insert: the maximum of the server.
const directRows = 1_000_000

// batches builds the columns of all inserts of a plan: each contains the points of some requests for
// all series, sorted by series and time. The version is that of the request, like the record's version
// in the server.
func (d *direct) batches(p load.Plan) []*clickhouse.PointColumns {
	each := p.Batch / len(d.series) // points of a series in a request
	steps := int(p.Points) / len(d.series)
	perInsert := directRows / len(d.series)
	var all []*clickhouse.PointColumns
	for first := 0; first < steps; first += perInsert {
		rows := len(d.series) * (min(first+perInsert, steps) - first)
		c := &clickhouse.PointColumns{
			TS: make([]int64, 0, rows), Values: make([]float64, 0, rows),
		}
		for _, s := range d.series {
			for step := first; step < min(first+perInsert, steps); step++ {
				ts := p.Start.Add(time.Duration(step) * time.Second).UnixMicro()
				c.Append(s.id, ts, p.Values.At(s.number, int64(step)), 1<<48|uint64(step/each))
			}
		}
		all = append(all, c)
	}
	return all
}

// load inserts the points of a plan into an empty table, as target.load sends them.
func (d *direct) load(p load.Plan, w writer) outcome {
	d.t.b.Helper()
	batches := d.batches(p)
	inserts := make([]func(context.Context) error, len(batches))
	for i, batch := range batches {
		inserts[i] = w(d, batch)
	}
	d.t.AskClickHouse("TRUNCATE TABLE direct.points")
	runtime.GC() // collects the garbage of preparing the inserts
	before, began := d.t.usage(), time.Now()
	group, ctx := errgroup.WithContext(d.t.b.Context())
	group.SetLimit(concurrentInserts)
	for _, insert := range inserts {
		group.Go(func() error { return insert(ctx) })
	}
	require.NoError(d.t.b, group.Wait())
	o := outcome{points: p.Points, seconds: time.Since(began).Seconds()}
	after := d.t.usage()
	d.t.settle()
	o.used, o.merges = after.since(before), d.t.usage().since(after).clickhouse
	return o
}

// requireSamePoints requires that both databases contain the same points of the plan's month, so that
// the baseline did the same work. A request that was sent twice leaves duplicates until they are
// merged; then it compares the result of FINAL.
func (d *direct) requireSamePoints(p load.Plan) {
	d.t.b.Helper()
	sum := func(database, settled string) string {
		return d.t.AskClickHouse(fmt.Sprintf(
			"SELECT count(), groupBitXor(cityHash64(series, ts, value)) FROM %s.points%s WHERE ts >= "+
				"fromUnixTimestamp64Micro(%d, 'UTC') AND ts < fromUnixTimestamp64Micro(%d, 'UTC')",
			database, settled, p.Start.UnixMicro(), p.Start.AddDate(0, 1, 0).UnixMicro()))
	}
	own := d.t.AskClickHouse("SELECT currentDatabase()")
	if sum(own, "") != sum("direct", "") {
		require.Equal(d.t.b, sum(own, " FINAL"), sum("direct", " FINAL"))
	}
}
