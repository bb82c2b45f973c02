package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// TestBadValuesAreRejectedPointByPoint sends each bad row and each bad column
// entry between two good points.
func TestBadValuesAreRejectedPointByPoint(t *testing.T) {
	day := received.Add(24 * time.Hour)
	long, longText := strings.Repeat("x", 257), strings.Repeat("x", 1025)
	for _, c := range []struct {
		name, row string // fields of the point besides source and metric, unless it names them
		field     string
		why       rejection.Reason
	}{
		{"before 1970", `"timestamp":"1969-12-31T23:59:59.999999Z","value":1`, "timestamp", rejection.TimeEarly},
		{"before 1970 by its zone", `"timestamp":"1970-01-01T00:59:59+01:00","value":1`, "timestamp", rejection.TimeEarly},
		{"negative epoch", `"timestamp":-1,"value":1`, "timestamp", rejection.TimeEarly},
		{
			"over a day ahead", `"timestamp":"` + day.Add(time.Microsecond).Format(time.RFC3339Nano) + `","value":1`,
			"timestamp", rejection.TimeLate,
		},
		{
			"25 hours ahead", fmt.Sprintf(`"timestamp":%d,"value":1`, received.Add(25*time.Hour).UnixMilli()), "timestamp",
			rejection.TimeLate,
		},
		{"epoch in a smaller unit", `"timestamp":1795246808000000,"value":1`, "timestamp", rejection.TimeLate},
		{"2^63", `"timestamp":9223372036854775808,"value":1`, "timestamp", rejection.TimeLate},
		{"2^64", `"timestamp":18446744073709551616,"value":1`, "timestamp", rejection.TimeLate},
		{"-2^63", `"timestamp":-9223372036854775808,"value":1`, "timestamp", rejection.TimeEarly},
		{"year 10000", `"timestamp":"10000-01-01T00:00:00Z","value":1`, "timestamp", rejection.TimeForm},
		{"year 9999", `"timestamp":"9999-12-31T23:59:59Z","value":1`, "timestamp", rejection.TimeLate},
		{"30 February", `"timestamp":"2026-02-30T00:00:00Z","value":1`, "timestamp", rejection.TimeForm},
		{"leap second", `"timestamp":"2016-12-31T23:59:60Z","value":1`, "timestamp", rejection.TimeForm},
		{"no zone", `"timestamp":"2026-11-21T07:40:08","value":1`, "timestamp", rejection.TimeForm},
		{"odd offset", `"timestamp":"2026-11-21T07:40:08+24:00","value":1`, "timestamp", rejection.TimeForm},
		{"empty time", `"timestamp":"","value":1`, "timestamp", rejection.TimeForm},
		{"epoch as string", `"timestamp":"1795246808000","value":1`, "timestamp", rejection.TimeForm},
		{"fraction of a millisecond", `"timestamp":1795246808000.5,"value":1`, "timestamp", rejection.TimeFraction},
		{"exponent", `"timestamp":1e3,"value":1`, "timestamp", rejection.TimeFraction},
		{"1e400", `"timestamp":1,"value":1e400`, "value", rejection.ValueRange},
		{"-1e400", `"timestamp":1,"value":-1e400`, "value", rejection.ValueRange},
		{"long string", `"timestamp":1,"value":"` + longText + `"`, "value", rejection.ValueLong},
		{
			"50 MiB would be too long as well", `"timestamp":1,"value":"` + strings.Repeat(`\u0061`, 100_000) + `"`, "value",
			rejection.ValueLong,
		},
		{"U+0000", `"timestamp":1,"value":"a\u0000b"`, "value", rejection.ValueNUL},
		{"metric empty", `"metric":"","value":1`, "metric", rejection.MetricEmpty},
		{"metric long", `"metric":"` + long + `","value":1`, "metric", rejection.MetricLong},
		{"metric with U+0000", `"metric":"\u0000","value":1`, "metric", rejection.MetricNUL},
		{"65 tags", `"tags":` + manyTags(65) + `,"value":1`, "tags", rejection.TagsMany},
		{"tag without name", `"tags":{"":"x"},"value":1`, `tags[""]`, rejection.TagEmpty},
		{"tag with a long name", `"tags":{"` + long + `":""},"value":1`, "tags." + long[:100] + "…", rejection.TagLong},
		{"tag's name with U+0000", `"tags":{"a\u0000":""},"value":1`, `tags["a\u0000"]`, rejection.TagNUL},
		{"tag long", `"tags":{"a":"` + longText + `"},"value":1`, "tags.a", rejection.TagValueLong},
		{"tag with U+0000", `"tags":{"b":"","a":"\u0000"},"value":1`, "tags.a", rejection.TagValueNUL},
		{
			"unknown source", `"sourceId":"0198a1b2-0000-7000-8000-0000000000ff","value":1`, "sourceId", rejection.SourceUnknown,
		},
		{"source is no UUID", `"sourceId":"boiler","value":1`, "sourceId", rejection.SourceUnknown},
		{
			"source in braces", `"sourceId":"{0198a1b2-0000-7000-8000-00000000000a}","value":1`,
			"sourceId", rejection.SourceUnknown,
		},
		{
			"source without dashes", `"sourceId":"0198a1b20000700080000000000000000a","value":1`,
			"sourceId", rejection.SourceUnknown,
		},
		{"source empty", `"sourceId":"","value":1`, "sourceId", rejection.SourceUnknown},
		{
			"source of 10 000 characters", `"source":"` + strings.Repeat("x", 10_000) + `","value":1`,
			"source", rejection.SourceUnknown,
		},
		{"unknown source by name", `"source":"boiler ","value":1`, "source", rejection.SourceUnknown},
		{"source's name with U+0000", `"source":"boiler\u0000","value":1`, "source", rejection.SourceUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := c.row
			if !strings.Contains(bad, `"source`) {
				bad += "," + someSource
			}
			if !strings.Contains(bad, `"metric"`) {
				bad += `,"metric":"m"`
			}
			good := `{` + someSource + `,"metric":"m","timestamp":%d,"value":1}`
			p, result, err := accept(t, fmt.Sprintf(`{"points":[`+good+`,{%s},{%s},`+good+`]}`, 1, bad, bad, 2))
			require.NoError(t, err)
			require.Equal(t, 2, result.Accepted)
			require.Equal(t, 2, result.Rejected)
			require.Equal(
				t, []Rejection{{Index: 1, Field: "points[1]." + c.field, Reason: c.why.Text(), Count: 2}}, result.Errors,
			)
			require.Len(t, p.written(t), 2)

			p, _, err = accept(t, fmt.Sprintf(`{"points":[{%s}]}`, bad))
			kind, field, reason := problem(t, err)
			require.Equal(t, fault.Invalid, kind)
			require.Equal(t, "points[0]."+c.field, field)
			require.Equal(t, c.why.Text(), reason)
			require.Empty(t, p.messages)
		})
	}
}

func TestInColumnsARejectionNamesSeriesAndPosition(t *testing.T) {
	body := `{` + someSource + `,"metric":"m","series":[
		{"timestamps":[1,2],"values":[1,2]},
		{"timestamps":[3,"x",5,-1,"y",8],"values":[1,2,1e999,4,5,"ok"]},
		{"timestamps":[1,2,3],"values":[1,2,3],"metric":""},
		{"timestamps":[9,9,"z"],"values":[1,"` + strings.Repeat("x", 2000) + `",1e999]},
		{"timestamps":[4],"values":[1],"source":"nobody"}]}`
	p, result, err := accept(t, strings.Replace(body, `"metric":""`, `"metric":"","tags":{"a":"b"}`, 1))
	require.NoError(t, err)
	one, three, two := 1, 3, 2
	require.Equal(t, []Rejection{
		{Index: 1, Position: &one, Field: "series[1].timestamps[1]", Reason: rejection.TimeForm.Text(), Count: 3},
		{Index: 1, Position: &two, Field: "series[1].values[2]", Reason: rejection.ValueRange.Text(), Count: 1},
		{Index: 1, Position: &three, Field: "series[1].timestamps[3]", Reason: rejection.TimeEarly.Text(), Count: 1},
		{Index: 2, Field: "series[2].metric", Reason: rejection.MetricEmpty.Text(), Count: 3},
		{Index: 3, Position: &one, Field: "series[3].values[1]", Reason: rejection.ValueLong.Text(), Count: 1},
		{Index: 4, Field: "series[4].source", Reason: rejection.SourceUnknown.Text(), Count: 1},
	}, result.Errors)
	require.Equal(t, 5, result.Accepted)
	require.Equal(t, 10, result.Rejected)
	one5 := fmt.Sprintf(`%s "m"{} `, boiler)
	require.Equal(
		t,
		map[string]any{
			one5 + "1000 n": 1.0, one5 + "2000 n": 2.0, one5 + "3000 n": 1.0, one5 + "8000 s": "ok", one5 + "9000 n": 1.0,
		},
		p.written(t),
	)
}

func TestOneBadPointAmongManyIsTheOnlyOneRejected(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{` + someSource + `,"metric":"m","points":[`)
	const n, bad = 100_000, 54_321
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if i == bad {
			b.WriteString(`{"timestamp":"yesterday","value":1}`)
			continue
		}
		fmt.Fprintf(&b, `{"timestamp":%d,"value":%d}`, i, i)
	}
	p, result, err := accept(t, b.String()+"]}")
	require.NoError(t, err)
	require.Equal(t, n-1, result.Accepted)
	require.Equal(
		t, []Rejection{{Index: bad, Field: "points[54321].timestamp", Reason: rejection.TimeForm.Text(), Count: 1}},
		result.Errors,
	)
	require.Len(t, p.written(t), n-1)
}

func TestTheNumberOfPointsIsLimited(t *testing.T) {
	rows := func(n int) string {
		return `{` + someSource + `,"metric":"m","points":[` + strings.TrimSuffix(strings.Repeat(`{"value":1},`, n), ",") +
			`]}`
	}
	columns := func(n, m int) string {
		list := func(n int) string { return strings.TrimSuffix(strings.Repeat("1,", n), ",") }
		series := fmt.Sprintf(`{"timestamps":[%s],"values":[%s]}`, list(n), list(m))
		return `{` + someSource + `,"metric":"m","series":[` + series + `,` + series + `]}`
	}
	for body, tooMany := range map[string]bool{
		rows(10): false, rows(11): true, columns(5, 5): false, columns(6, 6): true, columns(11, 1): true,
		columns(1, 11): true,
	} {
		_, err := newFakeStores().pipeline(Limits{MaxPoints: 10}).Accept(t.Context(), JSON, request(body))
		if !tooMany {
			require.NoError(t, err)
			continue
		}
		kind, field, reason := problem(t, err)
		require.Equal(t, fault.Invalid, kind)
		require.Contains(t, []string{"points", "series"}, field)
		require.Equal(t, "must hold at most 10 points in one request", reason)
	}
}

func TestAMillionPointsAndOneAreTooMany(t *testing.T) {
	million := strings.Repeat("1,", 1_000_000)
	_, _, err := accept(t, col(`"timestamps":[`+million+`1],"values":[`+million+`1]`))
	kind, field, _ := problem(t, err)
	require.Equal(t, fault.Invalid, kind)
	require.Equal(t, "series", field)
	million = strings.TrimSuffix(million, ",")
	_, result, err := accept(t, col(`"timestamps":[`+million+`],"values":[`+million+`]`))
	require.NoError(t, err)
	require.Equal(t, 1_000_000, result.Accepted)
}
