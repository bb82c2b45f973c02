package points_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// createWorkspace creates another workspace.
func (w *fixture) createWorkspace() uuid.UUID {
	w.tb.Helper()
	created, err := w.registry.CreateWorkspace(w.tb.Context(), access.Workspace{Name: "tenant", Plan: "pro", Mode: "live"})
	require.NoError(w.tb, err)
	w.workspace = created.ID
	return created.ID
}

func TestNothingOfADeletedWorkspaceIsEverStoredAgain(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		gone := w.createWorkspace()
		a, b := w.numberSeries(uuid.New(), "m"), w.numberSeries(uuid.New(), "m")
		w.produce(w.numberMessages(a, times(0, 1), []float64{0, 1}), w.numberMessages(b, times(0), []float64{0}))
		stays := w.createWorkspace()
		w.produce(w.numberMessages(a, times(0, 1), []float64{5, 6})) // the same source of another workspace
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
		w.produce(w.numberMessages(a, times(2), []float64{2})) // by a process that does not know yet
		w.waitSettled()
		w.workspace = stays
		require.Equal(t, "0=5 1=6", w.values(a))
		require.NotContains(t, w.dump(), gone.String())
		before := w.dump()
		c.stop(t)
		w.rewind()
		c = w.consume()
		w.waitSettled()
		require.Equal(t, before, w.dump(), "reading all of it again brings nothing back")
		require.Zero(t, c.Metrics().DeadLetters.Load())
	})
}

func TestWhatIsStoredWhileItsWorkspaceIsDeletedIsDeletedAgain(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	gone := w.createWorkspace()
	s := w.numberSeries(uuid.New(), "m")
	w.consume()
	w.produce(w.numberMessages(s, times(0), []float64{0}))
	w.waitSettled()
	require.NoError(t, w.registry.DeleteWorkspace(t.Context(), gone, "req_test"))
	require.NoError(t, w.points.EraseWorkspace(t.Context(), gone, func(int64) error { return nil }))
	require.Empty(t, w.values(s))
	w.produce(w.numberMessages(s, times(1), []float64{1}))
	w.waitSettled()
	require.Empty(t, w.values(s))
	require.NoError(t, w.points.ForgetWorkspace(t.Context(), gone))
	require.Empty(t, strings.TrimSpace(w.dump()))
}

func TestARecordFromBeforeTheTombstonesThatAreKnownIsADeadLetter(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	s := w.numberSeries(uuid.New(), "m")
	c := w.consume()
	w.produce(w.numberMessages(s, times(0), []float64{0}))
	w.waitSettled()
	_, err := w.registry.Installation(t.Context())
	require.NoError(t, err)
	_, err = w.registry.PruneTombstones(t.Context(), time.UnixMicro(t0+1))
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the consumer learns of it with its next batch
		w.produce(w.numberMessages(s, times(1), []float64{1}))
		w.waitSettled()
		return c.Metrics().DeadLetters.Load() > 0
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, "0=0", strings.Split(w.values(s), " 1=")[0])

	_, err = w.registry.PruneTombstones(t.Context(), time.UnixMicro(t0-1))
	require.NoError(t, err, "the horizon only ever rises")
	state, err := w.registry.ConsumerState(t.Context(), "points", 0)
	require.NoError(t, err)
	require.Equal(t, t0+1, state.Horizon.UnixMicro())
}
