package graphread

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// PropertyBounds selects nodes or edges by ranges of properties of the top level. They must meet the
// conditions of all properties. No index contains them, so all rows are read that pass the other
// conditions of the filter.
type PropertyBounds struct {
	// Min and Max are inclusive bounds. A text that is a JSON number is a bound of numbers. Another
	// text is a bound of strings, which are compared by code point. Other values do not pass.
	Min map[string]string `json:"l,omitempty"`
	Max map[string]string `json:"h,omitempty"`
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
		var alternatives []string
		for _, prefix := range b.Prefixes[name] {
			alternatives = append(alternatives, "starts_with(properties ->> "+w.Arg(name)+"::text, "+w.Arg(prefix)+"::text)")
		}
		w.Conditions = append(w.Conditions, "("+strings.Join(alternatives, " OR ")+")"+hasType(w, name, "string"))
	}
}

// addBound adds the condition that a property is within a bound.
func addBound(w *postgres.Where, name, operator, bound string) {
	key := w.Arg(name) + "::text"
	if number, ok := jsonNumber(bound); ok {
		condition := "properties -> " + key + " " + operator + " " + w.Arg(string(number)) + "::jsonb"
		w.Conditions = append(w.Conditions, condition+hasType(w, name, "number"))
		return
	}
	condition := "(properties ->> " + key + `) COLLATE "C" ` + operator + " " + w.Arg(bound) + "::text"
	w.Conditions = append(w.Conditions, condition+hasType(w, name, "string"))
}

// hasType returns the condition, beginning with AND, that a property has a type of JSON.
func hasType(w *postgres.Where, name, kind string) string {
	return " AND jsonb_typeof(properties -> " + w.Arg(name) + "::text) = '" + kind + "'"
}

// jsonNumber returns the canonical encoding of a text that is a number in JSON. A number beyond the range of a 64-bit
// float is beyond all numbers that are stored.
func jsonNumber(text string) (jsontext.Value, bool) {
	value := jsontext.Value(text)
	if strings.Trim(text, "+-.0123456789eE") != "" || value.Kind() != '0' || !value.IsValid() {
		return nil, false
	}
	canonical, err := graph.ParseProperties(jsontext.Value(`{"":` + text + `}`))
	switch {
	case err == nil:
		return canonical[""], true
	case text[0] == '-':
		return jsontext.Value("-1e309"), true
	}
	return jsontext.Value("1e309"), true
}
