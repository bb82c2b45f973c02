package query

import (
	"net/http"
	"net/url"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// FuzzQueryParameters: a query is either within its bounds or refused with the name of a
// parameter, and the number of buckets of an accepted one is bounded.
func FuzzQueryParameters(f *testing.F) {
	for _, query := range []string{
		"", "from=-1h&to=now&metric=a&metric=b&tag.room=A&sourceId=0194a5b0-0000-7000-8000-00000000000a",
		"aggregation=avg,p95&interval=1d&timezone=Europe/Berlin&fill=linear&groupBy=metric,tag.a",
		"aggregation=rate&interval=auto&maxPoints=2&from=0000-01-01T00:00:00Z&to=9999-12-31T23:59:59Z",
		"latest=true&epoch=ns&format=csv&order=desc",
		"downsample=lttb&pointsLimit=1000000&limit=101&offset=9223372036854775807",
		"from=-9223372036854775807w&to=253402300799000", "interval=1ns",
		"aggregation=count&interval=99999999999999999999s&fill=1e400", "cursor=x&checkpoint=y&source=z&nodeId=",
		"timezone=../../etc/passwd", "from=now-&to=-0s", "a;b=1&%zz",
	} {
		f.Add(query)
		f.Add(query + "&limit=10001")
	}
	now := time.Date(2026, 11, 21, 7, 40, 8, 290_296_000, time.UTC)
	f.Fuzz(func(t *testing.T, raw string) {
		parameters := func() *request.Params { return request.Query(&http.Request{URL: &url.URL{RawQuery: raw}}) }
		for _, accepted := range []string{"application/json", "text/csv"} {
			q, err := readQuery(parameters(), http.Header{"Accept": {accepted}}, now)
			if err != nil {
				requireRefusal(t, err)
			} else {
				requireBounded(t, q)
			}
		}
	})
}

func requireRefusal(t *testing.T, err error) {
	t.Helper()
	var refusal *fault.Error
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, []fault.Kind{fault.Malformed, fault.Invalid}, refusal.Kind, "%v", err)
	require.NotEmpty(t, refusal.Details["field"])
	require.NotEmpty(t, refusal.Details["reason"])
}

func requireBounded(t *testing.T, q *queryParams) {
	t.Helper()
	require.LessOrEqual(t, q.span.FromUS, q.span.ToUS)
	require.GreaterOrEqual(t, q.span.FromUS, int64(0))
	require.LessOrEqual(t, q.span.ToUS, int64(pointblock.MaxTimestampUS)+1)
	most := request.MaxLimit
	if q.format.Name != columns.JSON {
		most = columns.MaxItems
	}
	require.True(t, q.limit >= 1 && q.limit <= most && q.offset >= 0)
	require.True(t, q.points >= 1 && q.points <= maxPoints)
	require.Positive(t, q.rows())
	require.Len(t, q.columns(), max(len(q.functions), 1)+1)
	if q.interval == 0 {
		return
	}
	require.True(t, q.interval >= minInterval && q.interval <= maxInterval, q.interval)
	rows := q.rows()
	count := timeseries.NewGrid(q.interval, q.zone, q.span.FromUS, q.span.ToUS).Count(q.span.FromUS, q.span.ToUS, rows)
	require.True(t, count >= 0 && count <= rows+1, count)
}

// FuzzParts tests the parsers of single values, which other routes and commands use too.
func FuzzParts(f *testing.F) {
	for _, text := range []string{
		"", "now", "-15m", "now-2w", "1795246808290", "2026-11-21 07:40:08Z", "1s", "30d", "1ns", "-0.5e3", "linear", "Local",
		"Asia/Kathmandu",
	} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 21, 7, 40, 8, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if us, problem := value.ParseTime(text, now); problem == "" {
			require.True(t, us >= 0 && us <= pointblock.MaxTimestampUS+1)
		} else {
			require.True(t, utf8.ValidString(problem))
		}
		if d, problem := parseInterval(text); problem == "" {
			again, problem := parseInterval(value.FormatDuration(d))
			require.Empty(t, problem)
			require.Equal(t, d, again)
		}
		if filled, ok := parseFill(text); ok {
			require.Equal(t, filled.value, filled.value, "no NaN")
		}
		zone, problem := parseZone(text)
		require.NotNil(t, zone)
		require.True(t, problem != "" || zone.String() == text)
	})
}
