package stream

import (
	"testing"

	"github.com/google/uuid"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/api/token"
)

// FuzzPosition: an id that was not issued is refused, any sealed content is decoded or
// refused, and a decoded position survives encoding.
func FuzzPosition(f *testing.F) {
	s := &token.Sealer{Key: [32]byte{1}}
	scope := token.ScopeOf("stream", uuid.Nil, "x")
	valid := encodePosition(s, scope, tail.Position{
		Topic: [16]byte{7}, Partitions: 4, SinceUS: 5, Next: map[int32]int64{0: 1, 3: 1 << 62},
	})
	payload, ok := s.Open(token.ForStream, valid)
	require.True(f, ok)
	f.Add("", []byte{})
	f.Add("AQ", payload)
	f.Add(valid[1:], payload[:len(payload)-1])
	f.Fuzz(func(t *testing.T, text string, payload []byte) {
		if text != valid {
			_, problem := decodePosition(s, text, scope)
			require.NotEmpty(t, problem)
		}
		decoded, problem := decodePosition(s, s.Seal(token.ForStream, payload), scope)
		if problem != "" {
			return
		}
		again, problem := decodePosition(s, encodePosition(s, scope, decoded), scope)
		require.Empty(t, problem)
		require.Equal(t, decoded, again)
	})
}
