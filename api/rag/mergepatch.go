package rag

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// member is a member of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// mergePatch applies a merge patch (RFC 7396) to a JSON value. Members keep their order, new ones are appended. Both
// values must be valid and nested at most request.MaxDepth deep.
func mergePatch(target, patch jsontext.Value) (jsontext.Value, error) {
	if patch.Kind() != '{' {
		return patch, nil
	}
	members, err := membersOf(target)
	if err != nil {
		return nil, err
	}
	changes, err := membersOf(patch)
	if err != nil {
		return nil, err
	}
	for _, change := range changes {
		at := slices.IndexFunc(members, func(m member) bool { return m.name == change.name })
		if change.value.Kind() == 'n' {
			if at >= 0 {
				members = slices.Delete(members, at, at+1)
			}
			continue
		}
		if at < 0 {
			at, members = len(members), append(members, member{name: change.name})
		}
		if members[at].value, err = mergePatch(members[at].value, change.value); err != nil {
			return nil, err
		}
	}
	return encodeObject(members)
}

// membersOf returns the members of an object; none: the value is no object.
func membersOf(value jsontext.Value) (members []member, err error) {
	if value.Kind() != '{' {
		return nil, nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(value))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String() // the token is valid until the next read
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		members = append(members, member{text, value.Clone()})
	}
	return members, nil
}

func encodeObject(members []member) (jsontext.Value, error) {
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return nil, err
	}
	for _, m := range members {
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return nil, err
		}
		if err := enc.WriteValue(m.value); err != nil {
			return nil, err
		}
	}
	if err := enc.WriteToken(jsontext.EndObject); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
