package lru_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/platform/lru"
)

func TestAMapIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	var m lru.Map[int, int64]
	for i := range 10_000 {
		m.Put(i, int64(i), 1, 100)
		_, kept := m.Get(0)
		require.True(t, kept, "used all the time, at %d", i)
		require.LessOrEqual(t, m.Len(), 200)
	}
	_, kept := m.Get(1)
	require.False(t, kept)
	value, kept := m.Get(9_999)
	require.True(t, kept)
	require.EqualValues(t, 9_999, value)
}

// Whatever is put and asked for: what is found is what was put last, what was used last is
// found, and all that is remembered is at most twice as large as told.
func TestAMapRemembersWhatWasPut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 20
		var m lru.Map[int, int]
		values, sizes := map[int]int{}, map[int]int{}
		for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
			key, size := rapid.IntRange(0, 30).Draw(t, "key"), rapid.IntRange(0, most+2).Draw(t, "size")
			_, had := m.Get(key)
			if rapid.Bool().Draw(t, "put") && size <= most {
				m.Put(key, step, size, most)
				values[key], sizes[key], had = step, size, true
			} else if size > most {
				m.Put(key, step, size, most) // changes nothing
			}
			value, found := m.Get(key)
			require.Equal(t, had, found)
			if found {
				require.Equal(t, values[key], value)
			}
			total, remembered := 0, 0
			for key := range values {
				if lru.Remembers(&m, key) {
					total, remembered = total+sizes[key], remembered+1
				}
			}
			require.LessOrEqual(t, total, 2*most)
			require.Equal(t, remembered, m.Len())
		}
	})
}
