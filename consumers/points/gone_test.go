package points_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/testenv"
)

// newTenant creates another workspace for the world, one that is registered.
func (w *world) newTenant() uuid.UUID {
	w.tb.Helper()
	made, err := w.registry.CreateWorkspace(w.tb.Context(), access.Workspace{Name: "tenant", Plan: "pro", Mode: "live"})
	require.NoError(w.tb, err)
	w.workspace = made.ID
	return made.ID
}

func TestNothingOfADeletedWorkspaceIsEverStoredAgain(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		gone := w.newTenant()
		a, b := w.number(uuid.New(), "m"), w.number(uuid.New(), "m")
		w.produce(w.write(a, at(0, 1), []float64{0, 1}), w.write(b, at(0), []float64{0}))
		stays := w.newTenant()
		w.produce(w.write(a, at(0, 1), []float64{5, 6})) // the same source of another workspace
		kept := w.values(a)
		require.Empty(t, kept, "nothing is consumed yet")
		require.NoError(t, w.registry.DeleteWorkspace(t.Context(), gone, "req_test"))
		w.workspace = gone
		for p := range int32(partitions) {
			w.produce([]pointblock.Message{
				{Partition: p, Key: gone[:], Value: pointblock.EncodeDeletions(gone, t0, []pointblock.Deletion{
					{WholeWorkspace: true},
				})},
			})
		}
		c := w.consume()
		w.produce(w.write(a, at(2), []float64{2})) // by a process that does not know yet
		w.settled()
		w.workspace = stays
		require.Equal(t, "0=5 1=6", w.values(a))
		require.NotContains(t, w.dump(), gone.String())
		before := w.dump()
		c.stop(t)
		w.rewind()
		c = w.consume()
		w.settled()
		require.Equal(t, before, w.dump(), "reading all of it again brings nothing back")
		require.Zero(t, c.Metrics().DeadLetters.Load())
	})
}

func TestWhatIsStoredWhileItsWorkspaceIsDeletedIsDeletedAgain(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	gone := w.newTenant()
	s := w.number(uuid.New(), "m")
	w.consume()
	w.produce(w.write(s, at(0), []float64{0}))
	w.settled()
	require.NoError(t, w.registry.DeleteWorkspace(t.Context(), gone, "req_test"))
	require.NoError(t, w.points.EraseWorkspace(t.Context(), gone, func(int64) error { return nil }))
	require.Empty(t, w.values(s))
	w.produce(w.write(s, at(1), []float64{1}))
	w.settled()
	require.Empty(t, w.values(s))
	require.NoError(t, w.points.ForgetWorkspace(t.Context(), gone))
	require.Empty(t, strings.TrimSpace(w.dump()))
}

func TestARecordFromBeforeTheTombstonesThatAreKnownIsADeadLetter(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	s := w.number(uuid.New(), "m")
	c := w.consume()
	w.produce(w.write(s, at(0), []float64{0}))
	w.settled()
	_, err := w.registry.Installation(t.Context())
	require.NoError(t, err)
	_, err = w.registry.PruneTombstones(t.Context(), time.UnixMicro(t0+1))
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the consumer learns of it with its next batch
		w.produce(w.write(s, at(1), []float64{1}))
		w.settled()
		return c.Metrics().DeadLetters.Load() > 0
	}, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, "0=0", strings.Split(w.values(s), " 1=")[0])

	_, err = w.registry.PruneTombstones(t.Context(), time.UnixMicro(t0-1))
	require.NoError(t, err, "the horizon only ever rises")
	state, err := w.registry.ConsumerState(t.Context(), "points", 0)
	require.NoError(t, err)
	require.Equal(t, t0+1, state.Horizon.UnixMicro())
}
