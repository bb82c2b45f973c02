package textindex_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// someFilter returns a random filter of the properties that pgtest.RandomNodes creates.
func someFilter(r *rand.Rand) (f retrieval.Filter) {
	if r.IntN(2) == 0 {
		f.EntityTypes = []string{"object", "actor", "process"}[:1+r.IntN(3)]
	}
	if r.IntN(2) == 0 {
		f.Properties = map[string][]jsontext.Value{}
		for range 1 + r.IntN(2) {
			name := []string{"k", "a.b", "absent"}[r.IntN(10)/4]
			for _, value := range [][]byte{
				[]byte(`"5"`), []byte(`5`), []byte(`[5]`), []byte(`{"k":5}`), []byte(`{}`), []byte(`[]`), []byte(`"x"`),
				[]byte(`true`), []byte(`"a\"b"`),
			} {
				if r.IntN(3) > 0 {
					f.Properties[name] = append(f.Properties[name], value)
				}
			}
		}
	}
	if r.IntN(2) == 0 {
		f.Bounds = someBounds(r)
	}
	return f
}

// someBounds returns random bounds of the same properties.
func someBounds(r *rand.Rand) (b graph.PropertyBounds) {
	bound := func() map[string]jsontext.Value {
		if r.IntN(2) == 0 {
			return nil
		}
		value := []string{`4`, `5`, `5.5`, `-1`, `"5"`, `"4"`, `"w"`, `""`, `"é"`}[r.IntN(9)]
		return map[string]jsontext.Value{[]string{"k", "a.b", "absent"}[r.IntN(10)/4]: jsontext.Value(value)}
	}
	b.Min, b.Max = bound(), bound()
	if r.IntN(3) == 0 {
		b.Prefixes = map[string][]string{"k": {[]string{"", "x", "5", "%", "a"}[r.IntN(5)]}}
	}
	return b
}

// withinBounds reports whether properties pass bounds. It compares decoded values.
func withinBounds(properties graph.Properties, b graph.PropertyBounds) bool {
	decode := func(raw jsontext.Value) (value any) {
		if json.Unmarshal(raw, &value) != nil {
			return nil
		}
		return value
	}
	within := func(bounds map[string]jsontext.Value, outside int) bool {
		for name, bound := range bounds {
			order := 2 // of other types
			switch value := decode(properties[name]).(type) {
			case string:
				if text, ok := decode(bound).(string); ok {
					order = strings.Compare(value, text)
				}
			case float64:
				if number, ok := decode(bound).(float64); ok {
					order = cmp.Compare(value, number)
				}
			}
			if order == 2 || order == outside {
				return false
			}
		}
		return true
	}
	for name, prefixes := range b.Prefixes {
		text, ok := decode(properties[name]).(string)
		if !ok || !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) }) {
			return false
		}
	}
	return within(b.Min, -1) && within(b.Max, 1)
}

func passesFilter(n graph.Node, f retrieval.Filter) bool {
	if n.Deleted || len(f.EntityTypes) > 0 && !slices.Contains(f.EntityTypes, string(n.EntityType)) {
		return false
	}
	for name, values := range f.Properties {
		if !slices.ContainsFunc(values, func(v jsontext.Value) bool { return string(v) == string(n.Properties[name]) }) {
			return false
		}
	}
	return withinBounds(n.Properties, f.Bounds)
}
