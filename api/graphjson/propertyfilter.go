package graphjson

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
)

// Limits of a filter of properties.
const (
	maxFilterKeys   = 32
	maxFilterValues = 100 // of one property
)

// PropertyFilter parses a filter of properties, the value of a field of a body. The value of a property is one value,
// or a list of alternatives. Values are returned as a node's properties are stored.
func PropertyFilter(
	c *request.Check, field string, filter map[string]jsontext.Value,
) map[string][]jsontext.Value {
	if len(filter) > maxFilterKeys {
		c.Fail(field, fmt.Sprintf("must have at most %d keys", maxFilterKeys))
		return nil
	}
	values := make(map[string][]jsontext.Value, len(filter))
	for _, key := range slices.Sorted(maps.Keys(filter)) {
		member := request.Member(field, key)
		if filter[key].Kind() != '[' {
			values[key] = []jsontext.Value{PropertyValue(c, member, filter[key])}
			continue
		}
		elements := elementsOf(filter[key])
		if len(elements) == 0 || len(elements) > maxFilterValues {
			c.Fail(member, fmt.Sprintf("must have 1 to %d values", maxFilterValues))
			continue
		}
		for i, element := range elements {
			values[key] = append(values[key], PropertyValue(c, fmt.Sprintf("%s[%d]", member, i), element))
		}
	}
	return values
}

// elementsOf returns the elements of an array that is valid JSON.
func elementsOf(array jsontext.Value) (elements []jsontext.Value) {
	dec := jsontext.NewDecoder(strings.NewReader(string(array)))
	_, _ = dec.ReadToken()
	for dec.PeekKind() != ']' {
		element, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		elements = append(elements, element.Clone())
	}
	return elements
}

// PropertyValue returns a string, a number or a boolean in the form in which a node's properties are stored.
func PropertyValue(c *request.Check, field string, value jsontext.Value) jsontext.Value {
	switch value.Kind() {
	case '"', '0', 't', 'f':
	default:
		c.Fail(field, "must be a string, a number, true or false, or a list of these")
		return nil
	}
	read, err := graph.ParseProperties(jsontext.Value(`{"value":` + string(value) + `}`))
	if err != nil {
		c.Fail(field, err.Error())
	}
	return read["value"]
}
