package consumers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatWasReplacedIsKnownUntilItIsRecorded(t *testing.T) {
	var r Replaced
	require.Empty(t, r.Offsets())
	r.Remove(nil)
	r.Add(1, 10)
	r.Add(2, 20)
	r.Add(3, -1) // the offset is unknown
	known := r.Offsets()
	require.Equal(t, map[int32]int64{1: 10, 2: 20}, known)

	r.Add(0, 0)
	r.Add(2, 15) // while the known ones are recorded
	r.Remove(known)
	require.Equal(t, map[int32]int64{0: 0, 2: 15}, r.Offsets())
}
