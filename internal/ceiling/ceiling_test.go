package ceiling_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/ceiling"
)

// TestCeilingsAreTheHighestOfTheirIntervals compares the steps with the intervals, and requires the
// minimum number of steps.
func TestCeilingsAreTheHighestOfTheirIntervals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list []ceiling.Interval
		for range rapid.IntRange(0, 12).Draw(rt, "intervals") {
			i := ceiling.Interval{
				From: ceiling.Always, To: ceiling.Forever, Ceiling: rapid.Uint64Range(1, 6).Draw(rt, "ceiling"),
			}
			if rapid.Bool().Draw(rt, "from?") {
				i.From = rapid.Int64Range(0, 20).Draw(rt, "from")
			}
			if rapid.Bool().Draw(rt, "to?") {
				i.To = rapid.Int64Range(0, 20).Draw(rt, "to")
			}
			list = append(list, i)
		}
		c := ceiling.New(list)
		highest := func(ts int64) (highest uint64) {
			for _, i := range list {
				if ts >= i.From && ts < i.To {
					highest = max(highest, i.Ceiling)
				}
			}
			return highest
		}
		for ts := int64(-2); ts < 23; ts++ {
			require.Equal(rt, highest(ts), c.At(ts), "at %d", ts)
		}
		for i := 1; i < len(c); i++ {
			require.Less(rt, c[i-1].From, c[i].From)
			require.NotEqual(rt, c[i-1].Ceiling, c[i].Ceiling)
		}
		first := rapid.Int64Range(-2, 22).Draw(rt, "first")
		last := rapid.Int64Range(first, 23).Draw(rt, "last")
		version := rapid.Uint64Range(1, 7).Draw(rt, "version")
		wantAll, wantSome := true, false
		for ts := first; ts <= last; ts++ {
			covered := highest(ts) >= version
			wantAll, wantSome = wantAll && covered, wantSome || covered
		}
		all, some := c.Cover(first, last, version)
		require.Equal(rt, wantAll, all)
		require.Equal(rt, wantSome, some)
	})
}

func TestCeilingsOfManyIntervalsAreFewSteps(t *testing.T) {
	list := make([]ceiling.Interval, 0, 100_000)
	for i := range int64(100_000) {
		list = append(list, ceiling.Interval{From: i, To: i + 1, Ceiling: 7})
	}
	require.Len(t, ceiling.New(list), 2, "adjacent intervals are one step")
}
