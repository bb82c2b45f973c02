package wording_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/wording"
)

func TestOneOfAThingIsNotSeveral(t *testing.T) {
	require.Equal(t, "0 points", wording.Count(0, "point"))
	require.Equal(t, "1 point", wording.Count(int64(1), "point"))
	require.Equal(t, "2 points", wording.Count(2, "point"))
	require.Equal(t, "-1 points", wording.Count(-1, "point"))
	require.Equal(t, "1 series", wording.CountOf(int32(1), "series", "series"))
	require.Equal(t, "18446744073709551615 entries", wording.CountOf(uint64(math.MaxUint64), "entry", "entries"))
}
