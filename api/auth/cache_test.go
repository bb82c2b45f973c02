package auth

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCacheIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	c := cache{limit: 100}
	hash := func(i int) (h [32]byte) {
		binary.LittleEndian.PutUint64(h[:], uint64(i))
		return h
	}
	for i := range 10_000 {
		c.put(hash(i), entry{revision: int64(i)})
		_, kept := c.get(hash(0))
		require.True(t, kept, "used all the time, at %d", i)
		require.LessOrEqual(t, c.len(), 200)
	}
	_, kept := c.get(hash(1))
	require.False(t, kept)
	e, kept := c.get(hash(9_999))
	require.True(t, kept)
	require.EqualValues(t, 9_999, e.revision)
}
