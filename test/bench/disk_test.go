package bench

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
)

// BenchmarkDisk measures the bytes per point in the log, in ClickHouse after the insert, and in
// ClickHouse after all merges, for several kinds of values.
func BenchmarkDisk(b *testing.B) {
	const points = 3_000_000
	r := record.New(b)
	t := start(b)
	r.Engines(t.engines())
	fleet := t.fleet("bench", load.Size{Sources: 100, Series: 1000})
	measure := func(name string, values load.Values, batch, n int) {
		r.Logf("%s", name)
		plan := load.Plan{Points: points, Batch: batch, Callers: 4, Values: values, Start: month(n)}
		t.settle()
		t.AskClickHouse("SYSTEM STOP MERGES points")
		log := t.logBytes()
		result, err := fleet.Run(b.Context(), plan)
		require.NoError(b, err)
		require.EqualValues(b, points, result.Visible)
		r.Add(name+"/log", "B/point", float64(t.logBytes()-log)/points)
		r.Add(name+"/inserted", "B/point", float64(t.partitionBytes(plan.Start, points))/points)
		t.AskClickHouse("SYSTEM START MERGES points")
		t.AskClickHouse("OPTIMIZE TABLE points PARTITION ID '" + plan.Start.Format("200601") + "' FINAL")
		r.Add(name+"/merged", "B/point", float64(t.partitionBytes(plan.Start, points))/points)
	}
	for n, values := range load.AllValues {
		measure(string(values), values, 100_000, n)
	}
	// The size of requests affects ids and times, not values.
	measure("small", load.ValuesGauge, 1_000, len(load.AllValues))
	r.Save()
}

// partitionBytes returns the size of a month's points in ClickHouse and requires their number.
func (t *target) partitionBytes(month time.Time, points int) int64 {
	t.b.Helper()
	fields := strings.Fields(t.AskClickHouse(fmt.Sprintf(
		"SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active AND database = currentDatabase() AND table = "+
			"'points' AND partition = '%s'",
		month.Format("200601"))))
	require.Equal(t.b, strconv.Itoa(points), fields[1], "rows of a month")
	size, err := strconv.ParseInt(fields[0], 10, 64)
	require.NoError(t.b, err)
	return size
}

// logBytes returns the size of topic points according to the broker.
func (t *target) logBytes() int64 {
	t.b.Helper()
	client, err := kgo.NewClient(t.Kafka().Opts()...)
	require.NoError(t.b, err)
	defer client.Close()
	dirs, err := kadm.NewClient(client).DescribeAllLogDirs(t.b.Context(), nil)
	require.NoError(t.b, err)
	var size int64
	dirs.Each(func(d kadm.DescribedLogDir) {
		for _, p := range d.Topics["points"] {
			size += p.Size
		}
	})
	return size
}
