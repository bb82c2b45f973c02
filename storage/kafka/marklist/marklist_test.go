package marklist_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/kafka/marklist"
)

func TestALimitedListKeepsTheOldestMarkAndTheOrder(t *testing.T) {
	var list []int
	for i := range 100_000 {
		var thinned bool
		before := len(list)
		list, thinned = marklist.Limit(append(list, i))
		require.Equal(t, before == marklist.Max, thinned)
		require.LessOrEqual(t, len(list), marklist.Max)
		require.Zero(t, list[0])
		require.Equal(t, i, list[len(list)-1], "a list of an odd number of marks keeps the newest, too")
	}
	require.Greater(t, len(list), marklist.Max/2-1)
	require.IsIncreasing(t, list)
}
