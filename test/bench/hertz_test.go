package bench

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/test/bench/record"
)

const (
	hertzSeries  = 10_000
	hertzDay     = hertzSeries * 24 * 3600 // points
	hertzLoading = time.Minute             // how long points are sent
	hertzBatch   = 100_000
)

// BenchmarkHertz measures as much of a day of 10,000 series at one point per second as can be loaded
// in a minute, and extrapolates to the whole day: the size on disk and the cost of a query grow with
// the number of points.
func BenchmarkHertz(b *testing.B) {
	r := record.New(b)
	d := startDashboards(b, r)
	var disk unix.Statfs_t
	require.NoError(b, unix.Statfs(d.DataDir, &disk))
	r.Add("free", "GB", float64(disk.Bavail)*float64(disk.Bsize)/1e9)

	f := d.sources("hertz", hertzSeries/seriesASource)
	r.Logf("loading %d series at 1 Hz for %s", hertzSeries, hertzLoading)
	began := time.Now()
	loaded, length := d.sendHours(r, f, hertzSeries, hertzBatch, time.Second, hertzLoading)
	day := hertzDay / float64(loaded) // factor from the loaded points to the whole day
	took := time.Since(began).Seconds()
	r.Add("visible", "points/s", float64(loaded)/took)
	r.Add("day/loading", "s", took*day)
	log := float64(d.logBytes())
	r.Logf("waiting for rollups")
	d.rolledUp()
	r.Add("day/rollups", "s", time.Since(began).Seconds()*day)
	d.settle()
	r.Add("day/clickhouse", "GB", d.stored()/1e9*day)
	r.Add("day/log", "GB", log/1e9*day)

	d.compare(r, shape{"raw-1h-10", d.hour(f)})
	d.compare(r, shape{"all-1m-100", d.buckets(f, length, "1m", "avg", "toStartOfMinute", "avg(value) AS mean", "mean")})
	d.compare(r, shape{"all-1h-100", d.buckets(
		f, length, "1h", "avg,max", "toStartOfHour", "avg(value) AS mean, max(value) AS most", "mean, most",
	)})
	r.Save()
}

// stored returns the size of all tables of ClickHouse on disk, in bytes.
func (d *dashboards) stored() float64 {
	d.b.Helper()
	bytes, err := strconv.ParseFloat(
		d.AskClickHouse("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()"), 64,
	)
	require.NoError(d.b, err)
	return bytes
}
