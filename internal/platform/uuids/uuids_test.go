package uuids_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/uuids"
)

func TestUUIDsAreOrderedByTheirBytes(t *testing.T) {
	low, middle, high := uuid.UUID{15: 1}, uuid.UUID{0: 0x7f, 15: 9}, uuid.UUID{0: 0x80}
	list := []uuid.UUID{high, low, middle, low}
	uuids.Sort(list)
	require.Equal(t, []uuid.UUID{low, low, middle, high}, list)
	require.Equal(t, []uuid.UUID{low, middle, high}, uuids.Distinct([]uuid.UUID{high, middle, low, high}))
	require.Empty(t, uuids.Distinct(nil))
	require.Zero(t, uuids.Compare(low, low))
}
