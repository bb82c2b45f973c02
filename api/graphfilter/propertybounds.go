package graphfilter

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
)

// BoundsBody has the fields of a body with conditions on ranges of properties.
type BoundsBody struct {
	PropertyMin    map[string]jsontext.Value `json:"propertyMin"`
	PropertyMax    map[string]jsontext.Value `json:"propertyMax"`
	PropertyPrefix map[string]string         `json:"propertyPrefix"`
}

// Read validates the fields and returns their conditions, with values as a node's properties are stored. prefix
// precedes the names of the fields in errors.
func (b *BoundsBody) Read(c *request.Check, prefix string) (bounds graph.PropertyBounds) {
	bounds.Min = readBounds(c, prefix+"propertyMin", b.PropertyMin)
	bounds.Max = readBounds(c, prefix+"propertyMax", b.PropertyMax)
	if checkKeys(c, prefix+"propertyPrefix", len(b.PropertyPrefix)) && len(b.PropertyPrefix) > 0 {
		bounds.Prefixes = make(map[string][]string, len(b.PropertyPrefix))
		for name, beginning := range b.PropertyPrefix {
			bounds.Prefixes[name] = []string{beginning}
		}
	}
	return bounds
}

// readBounds validates bounds of properties and returns them as they are compared.
func readBounds(c *request.Check, field string, bounds map[string]jsontext.Value) map[string]jsontext.Value {
	if !checkKeys(c, field, len(bounds)) {
		return nil
	}
	read := make(map[string]jsontext.Value, len(bounds))
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		member := request.Member(field, name)
		if kind := bounds[name].Kind(); kind != '"' && kind != '0' {
			c.Fail(member, "must be a number or a string")
			continue
		}
		read[name] = Value(c, member, bounds[name])
	}
	return read
}

// checkKeys reports whether a field has few enough keys.
func checkKeys(c *request.Check, field string, keys int) bool {
	if keys > maxKeys {
		c.Fail(field, fmt.Sprintf("must have at most %d keys", maxKeys))
	}
	return keys <= maxKeys
}
