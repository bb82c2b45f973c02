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

	"github.com/livegraph/livegraph/internal/load"
	"github.com/livegraph/livegraph/test/bench/record"
)

// Sizes of what the dashboards look at. Every source has 100 series.
const (
	wideSeries    = 100_000
	wideInterval  = 10 * time.Second
	wideLoading   = time.Minute // for as long points of all series are sent
	wideBatch     = 500_000
	seriesASource = 100
	dayInterval   = 10 * time.Second
	daySources    = 5
	monthInterval = time.Minute
	monthSources  = 3
	// shapeRounds is how often each query is sent, and its statement by hand in turn.
	shapeRounds = 40
	// latestRounds is how often the newest points of 10,000 series are read, page by page.
	latestRounds = 5
)

// dashboards is a server with what dashboards look at: the latest hours of all
// series, a day of some, a month of some others.
type dashboards struct {
	*target
	client           *http.Client
	clickhouse       string // address for statements
	end              time.Time
	wide, day, month *load.Fleet
}

// BenchmarkDashboards measures what dashboards ask, beside the best statement for the
// same answer that goes to ClickHouse by hand.
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

// compare sends queries of a kind and, in turn with them, their statements by hand, once for
// the answer in ClickHouse's own format and once for JSON, as ours is.
func (d *dashboards) compare(r *record.Recorder, s shape) {
	d.b.Helper()
	r.Say("%s", s.name)
	var ours, hand, text []float64
	for n := range shapeRounds + 1 {
		path, statement := s.query(n)
		took, by, as := d.get(path), d.ask(statement), d.askFor(statement, "JSONCompactEachRow")
		if n > 0 { // the first warms up
			ours, hand, text = append(ours, took), append(hand, by), append(text, as)
		}
	}
	for _, of := range []struct {
		name  string
		times []float64
	}{{"http", ours}, {"sql", hand}, {"json", text}} {
		r.Add(s.name+"/"+of.name+"-p50", "ms", p50(of.times))
		r.Add(s.name+"/"+of.name+"-p95", "ms", p95(of.times))
	}
	r.Add(s.name+"/of-sql", "ratio", p50(ours)/p50(hand))
	r.Add(s.name+"/of-json", "ratio", p50(ours)/p50(text))
}

func p50(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/2]
}

// fill sends the points through the service, whose consumer makes of them whatever
// it makes, and waits until nothing is done in the background.
func (d *dashboards) fill(r *record.Recorder) {
	d.b.Helper()
	d.day, d.month, d.wide = d.sources("day", daySources), d.sources("month", monthSources), d.sources("wide", wideSeries/seriesASource)
	r.Say("a day of %d series, a month of %d", daySources*seriesASource, monthSources*seriesASource)
	d.send(d.day, daySources*seriesASource, daySources*seriesASource*180, dayInterval, d.end.AddDate(0, 0, -1), d.end)
	d.send(d.month, monthSources*seriesASource, monthSources*seriesASource*360, monthInterval, d.end.AddDate(0, 0, -30), d.end)
	r.Say("all %d series for %s", wideSeries, wideLoading)
	d.sendHours(r, d.wide, wideSeries, wideBatch, wideInterval, wideLoading)
	r.Say("rollups")
	d.rolledUp()
	d.settle()
}

// sources makes sources of 100 series each.
func (d *dashboards) sources(name string, n int) *load.Fleet {
	return d.fleet(name, load.Size{Sources: n, Series: n * seriesASource})
}

// send sends the points of a time, and gives how many there are when queries see them.
func (d *dashboards) send(f *load.Fleet, series, batch int, interval time.Duration, from, to time.Time) int64 {
	d.b.Helper()
	points := int64(series) * int64(to.Sub(from)/interval)
	result, err := f.Run(d.b.Context(), load.Plan{Points: points, Batch: batch, Callers: 2, Start: from, Interval: interval})
	require.NoError(d.b, err)
	return result.Visible
}

// sendHours sends hour by hour for as long as said, a day at most: first the last hour before
// the end, which the queries are about, and back in time from there.
func (d *dashboards) sendHours(r *record.Recorder, f *load.Fleet, series, batch int, interval, loading time.Duration) (points int64, length time.Duration) {
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

// shape is a kind of query: what the n-th asks the service for, and the statement by
// hand that has the same points.
type shape struct {
	name  string
	query func(n int) (path, statement string)
}

func (d *dashboards) shapes() []shape {
	return []shape{
		{"raw-1h-10", d.hour(d.wide)},
		{"day-1m-100", d.buckets(d.day, 24*time.Hour, "1m", "avg", "toStartOfMinute", "avg(value)")},
		{"month-1h-100", d.buckets(d.month, 30*24*time.Hour, "1h", "avg,max", "toStartOfHour", "avg(value), max(value)")},
		{"percentiles-day-1h-100", d.buckets(d.day, 24*time.Hour, "1h", "p50,p95", "toStartOfHour", "quantilesExactInclusive(0.5, 0.95)(value)")},
		{"rate-day-1m-100", d.buckets(d.day, 24*time.Hour, "1m", "rate", "toStartOfMinute", "(argMax(value, ts) - argMin(value, ts)) / 60")},
		{"lttb-day-100", func(n int) (string, string) {
			source, from := d.day.Sources()[n%daySources], d.end.AddDate(0, 0, -1)
			return d.path(source, from, "limit=100&pointsLimit=1000000&downsample=lttb&maxPoints=500"),
				fmt.Sprintf(`SELECT series, lttb(500)(ts, value) FROM points FINAL PREWHERE series IN (%s) AND %s GROUP BY series`,
					d.idsOf(source, ""), d.within(from))
		}},
	}
}

// hour asks for the last hour of ten series.
func (d *dashboards) hour(f *load.Fleet) func(n int) (path, statement string) {
	return func(n int) (string, string) {
		source, from := f.Sources()[n*7%len(f.Sources())], d.end.Add(-time.Hour)
		path := d.path(source, from, "limit=10&pointsLimit=100000")
		names := make([]string, 10)
		for i := range names {
			path += fmt.Sprintf("&metric=m%d", i)
			names[i] = fmt.Sprintf("'m%d'", i)
		}
		return path, fmt.Sprintf(`SELECT series, ts, value FROM points FINAL PREWHERE series IN (%s) AND %s ORDER BY series, ts`,
			d.idsOf(source, strings.Join(names, ",")), d.within(from))
	}
}

// buckets asks for aggregates of a source's series over the last time of a length.
func (d *dashboards) buckets(f *load.Fleet, length time.Duration, interval, functions, start, expressions string) func(n int) (path, statement string) {
	return func(n int) (string, string) {
		source, from := f.Sources()[n%len(f.Sources())], d.end.Add(-length)
		return d.path(source, from, "limit=100&pointsLimit=1000000&interval="+interval+"&aggregation="+functions),
			fmt.Sprintf(`SELECT series, %s(ts) AS bucket, %s FROM points FINAL PREWHERE series IN (%s) AND %s GROUP BY series, bucket ORDER BY series, bucket`,
				start, expressions, d.idsOf(source, ""), d.within(from))
	}
}

// path gives the path of a query for a source's points up to the end.
func (d *dashboards) path(source string, from time.Time, rest string) string {
	return fmt.Sprintf("/api/live-data/query?sourceId=%s&from=%d&to=%d&%s", source, from.UnixMilli(), d.end.UnixMilli(), rest)
}

func (d *dashboards) within(from time.Time) string {
	return fmt.Sprintf("ts >= fromUnixTimestamp64Milli(%d, 'UTC') AND ts < fromUnixTimestamp64Milli(%d, 'UTC')", from.UnixMilli(), d.end.UnixMilli())
}

// idsOf gives the ids of a source's series, of those metrics or all, as a list. It is
// asked for apart from what is measured.
func (d *dashboards) idsOf(source, metrics string) string {
	condition := ""
	if metrics != "" {
		condition = " AND metric IN (" + metrics + ")"
	}
	return strings.ReplaceAll(d.AskClickHouse("SELECT DISTINCT id FROM series WHERE source = '"+source+"'"+condition), "\n", ",")
}

// latest reads the newest points of 10,000 series: in rows with one request, by hand with
// one statement, and as JSON, a page of 100 and all pages one after the other.
func (d *dashboards) latest(r *record.Recorder) {
	d.b.Helper()
	r.Say("latest")
	const most = 10_000
	sources := "'" + strings.Join(d.wide.Sources()[:most/seriesASource], "','") + "'"
	statement := fmt.Sprintf(`SELECT series, argMax(ts, rank), argMax(value, rank) FROM latest WHERE workspace = '%s' AND source IN (%s) GROUP BY series`,
		d.First.WorkspaceID, sources)
	d.compare(r, shape{"latest-rows-10000", func(int) (string, string) {
		return fmt.Sprintf("/api/live-data/query?latest=true&format=ndjson&limit=%d", most), statement
	}})
	var pages, all []float64
	for range latestRounds {
		began := time.Now()
		for offset := 0; offset < most; offset += 100 {
			pages = append(pages, d.get(fmt.Sprintf("/api/live-data/query?latest=true&limit=100&offset=%d", offset)))
		}
		all = append(all, time.Since(began).Seconds()*1000)
	}
	r.Add("latest-100/http-p50", "ms", p50(pages))
	r.Add("latest-100/http-p95", "ms", p95(pages))
	r.Add("latest-10000/http-p50", "ms", p50(all))
}

// get asks the service and gives how long it took until the last byte, in
// milliseconds.
func (d *dashboards) get(path string) float64 {
	d.b.Helper()
	request, err := http.NewRequest(http.MethodGet, d.URL()+path, nil)
	require.NoError(d.b, err)
	request.Header.Set("Authorization", "Bearer "+d.First.AdminKey)
	request.Header.Set("X-Workspace-Id", d.First.WorkspaceID)
	return d.timed(request)
}

// ask sends a statement to ClickHouse and gives how long it took.
func (d *dashboards) ask(statement string) float64 { return d.askFor(statement, "Native") }

// askFor sends a statement whose answer comes in a format of ClickHouse's.
func (d *dashboards) askFor(statement, format string) float64 {
	d.b.Helper()
	if d.clickhouse == "" {
		u, err := url.Parse(d.Control().ClickHouseURL)
		require.NoError(d.b, err)
		u.RawQuery = url.Values{"database": {strings.TrimPrefix(u.Path, "/")}}.Encode()
		u.Path = "/"
		d.clickhouse = u.String()
	}
	request, err := http.NewRequest(http.MethodPost, d.clickhouse, strings.NewReader(statement+" FORMAT "+format))
	require.NoError(d.b, err)
	return d.timed(request)
}

func (d *dashboards) timed(request *http.Request) float64 {
	d.b.Helper()
	began := time.Now()
	response, err := d.client.Do(request)
	require.NoError(d.b, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	took := time.Since(began).Seconds() * 1000
	require.NoError(d.b, err)
	require.Equal(d.b, http.StatusOK, response.StatusCode, "%s: %.300s", request.URL.Path, body)
	return took
}
