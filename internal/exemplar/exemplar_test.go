package exemplar_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/exemplar"
)

func textOf(t require.TestingT, value float64, namesAndValues ...string) string {
	var labels []exemplar.Label
	for i := 0; i < len(namesAndValues); i += 2 {
		labels = append(labels, exemplar.Label{Name: namesAndValues[i], Value: namesAndValues[i+1]})
	}
	text, err := exemplar.Append(nil, value, labels)
	require.NoError(t, err)
	return string(text)
}

func TestTheTextOfAnExemplar(t *testing.T) {
	require.Equal(t, `{"a":"1","trace_id":"x y"} 0.67`, textOf(t, 0.67, "trace_id", "x y", "empty", "", "a", "1"))
	require.Equal(t, `{} NaN`, textOf(t, math.NaN()))
	require.Equal(t, `{"q":"\"\n"} -Inf`, textOf(t, math.Inf(-1), "q", "\"\n"))
}

func TestLabelsThatAreNotStored(t *testing.T) {
	long := strings.Repeat("é", 120) // characters, not bytes
	for name, test := range map[string]struct {
		labels []exemplar.Label
		want   error
	}{
		"128 characters": {[]exemplar.Label{{Name: "trace_id", Value: long}}, nil},
		"129 characters": {[]exemplar.Label{{Name: "trace_idx", Value: long}}, exemplar.ErrLong},
		"no name":        {[]exemplar.Label{{Value: "1"}}, exemplar.ErrLabels},
		"twice":          {[]exemplar.Label{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}}, exemplar.ErrLabels},
		"not UTF-8":      {[]exemplar.Label{{Name: "a", Value: "\xff"}}, exemplar.ErrLabels},
		"a zero byte":    {[]exemplar.Label{{Name: "a\x00", Value: "1"}}, exemplar.ErrLabels},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := exemplar.Append([]byte("before"), 1, test.labels)
			require.ErrorIs(t, err, test.want)
			if test.want != nil {
				require.Equal(t, "before", string(text))
			}
		})
	}
}

func TestExemplarsOfOneTimeAreOneText(t *testing.T) {
	text, count := exemplar.Join([]string{textOf(t, 1, "b", "1"), textOf(t, 2, "a", "1"), textOf(t, 3, "b", "1")})
	require.Equal(t, 2, count)
	require.Equal(t, "{\"a\":\"1\"} 2\n{\"b\":\"1\"} 3", text, "the last one of equal labels")
	many := make([]string, exemplar.MaxOfTime+1)
	for i := range many {
		many[i] = textOf(t, 1, "id", strconv.Itoa(i))
	}
	_, count = exemplar.Join(many)
	require.Equal(t, exemplar.MaxOfTime, count)
}

// TestTextsAreReadAsTheyWereWritten compares with a map, and the labels with the JSON of the standard library.
func TestTextsAreReadAsTheyWereWritten(t *testing.T) {
	labelTexts := rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return r != 0 }), 1, 10, -1)
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]float64{}
		var texts []string
		for range rapid.IntRange(1, 10).Draw(t, "exemplars") {
			labels := rapid.MapOfN(labelTexts, labelTexts, 0, 4).Draw(t, "labels")
			value := rapid.Float64().Draw(t, "value")
			var list []string
			for _, name := range rapid.Permutation(slices.Collect(maps.Keys(labels))).Draw(t, "order") {
				list = append(list, name, labels[name])
			}
			text, err := json.Marshal(labels)
			require.NoError(t, err)
			want[string(text)] = value
			texts = append(texts, textOf(t, value, list...))
		}
		joined, count := exemplar.Join(texts)
		require.Len(t, want, count)
		got := map[string]float64{}
		require.NoError(t, exemplar.Split(joined, func(object string, value float64) {
			list, err := exemplar.Labels(object)
			require.NoError(t, err)
			labels := map[string]string{}
			for _, l := range list {
				labels[l.Name] = l.Value
			}
			text, err := json.Marshal(labels)
			require.NoError(t, err)
			got[string(text)] = value
		}))
		require.Equal(t, want, got)
	})
}

func TestTextsThatNobodyWrote(t *testing.T) {
	for _, text := range []string{
		"", "1", " 1", "{} x", "{}1", "{} 1 ", "{} 1\n", `{"b":"1","a":"1"} 1`, `{"a":1} 1`, `{"a":"1"}x 1`, `[] 1`,
		`{"a":""} 1`, `{"a":"1"} 1.0`, `{ "a":"1"} 1`, `{"a":"1","a":"1"} 1`, `{"a":"\u0000"} 1`,
	} {
		require.Error(t, exemplar.Split(text, func(string, float64) {}), text)
	}
}

// FuzzExemplars requires that a text that is accepted has exemplars as they are stored, whose texts it consists of, and
// that any text can be the value of a label.
func FuzzExemplars(f *testing.F) {
	f.Add(`{"a":"1","trace_id":"x y"} 0.67`, 1.0)
	f.Add("{\"a\":\"1\"} 2\n{\"b\":\"\\\"\\n\"} -Inf", math.NaN())
	f.Add(`{} NaN`, math.Inf(1))
	f.Add(`{"b":"1","a":"1"} 1`, math.Copysign(0, -1))
	f.Add(`{"a":"1"}x 1`, 1e300)
	f.Fuzz(func(t *testing.T, text string, value float64) {
		var again []string
		err := exemplar.Split(text, func(object string, value float64) {
			labels := map[string]string{}
			require.NoError(t, json.Unmarshal([]byte(object), &labels), "%q", object)
			list := []exemplar.Label{}
			for name, value := range labels {
				list = append(list, exemplar.Label{Name: name, Value: value})
			}
			require.LessOrEqual(t, exemplar.Runes(list), exemplar.MaxRunes)
			line, err := exemplar.Append(nil, value, list)
			require.NoError(t, err)
			require.Equal(t, object, exemplar.LabelsOf(string(line)))
			again = append(again, string(line))
		})
		if err == nil {
			require.Equal(t, text, strings.Join(again, "\n"))
		}
		stored, err := exemplar.Append(nil, value, []exemplar.Label{{Name: "a", Value: text}, {Name: "b", Value: "1"}})
		if err != nil {
			require.Empty(t, stored)
			return
		}
		joined, count := exemplar.Join([]string{string(stored), string(stored), `{"z":"1"} 1`})
		require.Equal(t, 2, count)
		values := []float64{}
		require.NoError(t, exemplar.Split(joined, func(labels string, value float64) {
			if values = append(values, value); len(values) == 1 {
				var got map[string]string
				require.NoError(t, json.Unmarshal([]byte(labels), &got))
				require.Equal(t, text, got["a"])
			}
		}))
		require.Len(t, values, 2)
		require.True(t, values[0] == value || math.IsNaN(value) && math.IsNaN(values[0]))
	})
}
