package graph

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Properties are the free-form attributes of a node or an edge: the value of each
// top-level name in canonical JSON, so that equal values are equal bytes. Canonical
// JSON has no spaces and sorted members; an integer has all its digits, and any other
// number is the nearest 64-bit float without an exponent. No member of an object is
// null, at any level: null removes a member. Nil means no properties. Properties are
// never modified in place.
type Properties map[string]jsontext.Value

// ParseProperties parses a JSON object as the properties of a new resource. It omits
// members that are null. An error states the reason why raw is invalid: it is not a valid
// JSON object, has U+0000 in a string, has a number beyond the range of a 64-bit float,
// or exceeds [MaxProperties], [MaxDepth] or [MaxKeys].
func ParseProperties(raw jsontext.Value) (Properties, error) {
	return Properties(nil).Merge(raw)
}

// ReadProperties decodes stored properties. They need not be canonical, because a
// database may change the order of members and the spaces. It validates the nesting, but
// not the other limits, which were validated at ingest. Empty means no properties.
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

// Encode returns the properties as one canonical JSON object.
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

// check validates properties, or a patch, against the limits. keys is the number of keys
// on all levels.
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
	var buf [64]byte
	return len(appendQuoted(buf[:0], name))
}
