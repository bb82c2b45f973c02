package graphread

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/storage/postgres"
)

// PropertyBounds selects nodes or edges by ranges of properties of the top level. They must meet the
// conditions of all properties. No index contains them, so all rows are read that pass the other
// conditions of the filter.
type PropertyBounds struct {
	// Min and Max are inclusive bounds, numbers or strings in JSON. Strings are compared by code point. Values of
	// another type do not pass.
	Min map[string]jsontext.Value `json:"l,omitempty"`
	Max map[string]jsontext.Value `json:"h,omitempty"`
	// Prefixes are beginnings of strings, of which one must match.
	Prefixes map[string][]string `json:"p,omitempty"`
}

func (b *PropertyBounds) isSet() bool { return len(b.Min)+len(b.Max)+len(b.Prefixes) > 0 }

func (b *PropertyBounds) apply(w *postgres.Where) {
	for _, name := range slices.Sorted(maps.Keys(b.Min)) {
		addBound(w, name, ">=", b.Min[name])
	}
	for _, name := range slices.Sorted(maps.Keys(b.Max)) {
		addBound(w, name, "<=", b.Max[name])
	}
	for _, name := range slices.Sorted(maps.Keys(b.Prefixes)) {
		key := w.Arg(name) + "::text"
		var alternatives []string
		for _, prefix := range b.Prefixes[name] {
			alternatives = append(alternatives, "starts_with(properties ->> "+key+", "+w.Arg(prefix)+"::text)")
		}
		addTyped(w, "("+strings.Join(alternatives, " OR ")+")", key, "string")
	}
}

// addBound adds the condition that a property is within a bound, and of its type.
func addBound(w *postgres.Where, name, operator string, bound jsontext.Value) {
	key := w.Arg(name) + "::text"
	if bound.Kind() != '"' {
		addTyped(w, "properties -> "+key+" "+operator+" "+w.Arg(string(bound))+"::jsonb", key, "number")
		return
	}
	text, _ := jsontext.AppendUnquote(nil, bound) // the value is valid JSON
	addTyped(w, "(properties ->> "+key+`) COLLATE "C" `+operator+" "+w.Arg(string(text))+"::text", key, "string")
}

// addTyped adds a condition, and that the property has a type of JSON. key is the expression for its name.
func addTyped(w *postgres.Where, condition, key, kind string) {
	w.Conditions = append(w.Conditions, condition+" AND jsonb_typeof(properties -> "+key+") = '"+kind+"'")
}
