package load

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFenceThatGoesBackIsSeen(t *testing.T) {
	first, second := fenceKey{table: "command_offsets"}, fenceKey{table: "command_offsets", partition: 1}
	seen := fenceOffsets{}
	require.Empty(t, seen.follow(fenceOffsets{first: 5}))
	require.Empty(t, seen.follow(fenceOffsets{first: 7, second: 1}))
	require.Empty(t, seen.follow(fenceOffsets{second: 1}), "a removed partition has not decreased")
	requireFound(t, seen.follow(fenceOffsets{first: 6, second: 1}), 9, "taken back")
	require.Empty(t, seen.follow(fenceOffsets{first: 6, second: 2}), "it is reported once")
	require.Empty(t, seen.follow(fenceOffsets{{topic: [16]byte{1}, table: "command_offsets"}: 0}), "new topics start at 0")
}
