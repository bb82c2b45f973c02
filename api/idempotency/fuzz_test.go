package idempotency

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// FuzzKey: a key is visible ASCII of at most 255 characters, or refused.
func FuzzKey(f *testing.F) {
	for _, key := range []string{"", "a", "!~", "a b", "é", "\x7f", "\x00"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, given, err := keyOf(http.Header{Header: {text}})
		if err != nil {
			require.Equal(t, fault.Malformed, fault.KindOf(err))
			require.False(t, given)
			return
		}
		require.Equal(t, text, key)
		require.True(t, len(key) >= 1 && len(key) <= maxKey)
		for _, c := range []byte(key) {
			require.True(t, c > ' ' && c < 0x7f)
		}
	})
}

// FuzzAnswer: any stored bytes are decoded or an error, and a decoded answer can be encoded
// again.
func FuzzAnswer(f *testing.F) {
	for _, answer := range []Answer{
		{Status: 201, Location: "/x", Data: map[string]any{"id": 7}}, {Status: 204},
		{Err: fault.Field(fault.Invalid, "name", "must not be empty", "a")}, {Err: fault.New(fault.NotFound, "No such node")},
	} {
		encoded, err := answer.Encode()
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Add([]byte(`{"kind":"nonsense","details":{"a":[1,{}]}}`))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		answer, err := decode(encoded)
		if err != nil {
			return
		}
		again, err := answer.Encode()
		require.NoError(t, err)
		_, err = decode(again)
		require.NoError(t, err)
	})
}
