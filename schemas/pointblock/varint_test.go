package pointblock

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestVarintsOfEveryLengthAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Uint64Range(0, math.MaxUint64>>rapid.IntRange(0, 63).Draw(t, "shift")).Draw(t, "value")
		b := binary.AppendUvarint(nil, want)
		length := len(b)
		b = append(b, make([]byte, rapid.IntRange(0, 10).Draw(t, "more"))...)
		got, n := readVarint(b)
		require.Equal(t, want, got)
		require.Equal(t, length, n)
	})
	for _, b := range [][]byte{nil, {0x80}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}} {
		_, n := readVarint(b)
		require.Zero(t, n)
	}
}
