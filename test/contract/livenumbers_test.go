package contract_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// hugeCounts exceed an int64: they are refused where too large values are refused, and
// clamped where values above 100 are clamped.
var hugeCounts = []string{"9223372036854775808", "18446744073709551616"}

// badCounts are not integers in decimal digits.
var badCounts = []string{
	"", "-1", "-0", "%205", "5%20", "%2B5", "+5", "0x10", "0b1", "1e2", "1.5", "1.0", "1_000", "five", "NaN", "null",
	"true", "%D9%A5", "%EF%BC%95", "5%0A", "5,6",
}

func TestPagesAreCountedInWholeNumbers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{
		sourcesPath + "?", "/api/live-data/series?", "/api/live-data/query?" + rangeParams(time.Hour) + "&",
	} {
		for _, name := range []string{"limit", "offset"} {
			for _, text := range badCounts {
				f.Do(t, contract.Request{Path: path + name + "=" + text}).RequireFailure(
					t, 400, validation, "", map[string]any{"field": name},
				)
			}
		}
		for _, text := range hugeCounts {
			f.Do(t, contract.Request{Path: path + "offset=" + text}).RequireFailure(
				t, 400, validation, "", map[string]any{"field": "offset"},
			)
		}
		f.Do(t, contract.Request{Path: path + "limit=0"}).RequireFailure(
			t, 400, validation, "", map[string]any{"field": "limit"},
		)
		for text, want := range map[string]int64{
			"1": 1, "007": 7, "100": 100, "101": 100, "2147483648": 100, "9223372036854775807": 100, hugeCounts[0]: 100,
			hugeCounts[1]: 100,
		} {
			require.Equal(t, want, f.Get(t, path+"limit="+text, &[]any{}).Meta.Limit, "%s %s", path, text)
		}
		for _, text := range []string{
			"0", "1", "100", "101", "2147483647", "2147483648", "9223372036854775707", "9223372036854775807",
		} {
			var list []any
			a := f.Get(t, path+"limit=100&offset="+text, &list)
			require.Equal(t, text, fmt.Sprint(a.Meta.Offset))
			require.NotNil(t, list)
			require.Equal(t, int64(len(list)), max(a.Meta.Total-a.Meta.Offset, 0), "%s %s", path, text)
			require.False(t, a.Meta.HasMore)
		}
	}
	for _, text := range slices.Concat([]string{"0", "1000001", "2147483648"}, hugeCounts, badCounts) {
		f.Do(t, contract.Request{
			Path: "/api/live-data/query?pointsLimit=" + text,
		}).RequireFailure(t, 400, validation, "", map[string]any{"field": "pointsLimit"})
	}
	require.Equal(
		t, http.StatusOK,
		f.Do(t, contract.Request{Path: "/api/live-data/query?pointsLimit=1000000&" + rangeParams(time.Hour)}).Status,
	)
	for _, with := range []string{"downsample=lttb", "aggregation=rate&interval=auto"} {
		for _, text := range slices.Concat([]string{"0", "1", "1000001", "2147483648"}, hugeCounts, badCounts) {
			f.Do(t, contract.Request{
				Path: "/api/live-data/query?" + with + "&maxPoints=" + text,
			}).RequireFailure(t, 400, validation, "", map[string]any{"field": "maxPoints"})
		}
		for _, text := range []string{"2", "002", "1000000"} {
			require.Equal(
				t, http.StatusOK, f.Do(t, contract.Request{Path: "/api/live-data/query?" + with + "&maxPoints=" + text}).Status,
				text,
			)
		}
	}
}

// badTimes are invalid times in queries and in points. Which integers are invalid depends
// on the precision.
var badTimes = []string{
	"", " ", "yesterday", "2026-03", "2026-03-01", "2026-03-01T00:00Z", "2026-03-01T00:00:00", "2026-03-01 00:00:00Z",
	"10000-01-01T00:00:00Z", "+10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
	"2026-02-30T00:00:00Z", "2026-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z",
	"2026-01-00T00:00:00Z", "2016-12-31T23:59:60Z", "2026-03-01T24:00:00Z", "2026-03-01T00:60:00Z",
	"2026-03-01T00:00:00+24:00", "2026-03-01T00:00:00+01:60", "2026-03-01T00:00:00+0100", "2026-03-01T00:00:00+01",
	"2026-03-01T00:00:00.Z", "2026-03-01T00:00:00ZZ", "２026-03-01T00:00:00Z", "2026-03-01T00:00:00Z\n",
	"Sun, 01 Mar 2026 00:00:00 GMT",
}

func TestTimesOfAQueryHaveTheirForms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{"from", "to"} {
		for _, text := range append(
			[]string{
				"1.5", "1e3", "-5", "-", "-0s", "-5y", "-5ms", "--5m", "-5 m", "-5M", "+5m", "5m", "now+5m", "now-", "now 5m",
				"NOW", "253402300800000", "1795246808290296", "1795246808290296000",
				"9223372036854775807", "9223372036854775808", strings.Repeat("9", 1000), "0x10", "٥",
			}, badTimes...,
		) {
			a := f.Do(t, contract.Request{Path: "/api/live-data/query?" + name + "=" + escape(text)})
			require.Equal(t, http.StatusBadRequest, a.Status, "%s=%q", name, text)
			a.RequireFailure(t, 400, validation, "", map[string]any{"field": name})
		}
		for _, text := range []string{"now", "-1s", "now-1s", "-9223372036854775807w", "-" + strings.Repeat("9", 30) + "s",
			"0", "1795246808", "1795246808290", "253402300799000", "1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z",
			"9999-12-31T23:59:59.999999999Z", "2026-03-01T05:45:00+05:45", "2026-03-01T00:00:00-23:59", "2024-02-29T00:00:00Z",
			"2026-03-01T00:00:00.123456789012Z"} {
			query := name + "=" + escape(text)
			if name == "from" {
				query += "&to=9999-12-31T23:59:59.999999999Z"
			} else {
				query += "&from=1970-01-01T00:00:00Z"
			}
			require.Equal(t, http.StatusOK, f.Do(t, contract.Request{Path: "/api/live-data/query?" + query}).Status, query)
		}
	}
	for _, query := range []string{
		"from=now&to=-1s", "from=2026-03-01T00:00:00.000001Z&to=2026-03-01T00:00:00Z", "to=1969-12-31T00:00:00Z&from=1",
		"from=2026-03-01T00:00:00Z&to=2026-03-01T00:59:59%2B01:00",
	} {
		f.Do(t, contract.Request{Path: "/api/live-data/query?" + query}).RequireFailure(
			t, 400, validation, "", map[string]any{"field": "from", "reason": "is after to"},
		)
	}
}

func TestTimesOfPointsHaveTheirForms(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	now := time.Now()
	send := func(precision, timestamp string) *contract.Answer {
		return l.post(
			t, ingestPath,
			`{"precision":"`+
				precision+`","points":[{"sourceId":"`+made.ID+`","metric":"m","timestamp":`+timestamp+`,"value":1}]}`,
		)
	}
	later := func(d time.Duration) string { return quoted(t, now.Add(d).Format(time.RFC3339Nano)) }
	bad := []string{
		later(25 * time.Hour), later(24*time.Hour + time.Minute),
		`"1969-12-31T23:59:59.999999Z"`, `"9999-12-31T23:59:59Z"`, `"now"`, `"-1h"`, `"0"`, `"1795246808"`,
		"-1", "1.5", "1e3", "9223372036854775807", "9223372036854775808", "18446744073709551616",
		strings.Repeat("9", 1000), "-9223372036854775809",
	}
	for _, text := range badTimes {
		bad = append(bad, quoted(t, text))
	}
	for _, timestamp := range bad {
		a := send("ms", timestamp)
		a.RequireFailure(t, 422, validation, "", map[string]any{
			"field": "points[0].timestamp", "accepted": 0.0, "rejected": 1.0,
		})
		columns := l.post(
			t, ingestPath, `{"series":[{"sourceId":"`+made.ID+`","metric":"m","timestamps":[`+timestamp+`],"values":[1]}]}`,
		)
		columns.RequireFailure(t, 422, validation, "", map[string]any{"field": "series[0].timestamps[0]"})
	}
	// An epoch in a finer unit than declared is far in the future.
	for precision, timestamps := range map[string][]int64{
		"s":  {now.UnixMilli(), now.UnixMicro(), now.UnixNano(), math.MaxInt64},
		"ms": {now.UnixMicro(), now.UnixNano(), math.MaxInt64}, "us": {now.UnixNano(), math.MaxInt64}, "ns": {math.MaxInt64},
	} {
		for _, at := range timestamps {
			send(precision, fmt.Sprint(at)).RequireFailure(t, 422, validation, "", map[string]any{
				"field": "points[0].timestamp",
			})
		}
	}
	require.Empty(t, readPointsLog(t, l.broker))
	good := []string{
		later(23 * time.Hour), later(0), `"1970-01-01T00:00:00Z"`, "0", "-0", fmt.Sprint(now.UnixMilli()),
		fmt.Sprint(now.Unix()), `"2026-03-01T05:45:00+05:45"`, `"2026-02-28T00:01:00-23:59"`,
		`"2024-02-29T00:00:00.1234567Z"`,
	}
	for _, timestamp := range good {
		require.Equal(t, 1, decode[accepted](t, send("ms", timestamp), 201).Accepted, timestamp)
	}
	require.Len(t, readPointsLog(t, l.broker), len(good))
}

// badIntervals are invalid intervals of a query.
var badIntervals = []string{
	"", "0", "0s", "-1s", "-0s", "+1s", "1", "s", "1ns", "999ms", "1us", "1.5h", "1e2s", "0x1s", "1 h", " 1h", "1h ", "1H",
	"1M", "1w", "1h1m", "1y", "2592001s", "43201m", "721h", "31d", "8760h1ns", "366d",
	"9223372036854775807s", "9223372036854775808s", "18446744073709551617s", "99999999999999999999d", "106751991167301d",
	"PT1H", "AUTO", "auto ", "٥s", strings.Repeat("0", 1000) + "s",
}

func TestIntervalsHaveTheirForms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := "/api/live-data/query?aggregation=count&metric=temp&" + rangeParams(time.Hour) + "&interval="
	for _, text := range badIntervals {
		f.Do(t, contract.Request{Path: path + escape(text)}).RequireFailure(
			t, 400, validation, "", map[string]any{"field": "interval"},
		)
	}
	// longer than the range: one bucket
	for text, first := range map[string]string{
		"1s": timestampAt(0), "60m": timestampAt(0), "1d": timestampAt(0), "07s": "", "2592000s": "", "30d": "",
	} {
		list := decode[[]rows](t, f.Do(t, contract.Request{Path: path + text}), http.StatusOK)
		require.NotEmpty(t, list[0].Points, text)
		if first != "" {
			require.Equal(t, first, list[0].Points[0][0], text)
		}
	}
}

// The largest range of a query is from 1970 to 2300: times and numbers of buckets in it
// must not overflow, in any unit of the answer.
func TestTheWholeOfTimeIsCountedWithoutOverflow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const all = "/api/live-data/query?metric=pressure&from=0000-01-01T00:00:00Z&to=9999-12-31T23:59:59Z"
	for _, more := range []string{
		"", "&order=desc", "&aggregation=avg,count", "&aggregation=count&interval=1s",
		"&aggregation=count&interval=30d&timezone=Europe/Berlin", "&aggregation=count&interval=1d&timezone=Asia/Kathmandu",
		"&aggregation=count&interval=1h&timezone=America/St_Johns",
		"&aggregation=count&interval=1d&timezone=Australia/Lord_Howe",
		"&aggregation=count&interval=30d&fill=0&timezone=Pacific/Kiritimati",
		"&aggregation=avg&interval=30d&fill=linear&order=desc",
		"&aggregation=sum,count&groupBy=none&interval=13d&timezone=America/Sao_Paulo",
		"&downsample=lttb&maxPoints=2", "&downsample=lttb&order=desc", "&aggregation=rate,delta",
		"&aggregation=rate,delta&interval=1s", "&aggregation=delta&interval=30d&fill=0&timezone=Asia/Kathmandu",
		"&aggregation=rate,count&interval=auto&maxPoints=5000&timezone=Australia/Lord_Howe",
	} {
		for _, epoch := range []string{"", "&epoch=ms", "&epoch=us", "&epoch=ns"} {
			a := f.Do(t, contract.Request{Path: all + more + epoch})
			list := decode[[]rows](t, a, http.StatusOK)
			require.NotEmpty(t, list[0].Points, more)
			require.NotContains(t, string(a.Data), "e+", "integers are written whole")
		}
	}
	a := f.Do(t, contract.Request{
		Path: "/api/live-data/query?metric=pressure&from=2299-12-01T00:00:00Z&to=9999-01-01T00:00:00Z" +
			"&aggregation=count&interval=1d&fill=0&epoch=ns",
	})
	require.Contains(
		t, string(a.Data), "[[10411113600000000000,0],[10411200000000000000,0]",
		"nanoseconds of the year 2299 are beyond 2^63",
	)
	a = f.Do(t, contract.Request{
		Path: "/api/live-data/query?metric=pressure&from=1970-01-01T00:00:00Z&to=1970-01-02T00:00:00Z" +
			"&aggregation=count&interval=1d&fill=0&epoch=ns&timezone=America/New_York",
	})
	require.Contains(t, string(a.Data), "[[-68400000000000,0],[18000000000000,0]]", "the first day began before 1970")
}

func TestNumbersAreKeptExactlyOrRefused(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	path := sourcesPath + "/" + made.ID
	for _, c := range []struct{ field, number, refused string }{
		{"retentionDays", "1", ""}, {"retentionDays", "36500", ""}, {"retentionDays", "-0", "422"},
		{"retentionDays", "2147483648", "422"}, {"retentionDays", "4294967297", "422"},
		{"retentionDays", "9007199254740993", "422"}, {"retentionDays", "1e2", "400"},
		{"retentionDays", "1.0", "400"}, {"retentionDays", "18446744073709551617", "422"}, {"retentionDays", "1e400", "400"},
		{"retentionDays", "-9223372036854775809", "422"}, {"retentionDays", "106751991", "422"},
		{"intervalSeconds", "0.001", ""}, {"intervalSeconds", "31536000", ""}, {"intervalSeconds", "1e-3", ""},
		{"intervalSeconds", "0.0009999", "422"}, {"intervalSeconds", "31536000.000000001", ""},
		{"intervalSeconds", "31536000.01", "422"},
		{"intervalSeconds", "9223372036854775808", "422"}, {"intervalSeconds", "-1", "422"},
		{"intervalSeconds", "5e-324", "422"}, {"intervalSeconds", `"1s"`, "400"}, {"intervalSeconds", "Infinity", "400"},
		{"expectedVersion", "9223372036854775807", "409"}, {"expectedVersion", "9007199254740993", "409"},
		{"expectedVersion", "-9223372036854775808", "422"}, {"expectedVersion", "1e0", "400"},
		{"expectedVersion", "-0", "422"},
	} {
		a := l.Do(t, contract.Request{Method: "PATCH", Path: path, Body: fmt.Sprintf(
			`{"name":"changed","%s":%s}`, c.field, c.number,
		)})
		switch c.refused {
		case "":
			require.Equal(t, http.StatusOK, a.Status, "%s %s: %s", c.field, c.number, a.Body)
		case "409":
			a.RequireFailure(t, 409, "CONFLICT", "Version mismatch", nil)
			require.Contains(t, string(a.Body), `"expectedVersion":`+c.number, "not rounded")
		default:
			require.Equal(t, c.refused, fmt.Sprint(a.Status), "%s %s: %s", c.field, c.number, a.Body)
			require.Equal(t, c.field, a.Error.Details["field"])
		}
	}
	value := func(number string) *contract.Answer {
		return l.post(
			t, ingestPath,
			`{"points":[{"sourceId":"`+made.ID+`","metric":`+quoted(t, "m"+number)+`,"timestamp":0,"value":`+number+`}]}`,
		)
	}
	kept := map[string]string{
		"-0": "-0", "1e-400": "0", "9007199254740993": "9.007199254740992e+15",
		"9223372036854775808": "9.223372036854776e+18", "1.7976931348623157e308": "1.7976931348623157e+308",
		"5e-324": "5e-324", `"1"`: `"1"`, `"NaN"`: `"NaN"`,
	}
	for number := range kept {
		require.Equal(t, http.StatusCreated, value(number).Status, number)
	}
	lines := strings.Join(readPointsLog(t, l.broker), "\n") + "\n"
	for number, want := range kept {
		require.Contains(t, lines, " m"+number+" [] 1970-01-01T00:00:00Z="+want+"\n", number)
	}
	for number, status := range map[string]int{
		"1e400": 422, "-1e400": 422, "1.8e308": 422, "NaN": 400, "Infinity": 400, "-Infinity": 400, "+1": 400, ".5": 400,
		"1.": 400, "0x10": 400, "1_000": 400, "01": 400, "-": 400, "1e": 400, "٥": 400,
	} {
		a := value(number)
		a.RequireFailure(t, status, validation, "", nil)
		// The field of an error after a complete number is the object, not the value.
		require.Contains(t, []any{"points[0].value", "points[0]"}, a.Error.Details["field"], number)
	}
}
