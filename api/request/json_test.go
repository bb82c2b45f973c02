package request_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

type metric struct {
	Name *string `json:"name"`
	Rank *int64  `json:"rank"`
}

type source struct {
	Name    *string                  `json:"name"`
	Unit    request.Nullable[string] `json:"unit"`
	Every   *float64                 `json:"every"`
	Version *int64                   `json:"version"`
	Active  *bool                    `json:"active"`
	Tags    map[string]string        `json:"tags"`
	Metrics []metric                 `json:"metrics"`
	Extra   map[string]any           `json:"extra"`
}

// problem returns the kind, the field and the reason of an error.
func problem(t *testing.T, err error) (fault.Kind, string, string) {
	t.Helper()
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	require.NotContains(t, fe.Message, "Go ")
	field, _ := fe.Details["field"].(string)
	reason, _ := fe.Details["reason"].(string)
	return fe.Kind, field, reason
}

func TestJSONIsReadStrictly(t *testing.T) {
	const malformed, invalid = fault.Malformed, fault.Invalid
	for _, c := range []struct {
		name, body string
		kind       fault.Kind
		field      string
		reason     string
	}{
		{"empty", "", malformed, "body", "is empty, a JSON object is due"},
		{"white space", " \n\t", malformed, "body", "is empty, a JSON object is due"},
		{"byte order mark", "\ufeff{}", malformed, "body", "is not valid JSON"},
		{"null", "null", malformed, "body", "must be an object, not null"},
		{"number", "5", malformed, "body", "must be an object, not a number"},
		{"string", `"x"`, malformed, "body", "must be an object, not a string"},
		{"array", "[]", malformed, "body", "must be an object, not an array"},
		{"trailing value", `{} {}`, malformed, "body", "has text after the JSON value"},
		{"trailing text", `{}x`, malformed, "body", "has text after the JSON value"},
		{"cut off", `{"name":"a`, malformed, "name", "ends too early"},
		{"duplicate", `{"name":"a","name":"b"}`, malformed, "name", "is given more than once"},
		{"duplicate below", `{"tags":{"a":"1","a":"2"}}`, malformed, "tags.a", "is given more than once"},
		{"other case", `{"Name":"a"}`, malformed, "Name", "is not a known field"},
		{"unknown", `{"nmae":"a"}`, malformed, "nmae", "is not a known field"},
		{"unknown below", `{"metrics":[{},{"unit":"V"}]}`, malformed, "metrics[1].unit", "is not a known field"},
		{"lone surrogate", `{"name":"\ud800"}`, malformed, "name", "has a lone surrogate"},
		{"invalid UTF-8", "{\"name\":\"\xff\"}", malformed, "name", "is not valid UTF-8"},
		{"raw control character", "{\"name\":\"a\nb\"}", malformed, "name", "is not valid JSON"},
		{"NaN", `{"every":NaN}`, malformed, "every", "is not valid JSON"},
		{"comment", `{"every":1/**/}`, malformed, "body", "is not valid JSON"},
		{"trailing comma", `{"every":1,}`, malformed, "body", "is not valid JSON"},
		{"single quotes", `{'every':1}`, malformed, "body", "is not valid JSON"},
		{"leading zero", `{"every":01}`, malformed, "body", "is not valid JSON"},
		{"plus sign", `{"every":+1}`, malformed, "every", "is not valid JSON"},
		{"hexadecimal", `{"every":0x10}`, malformed, "body", "is not valid JSON"},
		{"too deep", `{"extra":` + strings.Repeat(`{"a":`, 10_000), malformed, "body", "is nested too deep"},
		{"deep arrays", `{"extra":` + strings.Repeat("[", 10_000), malformed, "body", "is nested too deep"},
		{"number as string", `{"every":"1"}`, malformed, "every", "must be a number, not a string"},
		{"string as number", `{"name":1}`, malformed, "name", "must be a string, not a number"},
		{"boolean as string", `{"active":"true"}`, malformed, "active", "must be a boolean, not a string"},
		{"object as array", `{"metrics":{"name":"a"}}`, malformed, "metrics", "must be an array, not an object"},
		{"array as object", `{"tags":[]}`, malformed, "tags", "must be an object, not an array"},
		{"fraction as integer", `{"version":1.5}`, malformed, "version", "must be an integer, without fraction or exponent"},
		{"exponent as integer", `{"version":1e2}`, malformed, "version", "must be an integer, without fraction or exponent"},
		{"null for a string", `{"name":null}`, malformed, "name", "must be a string, not null"},
		{"null for an integer", `{"version":null}`, malformed, "version", "must be an integer, not null"},
		{"null for a map", `{"tags":null}`, malformed, "tags", "must be an object, not null"},
		{"null in a map", `{"tags":{"a":null}}`, malformed, "tags.a", "must be a string, not null"},
		{"null in an array", `{"metrics":[null]}`, malformed, "metrics[0]", "must be an object, not null"},
		{
			"wrong type in an array", `{"metrics":[{"name":"a"},{"name":5}]}`, malformed, "metrics[1].name",
			"must be a string, not a number",
		},
		{"wrong type under a name of digits", `{"tags":{"0":5}}`, malformed, "tags.0", "must be a string, not a number"},
		{
			"wrong type under a name with a dot", `{"tags":{"a.b":5}}`, malformed, `tags["a.b"]`,
			"must be a string, not a number",
		},
		{"wrong type under an empty name", `{"tags":{"":5}}`, malformed, `tags[""]`, "must be a string, not a number"},
		{
			"wrong type under a name with a slash", `{"tags":{"a/b~c":5}}`, malformed, "tags.a/b~c",
			"must be a string, not a number",
		},
		{"beyond float64", `{"every":1e400}`, invalid, "every", "is beyond the range of numbers"},
		{"beyond float64 below", `{"extra":{"a":[1,1e400]}}`, invalid, "extra.a[1]", "is beyond the range of numbers"},
		{"beyond int64", `{"version":9223372036854775808}`, invalid, "version", "is beyond the range of numbers"},
		{"U+0000", `{"name":"a\u0000b"}`, invalid, "name", "must not contain U+0000"},
		{"U+0000 below", `{"extra":{"a":["x","\u0000"]}}`, invalid, "extra.a[1]", "must not contain U+0000"},
		{"U+0000 in a name", `{"tags":{"a\u0000":"x"}}`, invalid, `tags["a\u0000"]`, "must not contain U+0000"},
		{"syntax goes before values", `{"every":1e400,"name":}`, malformed, "name", "is not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var into source
			kind, field, reason := problem(t, request.DecodeJSON([]byte(c.body), &into))
			require.Equal(t, c.kind, kind)
			require.Equal(t, c.field, field)
			require.Equal(t, c.reason, reason)
		})
	}
}

func TestGoodJSONIsTaken(t *testing.T) {
	var into source
	body := ` {"name":"Kessel \u00e9 \ud83d\ude00","every":-0,"version":9007199254740993,"unit":null,
		"tags":{"__proto__":"x","":"y"},"extra":{"null":null,"tiny":1e-400},"metrics":[{}]}` + "\n"
	require.NoError(t, request.DecodeJSON([]byte(body), &into))
	require.Equal(t, "Kessel é 😀", *into.Name)
	require.Equal(t, int64(9007199254740993), *into.Version, "integers beyond 2^53 are exact")
	require.True(t, into.Unit.Set && into.Unit.Null)
	require.Nil(t, into.Active)
	require.Equal(t, map[string]string{"__proto__": "x", "": "y"}, into.Tags)

	var escaped source
	require.NoError(t, request.DecodeJSON([]byte(`{"name":"\\u0000"}`), &escaped), "an escaped backslash is no U+0000")
	require.Equal(t, `\u0000`, *escaped.Name)
}

func TestAnUnknownFieldNamesTheKnownOnes(t *testing.T) {
	var into metric
	var fe *fault.Error
	require.ErrorAs(t, request.DecodeJSON([]byte(`{"x":1}`), &into), &fe)
	require.Equal(t, []string{"name", "rank"}, fe.Details["allowed"])
}

func TestManyKeysAreReadInReasonableTime(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"tags":{"k":"v"`)
	for i := range 100_000 {
		fmt.Fprintf(&body, `,"%d":""`, i)
	}
	body.WriteString("}}")
	var into source
	start := time.Now()
	require.NoError(t, request.DecodeJSON([]byte(body.String()), &into))
	require.Len(t, into.Tags, 100_001)
	require.Less(t, time.Since(start), 5*time.Second)
}

func TestALongNameIsNotRepeatedWhole(t *testing.T) {
	var into source
	_, field, _ := problem(t, request.DecodeJSON([]byte(`{"`+strings.Repeat("é", 10_000)+`":1}`), &into))
	require.Less(t, len(field), 250)
}

func TestMissingFieldsComeBeforeBadValues(t *testing.T) {
	var c request.Check
	require.NoError(t, c.Err())
	c.Text("name", "", 1, 256)
	c.Required("id", false)
	kind, field, _ := problem(t, c.Err())
	require.Equal(t, fault.Malformed, kind)
	require.Equal(t, "id", field)
}

func TestTextRules(t *testing.T) {
	long := strings.Repeat("ä", 256)
	for text, ok := range map[string]bool{
		"a": true, long: true, long + "x": false, "": false, "  \u00a0 ": false,
		"a\tb": false, "a\x7fb": false, "a\u0085b": false, "a\u2028b": false,
		"\u202eevil": true, "a\u200bb": true, "e\u0301": true, "😀": true,
		"'; DROP TABLE sources; --": true, "{{7*7}}": true, "=cmd()": true, "<script>": true, "%_\\": true,
	} {
		var c request.Check
		c.Text("name", text, 1, 256)
		require.Equal(t, ok, c.Err() == nil, "%q", text)
	}
	var c request.Check
	c.Prose("description", "two\nlines\tand a tab", 100)
	require.NoError(t, c.Err())
	c.Prose("description", "bell\a", 100)
	require.Error(t, c.Err())
}

func TestValueRules(t *testing.T) {
	var c request.Check
	request.Between(&c, "days", 1, 1, 10)
	c.OneOf("mode", "live", "live", "test")
	require.Equal(t, "00000000-0000-0000-0000-00000000abcd", c.UUID("id", "00000000-0000-0000-0000-00000000ABCD").String())
	require.NoError(t, c.Err())
	c.OneOf("mode", "Live", "live", "test")
	var fe *fault.Error
	require.ErrorAs(t, c.Err(), &fe)
	require.Equal(t, fault.Invalid, fe.Kind)
	require.Equal(t, []string{"live", "test"}, fe.Details["allowed"])
	for _, text := range []string{"", "x", "{00000000-0000-0000-0000-00000000abcd}", "0000000000000000000000000000abcd",
		"urn:uuid:00000000-0000-0000-0000-00000000abcd", " 00000000-0000-0000-0000-00000000abc",
		strings.Repeat("a", 10_000)} {
		_, ok := request.ParseUUID(text)
		require.False(t, ok, "%.40q", text)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a"}`, `{"metrics":[{"name":null}]}`, `{"extra":{"a":[1e400,"\u0000"]}}`, `{"tags":{"0":5}}`,
		"{\"a\":\"\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var into source
		err := request.DecodeJSON(body, &into)
		if err == nil {
			return
		}
		var fe *fault.Error
		if !errors.As(err, &fe) || (fe.Kind != fault.Malformed && fe.Kind != fault.Invalid) || fe.Details["field"] == "" {
			t.Fatalf("%q: %v", body, err)
		}
	})
}
