package graph

import "github.com/go-json-experiment/json/jsontext"

// Merge gives the properties with a JSON Merge Patch (RFC 7396) applied: null
// removes, an object is merged into an object, anything else replaces. The patch
// and the result must keep the limits; errors are the reasons, as those of
// [ParseProperties].
func (p Properties) Merge(patch jsontext.Value) (Properties, error) {
	members, err := parsePatch(patch)
	if err != nil {
		return nil, err
	}
	merged := make(Properties, len(p)+len(members))
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
		merged[name] = encode(nil, mergeTree(old, change))
	}
	if len(merged) == 0 {
		return nil, nil
	}
	return merged, merged.check()
}

// parsePatch reads a patch and holds it against the limits of properties, its
// nulls counted as keys.
func parsePatch(patch jsontext.Value) (object, error) {
	value, err := parse(patch, MaxDepth)
	if err != nil {
		return nil, err
	}
	members, ok := value.(object)
	if !ok {
		return nil, errObject
	}
	asProperties := make(Properties, len(members))
	for name, member := range members {
		asProperties[name] = encode(nil, member)
	}
	return members, asProperties.check()
}

// mergeTree is MergePatch of RFC 7396, section 2. It changes neither argument.
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
