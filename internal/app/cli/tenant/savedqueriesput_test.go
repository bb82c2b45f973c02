package tenant

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// merged applies a merge patch as RFC 7396 defines it, on decoded values.
func merged(value, patch any) any {
	members, isObject := patch.(map[string]any)
	if !isObject {
		return patch
	}
	result := map[string]any{}
	if before, ok := value.(map[string]any); ok {
		for name, member := range before {
			result[name] = member
		}
	}
	for name, member := range members {
		if member == nil {
			delete(result, name)
		} else {
			result[name] = merged(result[name], member)
		}
	}
	return result
}

// someObject draws an object of few names, so that objects share them.
func someObject(t *rapid.T, label string, depth int) map[string]any {
	object := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		switch kind := rapid.IntRange(0, 4).Draw(t, label+name); {
		case kind == 1:
			object[name] = float64(rapid.IntRange(0, 2).Draw(t, label+"number"))
		case kind == 2:
			object[name] = []any{"x", nil, map[string]any{}}
		case kind > 2 && depth > 0:
			object[name] = someObject(t, label+name, depth-1)
		}
	}
	return object
}

func TestAReplacementPatchTurnsOneObjectIntoAnother(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		current, desired := someObject(t, "current ", 2), someObject(t, "desired ", 2)
		encoded := func(value any) json.RawMessage {
			raw, err := json.Marshal(value)
			require.NoError(t, err)
			return raw
		}
		var patch any
		require.NoError(t, json.Unmarshal(encoded(replacement(encoded(current), encoded(desired))), &patch))
		require.Equal(t, any(desired), merged(current, patch))
	})
}
