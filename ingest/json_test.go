package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/fault"
)

const someSource = `"sourceId":"0198a1b2-0000-7000-8000-00000000000a"`

// row makes a request of one point with this in addition to source and metric.
func row(more string) string {
	return `{"points":[{` + someSource + `,"metric":"m",` + more + `}]}`
}

// col makes a request of one series likewise.
func col(more string) string {
	return `{"series":[{` + someSource + `,"metric":"m",` + more + `}]}`
}

func TestPointsAreTakenInEveryForm(t *testing.T) {
	at := received.UnixMicro()
	one := fmt.Sprintf(`%s "m"{} `, boiler)
	for _, c := range []struct {
		name, body string
		want       map[string]any
	}{
		{"row", row(`"timestamp":1795246808000,"value":21.5`), map[string]any{one + "1795246808000000 n": 21.5}},
		{"row without time", row(`"value":1`), map[string]any{one + fmt.Sprint(at) + " n": 1.0}},
		{
			"row with RFC 3339", row(`"timestamp":"2026-11-21T08:40:08.0000019+01:00","value":1`),
			map[string]any{one + "1795246808000001 n": 1.0},
		},
		{"true", row(`"timestamp":1,"value":true`), map[string]any{one + "1000 n": 1.0}},
		{"false", row(`"timestamp":1,"value":false`), map[string]any{one + "1000 n": 0.0}},
		{"string", row(`"timestamp":1,"value":"on \u00e9\n\ud83d\ude00"`), map[string]any{one + "1000 s": "on é\n😀"}},
		{"empty string", row(`"timestamp":1,"value":""`), map[string]any{one + "1000 s": ""}},
		{
			"longest string", row(`"timestamp":1,"value":"` + strings.Repeat("x", 1024) + `"`),
			map[string]any{one + "1000 s": strings.Repeat("x", 1024)},
		},
		{"tiny", row(`"timestamp":1,"value":1e-400`), map[string]any{one + "1000 n": 0.0}},
		{"above 2^53", row(`"timestamp":1,"value":9007199254740993`), map[string]any{one + "1000 n": 9007199254740992.0}},
		{
			"above 2^63", row(`"timestamp":1,"value":18446744073709551616`),
			map[string]any{one + "1000 n": 18446744073709551616.0},
		},
		{"time zero", row(`"timestamp":0,"value":1`), map[string]any{one + "0 n": 1.0}},
		{"time minus zero", row(`"timestamp":-0,"value":1`), map[string]any{one + "0 n": 1.0}},
		{
			"a day ahead", row(fmt.Sprintf(`"timestamp":"%s","value":1`, received.Add(24*time.Hour).Format(time.RFC3339Nano))),
			map[string]any{one + fmt.Sprint(at+dayUS) + " n": 1.0},
		},
		{
			"same point twice",
			`{"points":[{` +
				someSource + `,"metric":"m","timestamp":1,"value":1},{` + someSource + `,"metric":"m","timestamp":1,"value":2}]}`,
			map[string]any{one + "1000 n": 2.0},
		},
		{
			"upper case id",
			`{"points":[{"sourceId":"` + strings.ToUpper(boiler.String()) + `","metric":"m","timestamp":1,"value":1}]}`,
			map[string]any{one + "1000 n": 1.0},
		},
		{
			"source by name", `{"points":[{"source":"boiler","metric":"m","timestamp":1,"value":1}]}`,
			map[string]any{one + "1000 n": 1.0},
		},
		{
			"escaped names",
			`{"p\u006fints":[{"so\u0075rce":"b\u006filer","\u006detric":"\u006d",` +
				`"t\u0069mestamp":"2026-11-21T07:40:08\u005a","val\u0075e":1}]}`,
			map[string]any{one + "1795246808000000 n": 1.0},
		},
		{
			"white space",
			" {\n\t\"points\" : [ { \"sourceId\" :\r\n\"" +
				boiler.String() + "\" , \"metric\" : \"m\" , \"timestamp\" : 1 , \"value\" : 2 } ] } \n",
			map[string]any{one + "1000 n": 2.0},
		},
		{
			"series", col(`"timestamps":[1795246808000,"2026-11-21T07:40:09Z"],"values":[1,-2.5e1]`),
			map[string]any{one + "1795246808000000 n": 1.0, one + "1795246809000000 n": -25.0},
		},
		{
			"values first", `{"series":[{"values":[1,2],"timestamps":[3,4],` + someSource + `,"metric":"m"}]}`,
			map[string]any{one + "3000 n": 1.0, one + "4000 n": 2.0},
		},
		{
			"white space in columns", col("\"timestamps\" : [ 1 , 2\n,\t3 ] , \"values\": [ true , \"x\" ,\r\n 3 ] "),
			map[string]any{one + "1000 n": 1.0, one + "2000 s": "x", one + "3000 n": 3.0},
		},
		{"kinds mixed", col(`"timestamps":[1,2,3,4],"values":[1,"b",true,"d"]`), map[string]any{
			one + "1000 n": 1.0, one + "2000 s": "b", one + "3000 n": 1.0, one + "4000 s": "d",
		}},
		{
			"an empty series beside a full one",
			`{` + someSource + `,"metric":"m","series":[{"timestamps":[],"values":[]},{"timestamps":[1],"values":[1]}]}`,
			map[string]any{one + "1000 n": 1.0},
		},
		{
			"a series in two blocks",
			`{` + someSource + `,"metric":"m","series":[{"timestamps":[3,1],"values":[1,1]},` +
				`{"metric":"k","timestamps":[1],"values":[1]},{"timestamps":[2,3],"values":[2,2]}]}`,
			map[string]any{
				one + "1000 n": 1.0, one + "2000 n": 2.0, one + "3000 n": 2.0, fmt.Sprintf(`%s "k"{} 1000 n`, boiler): 1.0,
			}},
		{
			"defaults",
			`{"precision":"s",` + someSource + `,"metric":"m","tags":{"a":"1","b":"2"},` +
				`"points":[{"value":1,"timestamp":5},{"metric":"k","tags":{"b":"3","c":"4"},"value":2,"timestamp":5}]}`,
			map[string]any{
				fmt.Sprintf(`%s "m"{"a"="1","b"="2",} 5000000 n`, boiler):         1.0,
				fmt.Sprintf(`%s "k"{"a"="1","b"="3","c"="4",} 5000000 n`, boiler): 2.0,
			}},
		{
			"defaults behind",
			`{"points":[{"value":1,"timestamp":5000}],"precision":"us","tags":{"a":"]}"},"source":"pump","metric":"m"}`,
			map[string]any{fmt.Sprintf(`%s "m"{"a"="]}",} 5000 n`, pump): 1.0},
		},
		{
			"defaults on both sides",
			`{"metric":"m","series":[{"timestamps":[1999],"values":[1]}],"precision":"ns","source":"pump"}`,
			map[string]any{fmt.Sprintf(`%s "m"{} 1 n`, pump): 1.0},
		},
		{
			"own source over default name",
			`{"source":"pump","points":[{` + someSource + `,"metric":"m","timestamp":1,"value":1}]}`,
			map[string]any{one + "1000 n": 1.0},
		},
		{
			"tags in any order are one series",
			`{` + someSource + `,"metric":"m","points":[{"tags":{"a":"1","b":"2"},"timestamp":1,"value":1},` +
				`{"tags":{"b":"2","\u0061":"1"},"timestamp":1,"value":2}]}`,
			map[string]any{fmt.Sprintf(`%s "m"{"a"="1","b"="2",} 1000 n`, boiler): 2.0},
		},
		{"empty tags", row(`"tags":{},"timestamp":1,"value":1`), map[string]any{one + "1000 n": 1.0}},
		{
			"names of another kind", row(`"tags":{"__proto__":"","a.b":"'; DROP TABLE"},"timestamp":1,"value":1`),
			map[string]any{fmt.Sprintf(`%s "m"{"__proto__"="","a.b"="'; DROP TABLE",} 1000 n`, boiler): 1.0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, result, err := accept(t, c.body)
			require.NoError(t, err)
			require.Equal(t, c.want, p.written(t))
			require.Zero(t, result.Rejected)
			require.Equal(t, []Rejection{}, result.Errors)
			require.NotEmpty(t, result.Positions)
		})
	}
}

func TestMinusZeroStaysMinusZero(t *testing.T) {
	p, _, err := accept(t, row(`"timestamp":1,"value":-0`))
	require.NoError(t, err)
	for _, v := range p.written(t) {
		require.Equal(t, "-0", fmt.Sprint(v))
	}
}

func TestARequestOfTheWrongFormIsRefusedWhole(t *testing.T) {
	const malformed, invalid = fault.Malformed, fault.Invalid
	rowObject := `{` + someSource + `,"metric":"m","value":1}`
	for _, c := range []struct {
		name, body string
		kind       fault.Kind
		field      string
		reason     string
	}{
		{"empty", "", malformed, "body", "is empty, a JSON object is due"},
		{"white space", " \r\n\t", malformed, "body", "is empty, a JSON object is due"},
		{"byte order mark", "\ufeff" + row(`"value":1`), malformed, "body", "is not valid JSON"},
		{"null", "null", malformed, "body", "must be an object, not null"},
		{"number", "5", malformed, "body", "must be an object, not a number"},
		{"string", `"x"`, malformed, "body", "must be an object, not a string"},
		{"array", `[]`, malformed, "body", "must be an object, not an array"},
		{"true", `true`, malformed, "body", "must be an object, not a boolean"},
		{"trailing value", row(`"value":1`) + `{}`, malformed, "body", "has text after the JSON value"},
		{"trailing text", row(`"value":1`) + `x`, malformed, "body", "has text after the JSON value"},
		{"cut off", row(`"value":1`)[:84], malformed, "points[0]", "ends too early"},
		{"cut off in a string", `{"points":[{"metric":"m`, malformed, "points[0].metric", "ends too early"},
		{"NaN", row(`"value":NaN`), malformed, "points[0].value", "is not valid JSON"},
		{"Infinity", col(`"timestamps":[1],"values":[-Infinity]`), malformed, "series[0].values[0]", "is not valid JSON"},
		{"plus sign", row(`"value":+1`), malformed, "points[0].value", "is not valid JSON"},
		{"leading zero", row(`"value":01`), malformed, "points[0]", "is not valid JSON"},
		{"hexadecimal", row(`"value":0x10`), malformed, "points[0]", "is not valid JSON"},
		{"no digits", row(`"value":.5`), malformed, "points[0].value", "is not valid JSON"},
		{"comment", row(`"value":1/**/`), malformed, "points[0]", "is not valid JSON"},
		{"trailing comma", row(`"value":1,`), malformed, "points[0]", "is not valid JSON"},
		{
			"trailing comma in columns", col(`"timestamps":[1,],"values":[1]`), malformed, "series[0].timestamps",
			"is not valid JSON",
		},
		{"single quotes", `{'points':[]}`, malformed, "body", "is not valid JSON"},
		{"raw line end in a string", row("\"value\":\"a\nb\""), malformed, "points[0].value", "is not valid JSON"},
		{"invalid UTF-8", row("\"value\":\"\xff\""), malformed, "points[0].value", "is not valid UTF-8"},
		{"overlong UTF-8", row("\"value\":\"\xc0\xaf\""), malformed, "points[0].value", "is not valid UTF-8"},
		{"surrogate in UTF-8", row("\"value\":\"\xed\xa0\x80\""), malformed, "points[0].value", "is not valid UTF-8"},
		{"lone surrogate", row(`"value":"\ud800"`), malformed, "points[0].value", "has a lone surrogate"},
		{"surrogates turned round", row(`"value":"\ude00\ud83d"`), malformed, "points[0].value", "has a lone surrogate"},
		{"bad escape", row(`"value":"\x41"`), malformed, "points[0].value", "is not valid JSON"},
		{"depth 10 000", row(`"value":` + strings.Repeat("[", 10_001)), malformed, "body", "is nested too deep"},
		{"depth 10 000 of objects", strings.Repeat(`{"points":`, 10_000), malformed, "body", "is nested too deep"},
		{
			"depth 50", row(`"value":` + strings.Repeat("[", 50) + strings.Repeat("]", 50)), malformed, "points[0].value",
			"must be a number, a boolean or a string, not an array",
		},
		{"unknown field", `{"point":[]}`, malformed, "point", "is not a known field"},
		{"another case", `{"Points":[]}`, malformed, "Points", "is not a known field"},
		{"unknown field of a point", row(`"value":1,"val":2`), malformed, "points[0].val", "is not a known field"},
		{"field of a series in a point", row(`"values":[1]`), malformed, "points[0].values", "is not a known field"},
		{"field of a point in a series", col(`"value":1`), malformed, "series[0].value", "is not a known field"},
		{"precision of a point", row(`"value":1,"precision":"s"`), malformed, "points[0].precision", "is not a known field"},
		{"field twice", row(`"value":1,"value":2`), malformed, "points[0].value", "is given more than once"},
		{
			"field twice, once escaped", row(`"value":1,"\u0076alue":2`), malformed, "points[0].value",
			"is given more than once",
		},
		{"points twice", `{"points":[` + rowObject + `],"points":[]}`, malformed, "points", "is given more than once"},
		{
			"tag twice", row(`"value":1,"tags":{"a":"1","b":"","a":"2"}`), malformed, "points[0].tags.a",
			"is given more than once",
		},
		{
			"tag twice, once escaped", row(`"value":1,"tags":{"a":"1","\u0061":"2"}`), malformed, "points[0].tags.a",
			"is given more than once",
		},
		{
			"default tag twice", `{"tags":{"a.b":"","a.b":""},"points":[` + rowObject + `]}`, malformed, `tags["a.b"]`,
			"is given more than once",
		},
		{
			"points and series", `{"points":[` + rowObject + `],"series":[]}`, malformed, "series",
			"cannot be given together with points",
		},
		{
			"sourceId and source", `{"points":[{` + someSource + `,"source":"pump","metric":"m","value":1}]}`, malformed,
			"points[0].source", "cannot be given together with sourceId",
		},
		{
			"sourceId and source by default", `{"source":"pump",` + someSource + `,"points":[]}`, malformed, "source",
			"cannot be given together with sourceId",
		},
		{"neither points nor series", `{}`, malformed, "points", "is required"},
		{"no metric", `{"points":[{` + someSource + `,"value":1}]}`, malformed, "points[0].metric", "is required"},
		{
			"no source", `{"points":[` + rowObject + `,{"metric":"m","value":1}]}`, malformed, "points[1].sourceId",
			"is required",
		},
		{"no value", row(`"timestamp":1`), malformed, "points[0].value", "is required"},
		{"no values", col(`"timestamps":[1]`), malformed, "series[0].values", "is required"},
		{"no timestamps", col(`"values":[1]`), malformed, "series[0].timestamps", "is required"},
		{"points is an object", `{"points":{}}`, malformed, "points", "must be an array, not an object"},
		{"points is null", `{"points":null}`, malformed, "points", "must be an array, not null"},
		{"point is a number", `{"points":[1]}`, malformed, "points[0]", "must be an object, not a number"},
		{"point is null", `{"points":[` + rowObject + `,null]}`, malformed, "points[1]", "must be an object, not null"},
		{
			"source is a number", `{"points":[{"sourceId":1,"metric":"m","value":1}]}`, malformed, "points[0].sourceId",
			"must be a string, not a number",
		},
		{
			"metric is null", `{"points":[{` + someSource + `,"metric":null,"value":1}]}`, malformed, "points[0].metric",
			"must be a string, not null",
		},
		{"tags is null", row(`"tags":null,"value":1`), malformed, "points[0].tags", "must be an object, not null"},
		{"tags is an array", row(`"tags":[],"value":1`), malformed, "points[0].tags", "must be an object, not an array"},
		{"tag is a number", row(`"tags":{"a":1},"value":1`), malformed, "points[0].tags.a", "must be a string, not a number"},
		{
			"value is null", row(`"value":null`), malformed, "points[0].value",
			"must be a number, a boolean or a string, not null",
		},
		{
			"value is an object", row(`"value":{}`), malformed, "points[0].value",
			"must be a number, a boolean or a string, not an object",
		},
		{
			"value in columns is null", col(`"timestamps":[1,2],"values":[1,null]`), malformed, "series[0].values[1]",
			"must be a number, a boolean or a string, not null",
		},
		{
			"values is a number", col(`"timestamps":[1],"values":1`), malformed, "series[0].values",
			"must be an array, not a number",
		},
		{
			"timestamp is null", row(`"timestamp":null,"value":1`), malformed, "points[0].timestamp",
			"must be a string or an integer, not null",
		},
		{
			"timestamp is a boolean", row(`"timestamp":true,"value":1`), malformed, "points[0].timestamp",
			"must be a string or an integer, not a boolean",
		},
		{
			"timestamp in columns is an array", col(`"timestamps":[1,[]],"values":[1,2]`), malformed, "series[0].timestamps[1]",
			"must be a string or an integer, not an array",
		},
		{"precision is a number", `{"precision":1,"points":[]}`, malformed, "precision", "must be a string, not a number"},
		{"default metric is a number", `{"metric":1,"points":[]}`, malformed, "metric", "must be a string, not a number"},
		{"unknown precision", `{"precision":"m","points":[]}`, invalid, "precision", "is not one of the allowed values"},
		{"default metric empty", `{"metric":"","points":[` + rowObject + `]}`, invalid, "metric", "must not be empty"},
		{
			"default metric too long", `{"metric":"` + strings.Repeat("é", 257) + `","points":[` + rowObject + `]}`, invalid,
			"metric", "must have at most 256 characters",
		},
		{
			"default tag with U+0000", `{"tags":{"a":"\u0000"},"points":[` + rowObject + `]}`, invalid, "tags.a",
			"must not contain U+0000",
		},
		{
			"65 default tags", `{"tags":` + manyTags(65) + `,"points":[` + rowObject + `]}`, invalid, "tags",
			reasonText[tagsMany],
		},
		{"1025 tags", row(`"value":1,"tags":` + manyTags(1025)), invalid, "points[0].tags", reasonText[tagsMany]},
		{
			"fewer values", col(`"timestamps":[1,2],"values":[1]`), invalid, "series[0].values",
			"must have as many entries as timestamps: 2, not 1",
		},
		{
			"more values", col(`"timestamps":[],"values":[1]`), invalid, "series[0].values",
			"must have as many entries as timestamps: 0, not 1",
		},
		{"no JSON goes before everything", `{"precision":"m","points":[{"x":1}],}`, malformed, "body", "is not valid JSON"},
		{"empty batch", `{"points":[]}`, invalid, "points", "must hold at least one point"},
		{"empty series", col(`"timestamps":[],"values":[]`), invalid, "series", "must hold at least one point"},
		{"no series", `{"series":[ ]}`, invalid, "series", "must hold at least one point"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _, err := accept(t, c.body)
			kind, field, reason := problem(t, err)
			require.Equal(t, c.reason, reason)
			require.Equal(t, c.field, field)
			require.Equal(t, c.kind, kind)
			require.Empty(t, p.messages)
		})
	}
}

func manyTags(n int) string {
	var tags []string
	for i := range n {
		tags = append(tags, fmt.Sprintf(`"t%d":"v"`, i))
	}
	return "{" + strings.Join(tags, ",") + "}"
}

func TestWhatIsAllowedIsNamed(t *testing.T) {
	for body, allowed := range map[string][]string{
		`{"precision":"m","points":[]}`: {"s", "ms", "us", "ns"},
		`{"x":1}`:                       {"sourceId", "source", "metric", "tags", "precision", "points", "series"},
		`{"points":[{"x":1}]}`:          {"sourceId", "source", "metric", "tags", "timestamp", "value"},
		`{"series":[{"x":1}]}`:          {"sourceId", "source", "metric", "tags", "timestamps", "values"},
	} {
		_, _, err := accept(t, body)
		var fe *fault.Error
		require.ErrorAs(t, err, &fe)
		require.Equal(t, allowed, fe.Details["allowed"], body)
	}
}

// TestBadValuesAreRejectedPointByPoint sends each bad row and each bad column
// entry between two good points.
func TestBadValuesAreRejectedPointByPoint(t *testing.T) {
	day := received.Add(24 * time.Hour)
	long, longText := strings.Repeat("x", 257), strings.Repeat("x", 1025)
	for _, c := range []struct {
		name, row string // fields of the point besides source and metric, unless it names them
		field     string
		why       reason
	}{
		{"before 1970", `"timestamp":"1969-12-31T23:59:59.999999Z","value":1`, "timestamp", timeEarly},
		{"before 1970 by its zone", `"timestamp":"1970-01-01T00:59:59+01:00","value":1`, "timestamp", timeEarly},
		{"negative epoch", `"timestamp":-1,"value":1`, "timestamp", timeEarly},
		{
			"over a day ahead", `"timestamp":"` + day.Add(time.Microsecond).Format(time.RFC3339Nano) + `","value":1`,
			"timestamp", timeLate,
		},
		{
			"25 hours ahead", fmt.Sprintf(`"timestamp":%d,"value":1`, received.Add(25*time.Hour).UnixMilli()), "timestamp",
			timeLate,
		},
		{"epoch in a smaller unit", `"timestamp":1795246808000000,"value":1`, "timestamp", timeLate},
		{"2^63", `"timestamp":9223372036854775808,"value":1`, "timestamp", timeLate},
		{"2^64", `"timestamp":18446744073709551616,"value":1`, "timestamp", timeLate},
		{"-2^63", `"timestamp":-9223372036854775808,"value":1`, "timestamp", timeEarly},
		{"year 10000", `"timestamp":"10000-01-01T00:00:00Z","value":1`, "timestamp", timeForm},
		{"year 9999", `"timestamp":"9999-12-31T23:59:59Z","value":1`, "timestamp", timeLate},
		{"30 February", `"timestamp":"2026-02-30T00:00:00Z","value":1`, "timestamp", timeForm},
		{"leap second", `"timestamp":"2016-12-31T23:59:60Z","value":1`, "timestamp", timeForm},
		{"no zone", `"timestamp":"2026-11-21T07:40:08","value":1`, "timestamp", timeForm},
		{"odd offset", `"timestamp":"2026-11-21T07:40:08+24:00","value":1`, "timestamp", timeForm},
		{"empty time", `"timestamp":"","value":1`, "timestamp", timeForm},
		{"epoch as string", `"timestamp":"1795246808000","value":1`, "timestamp", timeForm},
		{"fraction of a millisecond", `"timestamp":1795246808000.5,"value":1`, "timestamp", timeFraction},
		{"exponent", `"timestamp":1e3,"value":1`, "timestamp", timeFraction},
		{"1e400", `"timestamp":1,"value":1e400`, "value", valueRange},
		{"-1e400", `"timestamp":1,"value":-1e400`, "value", valueRange},
		{"long string", `"timestamp":1,"value":"` + longText + `"`, "value", valueLong},
		{
			"50 MiB would be too long as well", `"timestamp":1,"value":"` + strings.Repeat(`\u0061`, 100_000) + `"`, "value",
			valueLong,
		},
		{"U+0000", `"timestamp":1,"value":"a\u0000b"`, "value", valueNUL},
		{"metric empty", `"metric":"","value":1`, "metric", metricEmpty},
		{"metric long", `"metric":"` + long + `","value":1`, "metric", metricLong},
		{"metric with U+0000", `"metric":"\u0000","value":1`, "metric", metricNUL},
		{"65 tags", `"tags":` + manyTags(65) + `,"value":1`, "tags", tagsMany},
		{"tag without name", `"tags":{"":"x"},"value":1`, `tags[""]`, tagEmpty},
		{"tag with a long name", `"tags":{"` + long + `":""},"value":1`, "tags." + long[:100] + "…", tagLong},
		{"tag's name with U+0000", `"tags":{"a\u0000":""},"value":1`, `tags["a\u0000"]`, tagNUL},
		{"tag long", `"tags":{"a":"` + longText + `"},"value":1`, "tags.a", tagValueLong},
		{"tag with U+0000", `"tags":{"b":"","a":"\u0000"},"value":1`, "tags.a", tagValueNUL},
		{"unknown source", `"sourceId":"0198a1b2-0000-7000-8000-0000000000ff","value":1`, "sourceId", sourceUnknown},
		{"source is no UUID", `"sourceId":"boiler","value":1`, "sourceId", sourceUnknown},
		{"source in braces", `"sourceId":"{0198a1b2-0000-7000-8000-00000000000a}","value":1`, "sourceId", sourceUnknown},
		{"source without dashes", `"sourceId":"0198a1b20000700080000000000000000a","value":1`, "sourceId", sourceUnknown},
		{"source empty", `"sourceId":"","value":1`, "sourceId", sourceUnknown},
		{"source of 10 000 characters", `"source":"` + strings.Repeat("x", 10_000) + `","value":1`, "source", sourceUnknown},
		{"unknown source by name", `"source":"boiler ","value":1`, "source", sourceUnknown},
		{"source's name with U+0000", `"source":"boiler\u0000","value":1`, "source", sourceUnknown},
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
				t, []Rejection{{Index: 1, Field: "points[1]." + c.field, Reason: reasonText[c.why], Count: 2}}, result.Errors,
			)
			require.Len(t, p.written(t), 2)

			p, _, err = accept(t, fmt.Sprintf(`{"points":[{%s}]}`, bad))
			kind, field, reason := problem(t, err)
			require.Equal(t, fault.Invalid, kind)
			require.Equal(t, "points[0]."+c.field, field)
			require.Equal(t, reasonText[c.why], reason)
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
		{Index: 1, Position: &one, Field: "series[1].timestamps[1]", Reason: reasonText[timeForm], Count: 3},
		{Index: 1, Position: &two, Field: "series[1].values[2]", Reason: reasonText[valueRange], Count: 1},
		{Index: 1, Position: &three, Field: "series[1].timestamps[3]", Reason: reasonText[timeEarly], Count: 1},
		{Index: 2, Field: "series[2].metric", Reason: reasonText[metricEmpty], Count: 3},
		{Index: 3, Position: &one, Field: "series[3].values[1]", Reason: reasonText[valueLong], Count: 1},
		{Index: 4, Field: "series[4].source", Reason: reasonText[sourceUnknown], Count: 1},
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
		t, []Rejection{{Index: bad, Field: "points[54321].timestamp", Reason: reasonText[timeForm], Count: 1}}, result.Errors,
	)
	require.Len(t, p.written(t), n-1)
}

func TestTheNumberOfPointsIsLimited(t *testing.T) {
	rows := func(n int) string {
		return `{` + someSource + `,"metric":"m","points":[` + strings.TrimSuffix(
			strings.Repeat(`{"value":1},`, n), ",",
		) + `]}`
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
		_, err := newPlant().pipeline(Limits{MaxPoints: 10}).Accept(t.Context(), JSON, request(body))
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
