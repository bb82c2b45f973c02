package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/test/bench/record"
)

// Sizes of the data of the dashboards. Every source has 100 series.
const (
	wideSeries    = 100_000
	wideInterval  = 10 * time.Second
	wideLoading   = time.Minute // how long points of all series are sent
	wideBatch     = 500_000
	seriesASource = 100
	dayInterval   = 10 * time.Second
	daySources    = 5
	monthInterval = time.Minute
	monthSources  = 3
	// shapeRounds is how often each query and, in turn, its handwritten statement is sent.
	shapeRounds = 40
	// latestRounds is how often the newest points of 10,000 series are read, page by page.
	latestRounds = 5
)

// dashboards is a server with the data of the dashboards: the latest hours of all series, a day of
// some, and a month of some others.
type dashboards struct {
	*target
	client           *http.Client
	clickhouse       string // address for statements
	end              time.Time
	wide, day, month *load.Fleet
}

// BenchmarkDashboards measures the queries of dashboards and the best equivalent statements sent
// directly to ClickHouse.
func BenchmarkDashboards(b *testing.B) {
	r := record.New(b)
	d := startDashboards(b, r)
	d.fill(r)
	for _, s := range d.shapes() {
		d.compare(r, s)
	}
	d.latest(r)
	r.Save()
}

func startDashboards(b *testing.B, r *record.Recorder) *dashboards {
	b.Helper()
	d := &dashboards{target: start(b), client: &http.Client{Timeout: time.Minute}, end: month(1)}
	b.Cleanup(d.client.CloseIdleConnections)
	r.Engines(d.engines())
	return d
}

// compare sends queries of a kind and, in turn, their handwritten statements: one for the numbers
// only, in ClickHouse's native format, and one for the same answer as JSON.
func (d *dashboards) compare(r *record.Recorder, s shape) {
	d.b.Helper()
	r.Logf("%s", s.name)
	d.requireSameAnswer(s)
	var ours, numbers, same []float64
	for n := range shapeRounds + 1 {
		path, statements := s.query(n)
		took, _ := d.get(path)
		alone, _ := d.queryClickHouse(statements.numbers, "Native")
		answer, _ := d.queryClickHouse(statements.answer, handwrittenFormat)
		if n > 0 { // the first warms up
			ours, numbers, same = append(ours, took), append(numbers, alone), append(same, answer)
		}
	}
	for _, result := range []struct {
		name  string
		times []float64
	}{{"http", ours}, {"numbers", numbers}, {"same", same}} {
		r.Add(s.name+"/"+result.name+"-p50", "ms", p50(result.times))
		if result.name != "numbers" { // the page shows the median only
			r.Add(s.name+"/"+result.name+"-p95", "ms", p95(result.times))
		}
	}
	r.Add(s.name+"/of-numbers", "ratio", p50(ours)/p50(numbers))
	r.Add(s.name+"/of-same", "ratio", p50(ours)/p50(same))
}

func p50(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/2]
}

// fill sends the points through the service and waits until consumers, rollups and merges are done.
func (d *dashboards) fill(r *record.Recorder) {
	d.b.Helper()
	d.day, d.month, d.wide = d.sources("day", daySources), d.sources("month", monthSources), d.sources(
		"wide", wideSeries/seriesASource,
	)
	r.Logf("loading a day of %d series and a month of %d series", daySources*seriesASource, monthSources*seriesASource)
	d.send(d.day, daySources*seriesASource, daySources*seriesASource*180, dayInterval, d.end.AddDate(0, 0, -1), d.end)
	d.send(
		d.month, monthSources*seriesASource, monthSources*seriesASource*360, monthInterval, d.end.AddDate(0, 0, -30), d.end,
	)
	r.Logf("loading %d series for %s", wideSeries, wideLoading)
	d.sendHours(r, d.wide, wideSeries, wideBatch, wideInterval, wideLoading)
	r.Logf("waiting for rollups")
	d.rolledUp()
	d.settle()
}

// sources creates sources with 100 series each.
func (d *dashboards) sources(name string, n int) *load.Fleet {
	return d.fleet(name, load.Size{Sources: n, Series: n * seriesASource})
}

// send sends the points of a time range and returns their number when queries see them.
func (d *dashboards) send(f *load.Fleet, series, batch int, interval time.Duration, from, to time.Time) int64 {
	d.b.Helper()
	points := int64(series) * int64(to.Sub(from)/interval)
	result, err := f.Run(d.b.Context(), load.Plan{
		Points: points, Batch: batch, Callers: 2, Start: from, Interval: interval,
	})
	require.NoError(d.b, err)
	return result.Visible
}

// sendHours sends hours of points, from the last hour before the end backwards, until loading has
// passed or a day is sent. The queries read the last hour.
func (d *dashboards) sendHours(
	r *record.Recorder, f *load.Fleet, series, batch int, interval, loading time.Duration,
) (points int64, length time.Duration) {
	d.b.Helper()
	for began := time.Now(); length < 24*time.Hour && (length == 0 || time.Since(began) < loading); {
		length += time.Hour
		at := d.end.Add(-length)
		points += d.send(f, series, batch, interval, at, at.Add(time.Hour))
	}
	r.Add("loaded", "points", float64(points))
	r.Add("hours", "h", length.Hours())
	return points, length
}

// latest reads the newest points of 10,000 series: as rows with one request and with one handwritten
// statement, and as JSON, one page of 100 and all pages in sequence.
func (d *dashboards) latest(r *record.Recorder) {
	d.b.Helper()
	r.Logf("latest points of 10,000 series")
	const limit = 10_000
	sources := slices.Concat(d.day.Sources(), d.month.Sources(), d.wide.Sources()) // in the order of the pages
	statements := d.latestHandwritten(sources[:limit/seriesASource])
	d.compare(r, shape{"latest-rows-10000", func(int) (string, handwritten) {
		return fmt.Sprintf("/api/live-data/query?latest=true&format=ndjson&limit=%d", limit), statements
	}})
	var pages, all []float64
	for range latestRounds {
		began := time.Now()
		for offset := 0; offset < limit; offset += 100 {
			took, _ := d.get(fmt.Sprintf("/api/live-data/query?latest=true&limit=100&offset=%d", offset))
			pages = append(pages, took)
		}
		all = append(all, time.Since(began).Seconds()*1000)
	}
	r.Add("latest-100/http-p50", "ms", p50(pages))
	r.Add("latest-100/http-p95", "ms", p95(pages))
	r.Add("latest-10000/http-p50", "ms", p50(all))
}

// get sends a query to the service and returns the time until the last byte in milliseconds, and the
// answer.
func (d *dashboards) get(path string) (took float64, body []byte) {
	d.b.Helper()
	request, err := http.NewRequest(http.MethodGet, d.URL()+path, nil)
	require.NoError(d.b, err)
	request.Header.Set("Authorization", "Bearer "+d.First.AdminKey)
	request.Header.Set("X-Workspace-Id", d.First.WorkspaceID)
	return d.timed(request)
}

// queryClickHouse sends a statement to ClickHouse and returns the time until the last byte in
// milliseconds, and the answer in a format of ClickHouse.
func (d *dashboards) queryClickHouse(statement, format string) (took float64, body []byte) {
	d.b.Helper()
	if d.clickhouse == "" {
		u, err := url.Parse(d.RunFile().ClickHouseURL)
		require.NoError(d.b, err)
		u.RawQuery = url.Values{"database": {strings.TrimPrefix(u.Path, "/")}, "date_time_output_format": {"iso"}}.Encode()
		u.Path = "/"
		d.clickhouse = u.String()
	}
	request, err := http.NewRequest(http.MethodPost, d.clickhouse, strings.NewReader(statement+" FORMAT "+format))
	require.NoError(d.b, err)
	return d.timed(request)
}

func (d *dashboards) timed(request *http.Request) (took float64, body []byte) {
	d.b.Helper()
	began := time.Now()
	response, err := d.client.Do(request)
	require.NoError(d.b, err)
	defer func() { _ = response.Body.Close() }()
	body, err = io.ReadAll(response.Body)
	took = time.Since(began).Seconds() * 1000
	require.NoError(d.b, err)
	require.Equal(d.b, http.StatusOK, response.StatusCode, "%s: %.300s", request.URL.Path, body)
	return took, body
}
