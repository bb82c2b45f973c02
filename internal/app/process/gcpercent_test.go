package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyASmallHeapGrowsFurtherBeforeItIsCollected(t *testing.T) {
	require.Equal(t, smallPercent, nextGCPercent(largePercent, smallHeap-1))
	require.Equal(t, largePercent, nextGCPercent(smallPercent, largeHeap+1))
	for _, current := range []int{smallPercent, largePercent} {
		require.Equal(t, current, nextGCPercent(current, smallHeap), "it does not oscillate")
	}
}
