package redis_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/redis"
)

func TestAllKeysOfAWorkspaceAreErasedAndNoOther(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) {
		db := e.open(t)
		require.NoError(t, db.RequireEmpty(t.Context()))
		workspace, other := uuid.New(), uuid.New()
		saveStacks(t, db, workspace, other)
		countOne(t, db, workspace)
		countOne(t, db, other)
		// Keys of new kinds, in slots of all servers.
		for _, kind := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
			key := "livegraph:" + kind + ":" + workspace.String()
			require.NoError(t, e.raw.Set(t.Context(), key, "1", 0).Err())
		}
		require.True(t, fault.Is(db.RequireEmpty(t.Context()), fault.Conflict))
		rows, err := db.WorkspaceRows(t.Context(), workspace)
		require.NoError(t, err)
		require.EqualValues(t, 14, rows)

		var removed int64
		require.NoError(t, db.EraseWorkspace(t.Context(), workspace, func(keys int64) error {
			removed += keys
			return nil
		}))
		require.EqualValues(t, 14, removed)
		rows, err = db.WorkspaceRows(t.Context(), workspace)
		require.NoError(t, err)
		require.Zero(t, rows)
		rows, err = db.WorkspaceRows(t.Context(), other)
		require.NoError(t, err)
		require.EqualValues(t, 2, rows)
	})
}

// saveStacks stores the stacks of workspaces in one round trip and reads them.
func saveStacks(t *testing.T, db *redis.DB, workspaces ...uuid.UUID) {
	t.Helper()
	var updates []redis.StackUpdate
	actors := map[uuid.UUID][]uuid.UUID{}
	for _, workspace := range workspaces {
		actor := uuid.New()
		actors[workspace] = []uuid.UUID{actor}
		updates = append(updates, redis.StackUpdate{
			Workspace: workspace, Head: 7, Actors: map[uuid.UUID][]byte{actor: []byte("stack")},
		})
	}
	require.NoError(t, db.SaveStacks(t.Context(), updates))
	stored, err := db.LoadStacks(t.Context(), actors)
	require.NoError(t, err)
	require.Len(t, stored, len(workspaces))
	for workspace, s := range stored {
		require.EqualValues(t, 7, s.Head)
		require.Equal(t, "stack", string(s.Actors[actors[workspace][0]]))
	}
}

func countOne(t *testing.T, db *redis.DB, workspace uuid.UUID) {
	t.Helper()
	result, err := db.CountRequest(t.Context(), &redis.RequestQuery{
		Workspace: workspace, Requests: 1, Limits: [2]int64{5, 5}, Lengths: minuteAndDay,
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, result.Taken)
}

// Stacks and counts of many workspaces are in slots of all servers.
func TestCallsForManyWorkspacesReachAllServers(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) {
		db := e.open(t)
		workspaces := make([]uuid.UUID, 100)
		asks := make([]redis.RequestQuery, len(workspaces))
		servers := map[string]bool{}
		for i := range workspaces {
			workspaces[i] = uuid.New()
			asks[i] = redis.RequestQuery{
				Workspace: workspaces[i], Requests: int64(i), Limits: [2]int64{50, 1000}, Lengths: minuteAndDay,
			}
			servers[db.Server(t.Context(), workspaces[i])] = true
		}
		saveStacks(t, db, workspaces...)
		answers, err := db.CountRequests(t.Context(), asks)
		require.NoError(t, err)
		for i := range answers {
			require.EqualValues(t, min(i, 50), answers[i].Taken)
		}
		primaries, err := db.Primaries(t.Context())
		require.NoError(t, err)
		require.Len(t, servers, len(primaries))
	})
}
