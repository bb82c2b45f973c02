package graph_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
)

// FuzzProperties verifies that any input is either accepted as properties, or as a patch
// of them, or rejected with a reason. Accepted properties are canonical, and do not change
// when they are decoded again.
func FuzzProperties(f *testing.F) {
	for _, seed := range [][2]string{
		{`{}`, `{}`}, {`{"a":1.50,"b":{"c":[null,"x"]}}`, `{"a":null,"b":{"c":null}}`},
		{`{"a":{"b":{"c":{"d":1}}}}`, `{"a":{"b":1}}`}, {`{"":"","__proto__":{}}`, `{"":{"":null}}`},
		{`{"a":1e400}`, `{"a":"\u0000"}`}, {`{"a":12345678901234567890,"b":1e-400,"c":-0}`, `{"a":1E5}`}, {`[]`, `null`},
		{`{"a":1}x`, ` {"a":1} `}, {`{"a":"\ud800"}`, `{"\ud83d\ude00":true}`},
		{`{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}}`, `{"a":1,"a":2}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, raw, patch []byte) {
		p, err := graph.ParseProperties(jsontext.Value(raw))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		requireCanonical(t, p)
		merged, err := p.Merge(jsontext.Value(patch))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		requireCanonical(t, merged)
		again, err := merged.Merge(jsontext.Value(patch))
		require.NoError(t, err)
		require.Equal(t, merged, again, "the same change twice is one")
	})
}

func requireCanonical(t *testing.T, p graph.Properties) {
	t.Helper()
	encoded := p.Encode()
	require.True(t, encoded.IsValid(), "%s", encoded)
	again, err := graph.ReadProperties(encoded)
	require.NoError(t, err)
	require.Equal(t, encoded, again.Encode())
}
