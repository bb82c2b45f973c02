package graph

import "github.com/go-json-experiment/json/jsontext"

// Merge returns the properties with a JSON Merge Patch (RFC 7396) applied: null removes
// a member, an object is merged into an object, any other value replaces the old one. The
// patch and the result must be within the limits. An error states the reason, as for
// [ParseProperties].
func (p Properties) Merge(patch jsontext.Value) (Properties, error) {
	members, encoded, err := parsePatch(patch)
	switch {
	case err != nil:
		return nil, err
	case len(members) == 0:
		return p, nil
	case len(p) == 0:
		return withoutNulls(members, encoded), nil
	}
	merged := make(Properties, len(p)+len(members))
	keys := 0
	for name, value := range p {
		merged[name] = value
	}
	for name, change := range members {
		if change == nil {
			delete(merged, name)
			continue
		}
		var old tree
		if raw, ok := p[name]; ok {
			if old, err = parse(raw, MaxDepth-1); err != nil {
				return nil, err
			}
		}
		value := mergeTree(old, change)
		merged[name] = encode(nil, value)
		keys += 1 + countKeys(value)
	}
	for name, raw := range p {
		if _, changed := members[name]; changed {
			continue
		}
		value, err := parse(raw, MaxDepth-1)
		if err != nil {
			return nil, err
		}
		keys += 1 + countKeys(value)
	}
	if len(merged) == 0 {
		return nil, nil
	}
	return merged, merged.check(keys)
}

// withoutNulls returns the result of applying a patch to empty properties. The result is
// not larger than the patch.
func withoutNulls(members object, encoded Properties) Properties {
	result := make(Properties, len(members))
	for name, member := range members {
		switch {
		case member == nil:
		case hasNull(member):
			result[name] = encode(nil, mergeTree(nil, member))
		default:
			result[name] = encoded[name]
		}
	}
	if len(result) == 0 {
		return nil
	}
	return result
}

// hasNull reports whether a patch has a null that removes a member.
func hasNull(patch tree) bool {
	members, ok := patch.(object)
	if !ok {
		return false
	}
	for _, member := range members {
		if member == nil || hasNull(member) {
			return true
		}
	}
	return false
}

// parsePatch parses a patch and validates it against the limits of properties, with its
// nulls counted as keys. It returns the members, decoded and in canonical form.
func parsePatch(patch jsontext.Value) (object, Properties, error) {
	value, err := parse(patch, MaxDepth)
	if err != nil {
		return nil, nil, err
	}
	members, ok := value.(object)
	if !ok {
		return nil, nil, errObject
	}
	encoded := encodeMembers(members)
	return members, encoded, encoded.check(countKeys(members))
}

// mergeTree implements MergePatch of RFC 7396, section 2. It modifies neither argument.
func mergeTree(target, patch tree) tree {
	changes, ok := patch.(object)
	if !ok {
		return patch
	}
	merged := object{}
	if old, ok := target.(object); ok {
		for name, value := range old {
			merged[name] = value
		}
	}
	for name, change := range changes {
		if change == nil {
			delete(merged, name)
		} else {
			merged[name] = mergeTree(merged[name], change)
		}
	}
	return merged
}
