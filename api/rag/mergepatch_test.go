package rag

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// merged is the algorithm of RFC 7396 on decoded values.
func merged(target, patch any) any {
	changes, isObject := patch.(map[string]any)
	if !isObject {
		return patch
	}
	members, isObject := target.(map[string]any)
	if !isObject {
		members = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(members, name)
		} else {
			members[name] = merged(members[name], value)
		}
	}
	return members
}

// anyJSON generates values with few names, so that patches meet members.
func anyJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 4
		if depth > 0 {
			kinds = 7 // mostly objects
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.SampledFrom([]any{true, 1.5, "a", `"\é`}).Draw(t, "value")
		case 2:
			return []any{nil, "x"}
		case 3:
			return map[string]any{}
		}
		members := map[string]any{}
		for i := range rapid.IntRange(0, 4).Draw(t, "members") {
			name := rapid.SampledFrom([]string{"a", "b", `c"`, "é"}).Draw(t, fmt.Sprint("name", i))
			members[name] = anyJSON(depth-1).Draw(t, name)
		}
		return members
	})
}

func TestMergePatchesAreThoseOfRFC7396(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		encode := func(value any) jsontext.Value {
			text, err := json.Marshal(value)
			require.NoError(t, err)
			return text
		}
		target, patch := encode(anyJSON(3).Draw(t, "target")), encode(anyJSON(3).Draw(t, "patch"))
		got, err := mergePatch(target, patch)
		require.NoError(t, err)
		var decodedTarget, decodedPatch any
		require.NoError(t, json.Unmarshal(target, &decodedTarget))
		require.NoError(t, json.Unmarshal(patch, &decodedPatch))
		require.JSONEq(t, string(encode(merged(decodedTarget, decodedPatch))), string(got))
	})
}

func TestMergePatchesKeepTheOrderAndTheNotation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, patch, want string }{
		{`{"b":1.50,"a":{"z":1,"y":2}}`, `{}`, `{"b":1.50,"a":{"z":1,"y":2}}`},
		{`{"b":1.50,"a":{"z":1,"y":2}}`, `{"a":{"z":null,"x":1e2},"c":null}`, `{"b":1.50,"a":{"y":2,"x":1e2}}`},
		{`{"a":1}`, `{"c":{"d":null,"e":1},"a":12345678901234567890}`, `{"a":12345678901234567890,"c":{"e":1}}`},
		{`{"a":[1]}`, `{"a":[null,2]}`, `{"a":[null,2]}`},
	} {
		got, err := mergePatch(jsontext.Value(c.target), jsontext.Value(c.patch))
		require.NoError(t, err)
		require.Equal(t, c.want, string(got))
	}
}
