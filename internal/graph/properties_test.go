package graph_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
)

func TestPropertiesHaveOneCanonicalForm(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: `{}`,
		"{ \"b\" : 1 ,\n\"a\" : [ true , null ] }": `{"a":[true,null],"b":1}`,
		`{"n":-0}`:                             `{"n":0}`,
		`{"n":-0.0}`:                           `{"n":0}`,
		`{"n":1e-400}`:                         `{"n":0}`,
		`{"n":1.0}`:                            `{"n":1}`,
		`{"n":1E3}`:                            `{"n":1000}`,
		`{"n":1.50}`:                           `{"n":1.5}`,
		`{"n":123456789012345678901234567890}`: `{"n":123456789012345678901234567890}`,
		`{"n":2.5e-7}`:                         `{"n":0.00000025}`,
		`{"a":null,"b":{"c":null}}`:            `{"b":{}}`,
		`{"":1,"__proto__":2,"a.b":3,"\u0061\"":"\u00e9\/"}`: `{"":1,"__proto__":2,"a\"":"é/","a.b":3}`,
	} {
		p, err := graph.ParseProperties(jsontext.Value(in))
		require.NoError(t, err, in)
		require.Equal(t, want, string(p.Encode()))
	}
}

func TestPropertiesAreRefusedWithTheReason(t *testing.T) {
	keys := func(n int) string {
		var parts []string
		for i := range n {
			parts = append(parts, `"k`+strings.Repeat("x", i)+`":1`)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	for in, reason := range map[string]string{
		``:                                       "valid JSON",
		`[]`:                                     "must be an object",
		`{"a":1,"a":2}`:                          "valid JSON",
		`{} {}`:                                  "valid JSON",
		`{"a":`:                                  "valid JSON",
		`{"a":01}`:                               "valid JSON",
		"{\"a\":\"\xff\"}":                       "valid JSON",
		`{"a":"\ud800"}`:                         "valid JSON",
		`{"a":"\u0000"}`:                         "U+0000",
		`{"a\u0000":1}`:                          "U+0000",
		`{"a":1e400}`:                            "64-bit float",
		`{"a":` + strings.Repeat("9", 400) + `}`: "64-bit float",
		`{"a":` + strings.Repeat("[", 8) + strings.Repeat("]", 8) + `}`: "deeper than 8",
		`{"a":"` + strings.Repeat("x", 32<<10) + `"}`:                   "bytes",
		`{"a":` + keys(200) + `,"b":[` + keys(100) + `]}`:               "keys",
	} {
		_, err := graph.ParseProperties(jsontext.Value(in))
		require.ErrorContains(t, err, reason, in)
	}
	_, err := graph.ParseProperties(jsontext.Value(`{"a":` + strings.Repeat("[", 7) + strings.Repeat("]", 7) + `}`))
	require.NoError(t, err)
}

func TestAMergeCannotGrowPropertiesBeyondTheirLimits(t *testing.T) {
	half := strings.Repeat("x", 20<<10)
	p, err := graph.ParseProperties(jsontext.Value(`{"a":"` + half + `"}`))
	require.NoError(t, err)
	_, err = p.Merge(jsontext.Value(`{"b":"` + half + `"}`))
	require.ErrorContains(t, err, "bytes")
}

// values draws JSON values with few names and shapes, so that patches often affect
// existing members.
func values(depth int) *rapid.Generator[any] {
	leaf := rapid.SampledFrom([]any{nil, true, false, "", "x", "é\"\\", 0.0, 1.0, -2.5, 1e300, 3e-9, []any{}})
	if depth == 0 {
		return leaf
	}
	inner := values(depth - 1)
	return rapid.OneOf(leaf, rapid.Map(objects(inner), func(m map[string]any) any { return m }),
		rapid.Map(rapid.SliceOfN(inner, 0, 3), func(a []any) any { return a }))
}

func objects(inner *rapid.Generator[any]) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "a.b"}), inner, 0, 4)
}

// mergePatch implements RFC 7396, section 2, literally.
func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged, ok := target.(map[string]any)
	if !ok {
		merged = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = mergePatch(merged[name], value)
		}
	}
	return merged
}

func TestMergesAreThoseOfRFC7396(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p graph.Properties
		var want any = map[string]any{}
		for range rapid.IntRange(1, 4).Draw(t, "patches") {
			patch, err := json.Marshal(objects(values(3)).Draw(t, "patch"))
			require.NoError(t, err)
			before := string(p.Encode())
			merged, err := p.Merge(patch)
			require.NoError(t, err)
			require.Equal(t, before, string(p.Encode()), "a merge changes no properties in place")

			var read any
			require.NoError(t, json.Unmarshal(patch, &read))
			want = mergePatch(want, read)
			var got any
			require.NoError(t, json.Unmarshal(merged.Encode(), &got))
			require.Equal(t, want, got)

			again, err := graph.ParseProperties(merged.Encode())
			require.NoError(t, err)
			require.Equal(t, string(merged.Encode()), string(again.Encode()), "the canonical form is stable")
			require.Equal(t, merged, again)
			p = merged
		}
	})
}
