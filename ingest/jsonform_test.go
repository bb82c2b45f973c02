package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

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
			rejection.TagsMany.Text(),
		},
		{"1025 tags", row(`"value":1,"tags":` + manyTags(1025)), invalid, "points[0].tags", rejection.TagsMany.Text()},
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
