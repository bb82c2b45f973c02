package graph

import "github.com/go-json-experiment/json/jsontext"

// PropertyBounds selects nodes or edges by ranges of properties of the top level. They must meet the conditions of all
// properties.
type PropertyBounds struct {
	// Min and Max are inclusive bounds, numbers or strings in JSON. Strings are compared by code point. Values of
	// another type do not pass.
	Min map[string]jsontext.Value `json:"l,omitempty"`
	Max map[string]jsontext.Value `json:"h,omitempty"`
	// Prefixes are beginnings of strings, of which one must match.
	Prefixes map[string][]string `json:"p,omitempty"`
}

// IsEmpty reports whether all nodes and edges pass.
func (b *PropertyBounds) IsEmpty() bool { return len(b.Min)+len(b.Max)+len(b.Prefixes) == 0 }
