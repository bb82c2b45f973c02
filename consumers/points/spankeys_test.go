package points

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSpansAreSortedBySeries compares sortKeys with a stable sort, below and above minRadix, with
// series ids that share digits and with repeated ones.
func TestSpansAreSortedBySeries(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mask := rapid.SampledFrom([]uint64{1<<64 - 1, 0xff, 0xff00ff << 16, 0xf << 60, 0}).Draw(rt, "mask")
		state := rapid.Uint64().Draw(rt, "seed")
		keys := make([]spanKey, rapid.IntRange(0, 3*minRadix).Draw(rt, "keys"))
		for i := range keys {
			state = state*6364136223846793005 + 1442695040888963407
			keys[i] = spanKey{series: (state ^ state>>29) & mask, span: int32(i)}
		}
		want := slices.Clone(keys)
		slices.SortStableFunc(want, func(x, y spanKey) int { return cmp.Compare(x.series, y.series) })
		spare := make([]spanKey, rapid.IntRange(0, 10).Draw(rt, "spare"))
		got, free := sortKeys(keys, spare)
		require.Equal(rt, want, got)
		again, _ := sortKeys(got, free)
		require.Equal(rt, want, again, "sorted keys stay")
	})
}
