package redis_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/redis"
)

func TestTheNumberOfActorsWithStoredStacksIsLimited(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) {
		db := e.open(t)
		workspace := uuid.New()
		var actors []uuid.UUID
		for head := range int64(3) {
			update := redis.StackUpdate{Workspace: workspace, Base: head, Head: head + 1, Actors: map[uuid.UUID][]byte{}}
			for range 1000 {
				actor := uuid.New()
				actors = append(actors, actor)
				update.Actors[actor] = []byte("stack")
			}
			require.NoError(t, db.SaveStacks(t.Context(), []redis.StackUpdate{update}))
		}
		kept, err := db.LoadStacks(t.Context(), map[uuid.UUID][]uuid.UUID{workspace: actors})
		require.NoError(t, err)
		require.EqualValues(t, 3, kept[workspace].Head)
		require.Len(t, kept[workspace].Actors, 1000)
		require.Contains(t, kept[workspace].Actors, actors[len(actors)-1])
		require.NotContains(t, kept[workspace].Actors, actors[0])
	})
}
