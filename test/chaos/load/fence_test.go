package load

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFenceThatGoesBackIsSeen(t *testing.T) {
	first, second := place{table: "command_offsets"}, place{table: "command_offsets", partition: 1}
	seen := marks{}
	require.Empty(t, seen.follow(marks{first: 5}))
	require.Empty(t, seen.follow(marks{first: 7, second: 1}))
	require.Empty(t, seen.follow(marks{second: 1}), "what is not there any more is not behind")
	requireFound(t, seen.follow(marks{first: 6, second: 1}), 9, "taken back")
	require.Empty(t, seen.follow(marks{first: 6, second: 2}), "it is said once")
	require.Empty(t, seen.follow(marks{{topic: [16]byte{1}, table: "command_offsets"}: 0}), "another topic begins anew")
}
