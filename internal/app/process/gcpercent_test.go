package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyASmallHeapGrowsFurtherBeforeItIsCollected(t *testing.T) {
	require.Equal(t, smallPercent, collectorPercent(grownPercent, smallHeap-1))
	require.Equal(t, grownPercent, collectorPercent(smallPercent, grownHeap+1))
	for _, now := range []int{smallPercent, grownPercent} {
		require.Equal(t, now, collectorPercent(now, smallHeap), "no going to and fro")
	}
}
