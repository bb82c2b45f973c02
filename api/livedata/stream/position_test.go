package stream

import (
	"testing"

	"github.com/google/uuid"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/api/token"
)

// FuzzPosition: the id of an event that nobody gave out is refused, and one of any
// content that is sealed breaks nothing; what is read is what was written.
func FuzzPosition(f *testing.F) {
	s := &token.Sealer{Key: [32]byte{1}}
	of := token.ScopeOf("stream", uuid.Nil, "x")
	whole := encodePosition(s, of, tail.Position{
		Topic: [16]byte{7}, Partitions: 4, SinceUS: 5, Next: map[int32]int64{0: 1, 3: 1 << 62},
	})
	payload, ok := s.Open(token.ForStream, whole)
	require.True(f, ok)
	f.Add("", []byte{})
	f.Add("AQ", payload)
	f.Add(whole[1:], payload[:len(payload)-1])
	f.Fuzz(func(t *testing.T, text string, payload []byte) {
		if text != whole {
			_, problem := decodePosition(s, text, of)
			require.NotEmpty(t, problem)
		}
		at, problem := decodePosition(s, s.Seal(token.ForStream, payload), of)
		if problem != "" {
			return
		}
		again, problem := decodePosition(s, encodePosition(s, of, at), of)
		require.Empty(t, problem)
		require.Equal(t, at, again)
	})
}
