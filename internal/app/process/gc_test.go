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

func TestTheMemoryLimitLeavesRoomAboveTheHeap(t *testing.T) {
	require.EqualValues(t, minMemoryLimit, memoryLimit(0))
	require.EqualValues(t, minMemoryLimit, memoryLimit(300<<20))
	require.EqualValues(t, 768<<20, memoryLimit(500<<20))
	require.EqualValues(t, 768<<20, memoryLimit(510<<20), "it changes in steps")
}
