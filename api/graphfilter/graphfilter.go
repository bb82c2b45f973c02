// Package graphfilter validates the conditions on nodes and edges that bodies of searches and of patterns have.
package graphfilter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
)

// Limits of a filter.
const (
	maxKeys          = 32  // properties
	maxValues        = 100 // of one property
	maxRelationTypes = 100
)

// EntityTypes validates entity types and returns them sorted and without duplicates. A list must not be empty, because
// its meaning would be ambiguous.
func EntityTypes(c *request.Check, field string, types []string) []string {
	if types != nil && len(types) == 0 {
		c.Fail(field, "must not be empty; leave it out for any type", graph.EntityTypes()...)
	}
	for i, t := range types {
		if !slices.Contains(graph.EntityTypes(), t) {
			c.Fail(fmt.Sprintf("%s[%d]", field, i), "is not an entity type", graph.EntityTypes()...)
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// RelationTypes validates relation types and returns them.
func RelationTypes(c *request.Check, field string, types []string) []string {
	if types != nil && (len(types) == 0 || len(types) > maxRelationTypes) {
		c.Fail(field, fmt.Sprintf("must have 1 to %d types; leave it out for any", maxRelationTypes))
		return nil
	}
	for i, t := range types {
		c.Text(fmt.Sprintf("%s[%d]", field, i), t, 1, graph.MaxRelationType)
	}
	return types
}

// Properties parses conditions on properties, the value of a field of a body. The condition is one value, or a list of
// alternatives. Values are returned as a node's properties are stored.
func Properties(c *request.Check, field string, filter map[string]jsontext.Value) map[string][]jsontext.Value {
	if !checkKeys(c, field, len(filter)) {
		return nil
	}
	values := make(map[string][]jsontext.Value, len(filter))
	for _, key := range slices.Sorted(maps.Keys(filter)) {
		member := request.Member(field, key)
		if filter[key].Kind() != '[' {
			values[key] = []jsontext.Value{Value(c, member, filter[key])}
			continue
		}
		elements := elementsOf(filter[key])
		if len(elements) == 0 || len(elements) > maxValues {
			c.Fail(member, fmt.Sprintf("must have 1 to %d values", maxValues))
			continue
		}
		for i, element := range elements {
			values[key] = append(values[key], Value(c, fmt.Sprintf("%s[%d]", member, i), element))
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

// Value returns a string, a number or a boolean in the form in which a node's properties are stored.
func Value(c *request.Check, field string, value jsontext.Value) jsontext.Value {
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
