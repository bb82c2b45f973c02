package pointblock_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

func TestACachedSeriesResultsInTheSameRecord(t *testing.T) {
	id := pointblock.Identity{
		Workspace: uuid.New(), Source: uuid.New(), Metric: "up",
		Tags: []pointblock.Tag{{Key: "a", Value: "é"}, {Key: "b", Value: ""}}, Kind: pointblock.KindNumber,
	}
	ref := pointblock.SeriesRef{ID: 7, Fingerprint: id.Fingerprint(&[16]byte{1})}
	series := string(pointblock.AppendSeriesHeader(nil, ref, &id))
	var one, other pointblock.Encoder
	for range 2 {
		one.Reset(id.Workspace, 5)
		other.Reset(id.Workspace, 5)
		require.NoError(t, one.AppendNumbers(ref, &id, []int64{3, 1, 3}, []float64{1, 2, 3}))
		require.NoError(t, other.AppendNumbersWithHeader(series, []int64{3, 1, 3}, []float64{1, 2, 3}))
		require.Equal(t, one.AppendMessages(nil, 4), other.AppendMessages(nil, 4))
	}
	require.Equal(t, ref, pointblock.HeaderRef(series))
	require.Equal(t, id.Source, pointblock.HeaderSource(series))
	require.ErrorIs(
		t, other.AppendNumbersWithHeader(series, []int64{-1}, []float64{1}), pointblock.ErrTimestamp,
	)
}
