package graphstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestTheOldestUnpublishedChangeIsThatOfAnyWorkspace(t *testing.T) {
	w := newGraphFixture(t)
	age := func() time.Duration {
		age, err := w.db.OldestUnpublished(t.Context())
		require.NoError(t, err)
		return age
	}
	require.Zero(t, age(), "there is nothing to publish")
	one, other := w.workspace(t), w.workspace(t)
	w.group(t, one, newGroupNodes(20), false)
	w.group(t, other, newGroupNodes(20), false)
	require.NoError(t, w.db.Exec(
		t.Context(), `UPDATE journal SET at = now() - interval '1 hour' WHERE workspace_id = $1 AND sequence = 5`, one,
	))
	require.Less(t, age(), 30*time.Minute, "it is not the next of its workspace")
	require.NoError(t, w.db.Published(t.Context(), map[uuid.UUID]int64{one: 4}))
	require.InDelta(t, time.Hour.Seconds(), age().Seconds(), 600)
	require.NoError(t, w.db.Published(t.Context(), map[uuid.UUID]int64{one: 5}))
	require.Less(t, age(), 30*time.Minute)
	require.NoError(t, w.db.Published(t.Context(), map[uuid.UUID]int64{one: 20}))
	require.NoError(t, w.db.Published(t.Context(), map[uuid.UUID]int64{other: 20}))
	require.Zero(t, age())
}
