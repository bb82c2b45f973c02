package plural_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/plural"
)

func TestOneOfAThingIsNotSeveral(t *testing.T) {
	require.Equal(t, "0 points", plural.Count(0, "point"))
	require.Equal(t, "1 point", plural.Count(int64(1), "point"))
	require.Equal(t, "2 points", plural.Count(2, "point"))
	require.Equal(t, "-1 points", plural.Count(-1, "point"))
	require.Equal(t, "1 series", plural.CountOf(int32(1), "series", "series"))
	require.Equal(t, "18446744073709551615 entries", plural.CountOf(uint64(math.MaxUint64), "entry", "entries"))
}
