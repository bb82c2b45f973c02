package graphstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres"
)

// TestAFenceIsSetBackOnlyByAConfirmedState observes an end below the fence, as a broker that was separated from
// the others reports it.
func TestAFenceIsSetBackOnlyByAConfirmedState(t *testing.T) {
	w := newGraphFixture(t)
	for range 3 {
		w.commit(t, w.begin(t, 0))
	}
	state := func(end int64) postgres.LogState {
		return postgres.LogState{TopicID: graphTopic, Partitions: []postgres.LogPartition{{End: end, ReplacedFrom: -1}}}
	}
	resolve := func(end, confirmed int64, confirmation error) (int64, error) {
		next, _, err := w.db.ResolveCommandOffsets(t.Context(), func(context.Context) (postgres.LogState, error) {
			seen := state(end)
			seen.Confirm = func(context.Context) (postgres.LogState, error) { return state(confirmed), confirmation }
			return seen, nil
		})
		return next[0], err
	}
	missing := errors.New("a broker does not respond")
	next, err := resolve(3, 0, missing)
	require.NoError(t, err)
	require.EqualValues(t, 3, next)
	_, err = resolve(1, 0, missing)
	require.ErrorIs(t, err, missing)
	next, err = resolve(1, 5, nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, next, "the leader has the records")
	next, err = resolve(1, 2, nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, next, "the log has lost its end")
}
