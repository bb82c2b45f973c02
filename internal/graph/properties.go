package graph

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Properties are the free attributes of a node or an edge: for each top-level name
// its value in canonical JSON, so that equal values are equal bytes. Canonical is:
// no spaces, members sorted, an integer with all its digits, any other number as
// the nearest 64-bit float without an exponent. No member of an object is null,
// at any level: null removes. Nil is none. They are never changed in place.
type Properties map[string]jsontext.Value

// ParseProperties reads a JSON object as properties of a new resource: members
// that are null are left out. Errors are the reasons why it cannot be that: no
// valid JSON object, U+0000 in a string, a number beyond a 64-bit float, or beyond
// the limits of [MaxProperties], [MaxDepth] and [MaxKeys].
func ParseProperties(raw jsontext.Value) (Properties, error) {
	return Properties(nil).Merge(raw)
}

// ReadProperties reads properties that were stored, in any form: a database orders
// and spaces JSON in its own way. They were held against the limits when they came
// in, and are not again. Empty is none.
func ReadProperties(raw jsontext.Value) (Properties, error) {
	if len(raw) == 0 || string(raw) == "{}" {
		return nil, nil
	}
	value, err := parse(raw, MaxDepth)
	if err != nil {
		return nil, err
	}
	members, ok := value.(object)
	if !ok {
		return nil, errObject
	}
	return encodeMembers(members), nil
}

// Encode writes the properties as one canonical JSON object.
func (p Properties) Encode() jsontext.Value {
	dst := []byte{'{'}
	for i, name := range sortedKeys(p) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, name), ':')
		dst = append(dst, p[name]...)
	}
	return append(dst, '}')
}

// with returns the properties with one value set, or removed if it is nil.
func (p Properties) with(name string, value jsontext.Value) Properties {
	next := make(Properties, len(p)+1)
	for key, old := range p {
		next[key] = old
	}
	if value == nil {
		delete(next, name)
	} else {
		next[name] = value
	}
	if len(next) == 0 {
		return nil
	}
	return next
}

// encodeMembers returns the members of an object in canonical form.
func encodeMembers(members object) Properties {
	p := make(Properties, len(members))
	for name, member := range members {
		p[name] = encode(nil, member)
	}
	return p
}

// check holds whole properties, or a patch, against the limits. keys are those of
// all levels.
func (p Properties) check(keys int) error {
	size := len("{}") + max(len(p)-1, 0)
	for name, value := range p {
		size += quotedSize(name) + len(":") + len(value)
	}
	if size > MaxProperties {
		return fmt.Errorf("is %d bytes, at most %d are allowed", size, MaxProperties)
	}
	if keys > MaxKeys {
		return fmt.Errorf("has %d keys, at most %d are allowed, those of nested objects included", keys, MaxKeys)
	}
	return nil
}

func quotedSize(name string) int {
	var room [64]byte
	return len(appendQuoted(room[:0], name))
}
