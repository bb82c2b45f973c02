package block

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTheTableFindsWhatWasInserted compares the table with a map, over several requests of different sizes. Many hashes
// share slots, or the part that slots contain.
func TestTheTableFindsWhatWasInserted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x table
		for range rapid.IntRange(1, 5).Draw(t, "requests") {
			size := rapid.SampledFrom([]int{0, 1, 5, 40, 3000}).Draw(t, "size")
			mask := rapid.SampledFrom([]uint64{1<<64 - 1, 0xff, 0xff << 32, 0xff << 56}).Draw(t, "mask")
			state := rapid.Uint64().Draw(t, "seed")
			var list []uint64
			known := map[uint64]int32{}
			hashOf := func(i int32) uint64 { return list[i] }
			find := func(hash uint64) int32 { return x.find(hash, func(i int32) bool { return list[i] == hash }) }
			for range size {
				state = state*6364136223846793005 + 1442695040888963407
				hash := (state ^ state>>31) & mask
				if i, ok := known[hash]; ok {
					require.Equal(t, i, find(hash))
					continue
				}
				require.EqualValues(t, -1, find(hash))
				x.reserve(hashOf)
				known[hash] = int32(len(list))
				list = append(list, hash)
				x.insert(hash, known[hash])
			}
			for hash, i := range known {
				require.Equal(t, i, find(hash))
			}
			x.reset()
			for _, slot := range x.slots {
				require.Zero(t, slot)
			}
		}
	})
}
