package graphread

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// boundConditions adds conditions on ranges of properties. No index contains them, so all rows are read that pass the
// other conditions of a filter.
type boundConditions struct {
	w          *postgres.Where
	properties string // the column
}

func (b boundConditions) add(bounds *graph.PropertyBounds) {
	for _, name := range slices.Sorted(maps.Keys(bounds.Min)) {
		b.addBound(name, ">=", bounds.Min[name])
	}
	for _, name := range slices.Sorted(maps.Keys(bounds.Max)) {
		b.addBound(name, "<=", bounds.Max[name])
	}
	for _, name := range slices.Sorted(maps.Keys(bounds.Prefixes)) {
		key := b.w.Arg(name) + "::text"
		var alternatives []string
		for _, prefix := range bounds.Prefixes[name] {
			alternatives = append(
				alternatives, "starts_with("+b.properties+" ->> "+key+", "+b.w.Arg(prefix)+"::text)",
			)
		}
		b.addTyped("("+strings.Join(alternatives, " OR ")+")", key, "string")
	}
}

// addBound adds the condition that a property is within a bound, and of its type.
func (b boundConditions) addBound(name, operator string, bound jsontext.Value) {
	key := b.w.Arg(name) + "::text"
	if bound.Kind() != '"' {
		b.addTyped(b.properties+" -> "+key+" "+operator+" "+b.w.Arg(string(bound))+"::jsonb", key, "number")
		return
	}
	text, _ := jsontext.AppendUnquote(nil, bound) // the value is valid JSON
	b.addTyped(
		"("+b.properties+" ->> "+key+`) COLLATE "C" `+operator+" "+b.w.Arg(string(text))+"::text", key, "string",
	)
}

// addTyped adds a condition, and that the property has a type of JSON. key is the expression for its name.
func (b boundConditions) addTyped(condition, key, kind string) {
	b.w.Conditions = append(
		b.w.Conditions, condition+" AND jsonb_typeof("+b.properties+" -> "+key+") = '"+kind+"'",
	)
}
