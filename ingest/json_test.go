package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/parse/scan"
)

const someSource = `"sourceId":"0198a1b2-0000-7000-8000-00000000000a"`

// row returns a request with one point that has more in addition to source and metric.
func row(more string) string {
	return `{"points":[{` + someSource + `,"metric":"m",` + more + `}]}`
}

// col returns a request with one series that has more in addition to source and metric.
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
			map[string]any{one + fmt.Sprint(at+scan.DayUS) + " n": 1.0},
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
