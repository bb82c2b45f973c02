package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/load"
)

// handwrittenFormat is the format of answers to handwritten statements: one object per line.
const handwrittenFormat = "JSONEachRow"

// shape is a kind of query: the path of the n-th query, and its handwritten statements.
type shape struct {
	name  string
	query func(n int) (path string, by handwritten)
}

// handwritten is the best known statements for a query.
type handwritten struct {
	// numbers selects series by known ids and returns only these ids.
	numbers string
	// answer selects series like the query and returns all their attributes.
	answer string
}

func (d *dashboards) shapes() []shape {
	day := 24 * time.Hour
	return []shape{
		{"raw-1h-10", d.hour(d.wide)},
		{"day-1m-100", d.buckets(d.day, day, "1m", "avg", "toStartOfMinute", "avg(value) AS mean", "mean")},
		{"month-1h-100", d.buckets(
			d.month, 30*day, "1h", "avg,max", "toStartOfHour", "avg(value) AS mean, max(value) AS most", "mean, most",
		)},
		{"percentiles-day-1h-100", d.buckets(
			d.day, day, "1h", "p50,p95", "toStartOfHour", "quantilesExactInclusive(0.5, 0.95)(value) AS q", "q[1], q[2]",
		)},
		{"rate-day-1m-100", d.rates(d.day, day)},
		{"lttb-day-100", d.downsampled(d.day, day)},
	}
}

// hour queries the last hour of ten series.
func (d *dashboards) hour(f *load.Fleet) func(n int) (string, handwritten) {
	return func(n int) (string, handwritten) {
		source, from := f.Sources()[n*7%len(f.Sources())], d.end.Add(-time.Hour)
		path := d.path(source, from, "limit=10&pointsLimit=100000")
		names := make([]string, 10)
		for i := range names {
			path += fmt.Sprintf("&metric=m%d", i)
			names[i] = fmt.Sprintf("'m%d'", i)
		}
		return path, d.handwritten(source, strings.Join(names, ","), func(series string) string {
			return fmt.Sprintf(
				`SELECT series, ts, value FROM points FINAL PREWHERE series IN (%s) AND %s ORDER BY series, ts`, series,
				d.timeCondition(from),
			)
		}, "groupArray((ts, value))")
	}
}

// buckets queries aggregates of a source's series over the given time before the end.
func (d *dashboards) buckets(
	f *load.Fleet, length time.Duration, interval, functions, start, expressions, columns string,
) func(n int) (string, handwritten) {
	return func(n int) (string, handwritten) {
		source, from := f.Sources()[n%len(f.Sources())], d.end.Add(-length)
		return d.path(source, from, "limit=100&pointsLimit=1000000&interval="+interval+"&aggregation="+functions),
			d.handwritten(source, "", func(series string) string {
				return fmt.Sprintf(
					`SELECT series, %s(ts) AS bucket, %s FROM points FINAL PREWHERE series IN (%s) AND %s GROUP BY series, bucket
						ORDER BY series, bucket`,
					start, expressions, series, d.timeCondition(from),
				)
			}, "groupArray((bucket, "+columns+"))")
	}
}

// rates queries the rate of counters by minute. The handwritten statement also handles counter resets,
// and the step between buckets.
func (d *dashboards) rates(f *load.Fleet, length time.Duration) func(n int) (string, handwritten) {
	return func(n int) (string, handwritten) {
		source, from := f.Sources()[n%len(f.Sources())], d.end.Add(-length)
		return d.path(source, from, "limit=100&pointsLimit=1000000&interval=1m&aggregation=rate"),
			d.handwritten(source, "", func(series string) string {
				steps := fmt.Sprintf(
					`SELECT series, ts, value, lagInFrame(value, 1, nan) OVER w AS prior, lagInFrame(ts, 1, ts) OVER w AS since
				FROM points FINAL PREWHERE series IN (%s) AND %s WINDOW w AS (PARTITION BY series
				ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)`,
					series, d.timeCondition(from.Add(-time.Hour)),
				)
				return fmt.Sprintf(`SELECT series, toStartOfMinute(ts) AS bucket,
				sum(multiIf(isNaN(prior), 0, value >= prior, value - prior,
				value)) / (max(toUnixTimestamp64Micro(ts)) - min(toUnixTimestamp64Micro(since))) * 1e6 AS rate
				FROM (%s) GROUP BY series, bucket HAVING bucket >= fromUnixTimestamp64Milli(%d, 'UTC')
				ORDER BY series, bucket`, steps, from.UnixMilli())
			}, "groupArray((bucket, rate))")
	}
}

// downsampled queries 500 points of each series. The handwritten statement also counts times from the
// middle of the range, where float64 is precise enough to distinguish triangles.
func (d *dashboards) downsampled(f *load.Fleet, length time.Duration) func(n int) (string, handwritten) {
	return func(n int) (string, handwritten) {
		source, from := f.Sources()[n%len(f.Sources())], d.end.Add(-length)
		middle := from.Add(length / 2).UnixMicro()
		return d.path(source, from, "limit=100&pointsLimit=1000000&downsample=lttb&maxPoints=500"),
			d.handwritten(source, "", func(series string) string {
				return fmt.Sprintf(
					`SELECT series, lttb(500)(toUnixTimestamp64Micro(ts) - %d, value) AS shape
						FROM points FINAL PREWHERE series IN (%s) AND %s GROUP BY series`,
					middle, series, d.timeCondition(from),
				)
			}, fmt.Sprintf("arrayMap(p -> (fromUnixTimestamp64Micro(toInt64(p.1) + %d, 'UTC'), p.2), any(shape))", middle))
	}
}

// handwritten returns the statements for the series of a source with the given metrics, or all. rows
// returns a statement for the rows of series, and points is an expression for an array of a series'
// rows.
func (d *dashboards) handwritten(source, metrics string, rows func(series string) string, points string) handwritten {
	condition := fmt.Sprintf("workspace = '%s' AND source = '%s'", d.First.WorkspaceID, source)
	if metrics != "" {
		condition += " AND metric IN (" + metrics + ")"
	}
	ids := "SELECT id FROM series WHERE " + condition
	return handwritten{
		// The ids are queried separately and not measured.
		numbers: rows(strings.ReplaceAll(d.AskClickHouse("SELECT DISTINCT * FROM ("+ids+")"), "\n", ",")),
		answer: fmt.Sprintf(`SELECT source, metric, kind, tags, points FROM
			(SELECT id, source, metric, kind, tags FROM series WHERE %s LIMIT 1 BY id) AS known
			INNER JOIN (SELECT series, %s AS points FROM (%s) GROUP BY series) AS found ON known.id = found.series
			ORDER BY source, metric`, condition, points, rows(ids)),
	}
}

// latestHandwritten returns the statements for the newest points of all series of sources.
func (d *dashboards) latestHandwritten(sources []string) handwritten {
	condition := fmt.Sprintf("workspace = '%s' AND source IN ('%s')", d.First.WorkspaceID, strings.Join(sources, "','"))
	newest := "SELECT series, ts, value FROM latest FINAL WHERE " + condition
	return handwritten{numbers: newest, answer: fmt.Sprintf(`SELECT ts AS timestamp, source, metric, kind, tags, value FROM
		(SELECT id, source, metric, kind, tags FROM series WHERE %s LIMIT 1 BY id) AS known
		INNER JOIN (%s) AS found ON known.id = found.series ORDER BY ts, source, metric`, condition, newest)}
}

// path returns the path of a query for a source's points up to the end.
func (d *dashboards) path(source string, from time.Time, rest string) string {
	return fmt.Sprintf(
		"/api/live-data/query?sourceId=%s&from=%d&to=%d&%s", source, from.UnixMilli(), d.end.UnixMilli(), rest,
	)
}

func (d *dashboards) timeCondition(from time.Time) string {
	return fmt.Sprintf(
		"ts >= fromUnixTimestamp64Milli(%d, 'UTC') AND ts < fromUnixTimestamp64Milli(%d, 'UTC')", from.UnixMilli(),
		d.end.UnixMilli(),
	)
}

// requireSameAnswer requires that the first query and its handwritten statement return the same
// points.
func (d *dashboards) requireSameAnswer(s shape) {
	d.b.Helper()
	path, statements := s.query(0)
	_, ours := d.get(path)
	_, hand := d.queryClickHouse(statements.answer, handwrittenFormat)
	got, want := readAnswer(d.b, ours), readAnswer(d.b, hand)
	require.NotEmpty(d.b, want)
	require.Len(d.b, got, len(want))
	for series, points := range want {
		require.Len(d.b, got[series], len(points), series)
		for i, p := range points {
			require.Equal(d.b, p.at, got[series][i].at, "%s: point %d", series, i)
			require.Len(d.b, got[series][i].values, len(p.values))
			for column, value := range p.values {
				require.InDelta(d.b, value, got[series][i].values[column], 1e-9*max(1, math.Abs(value)), "%s at %s", series, p.at)
			}
		}
	}
}

// answerPoint is a point or a bucket of an answer. A null value is 0.
type answerPoint struct {
	at     time.Time
	values []float64
}

// readAnswer decodes an answer of either kind, by source and metric.
func readAnswer(b require.TestingT, body []byte) map[string][]answerPoint {
	type row struct {
		SourceID, Source, Metric string
		Points                   [][]any
		Timestamp                time.Time
		Value                    float64
	}
	var rows []row
	var envelope struct{ Data []row }
	if err := json.Unmarshal(body, &envelope); err == nil && envelope.Data != nil {
		rows = envelope.Data
	} else {
		for line := range bytes.Lines(body) {
			var r row
			require.NoError(b, json.Unmarshal(line, &r), "%.300s", line)
			rows = append(rows, r)
		}
	}
	found := map[string][]answerPoint{}
	for _, r := range rows {
		series := r.SourceID + r.Source + "/" + r.Metric
		if r.Points == nil {
			found[series] = append(found[series], answerPoint{r.Timestamp, []float64{r.Value}})
		}
		for _, p := range r.Points {
			at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(p[0]))
			require.NoError(b, err)
			a := answerPoint{at: at}
			for _, v := range p[1:] {
				number, _ := v.(float64)
				a.values = append(a.values, number)
			}
			found[series] = append(found[series], a)
		}
	}
	return found
}
