package points_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/replay"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// cancelAfterRows cancels a replay when it has stored more than the given number of rows.
func (w *fixture) cancelAfterRows(t *testing.T, id uuid.UUID, rows int64) {
	t.Helper()
	w.waitReplayUntil(id, func(job pipelineadmin.Replay) bool { return job.Rows > rows })
	_, err := w.admin().CancelReplay(t.Context(), id)
	require.NoError(t, err)
	job := w.waitReplay(id)
	require.Equal(t, jobs.ReplayCancelled, job.State)
	require.Less(t, job.RecordsDone, job.Records)
	require.Equal(t, 2, job.Runs)
	_, err = w.admin().CancelReplay(t.Context(), id)
	require.NoError(t, err, "it is what was asked for")
}

func TestAQueuedReplayIsCancelledAtOnce(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	w.produce(w.numberMessages(w.numberSeries(uuid.New(), "m"), times(0), []float64{0}))
	job := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true})
	job, err := w.admin().CancelReplay(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, jobs.ReplayCancelled, job.State)
	_, ok, err := w.registry.ClaimReplay(t.Context(), []string{"points"}, uuid.New(), time.Minute)
	require.NoError(t, err)
	require.False(t, ok, "a cancelled replay is not claimed")
}

func TestAReplayWhoseRunDiedIsCancelledByTheNext(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	w.produce(w.numberMessages(w.numberSeries(uuid.New(), "m"), times(0), []float64{0}))
	job := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true})
	_, ok, err := w.registry.ClaimReplay(t.Context(), []string{"points"}, uuid.New(), 2*time.Second)
	require.NoError(t, err)
	require.True(t, ok)
	job, err = w.admin().CancelReplay(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, jobs.ReplayRunning, job.State, "its claim has not expired")
	w.runReplays()
	require.Equal(t, jobs.ReplayCancelled, w.waitReplay(job.ID).State)
	require.Empty(t, w.query("SELECT series FROM points"))
}

func TestARunThatHasLostItsClaimNotesNothing(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	w.produce(w.numberMessages(w.numberSeries(uuid.New(), "m"), times(0), []float64{0}))
	w.startReplay(pipelineadmin.ReplayRequest{FromStart: true})
	first, second := uuid.New(), uuid.New()
	job, ok, err := w.registry.ClaimReplay(t.Context(), []string{"points"}, first, time.Millisecond)
	require.NoError(t, err)
	require.True(t, ok)
	var other jobs.Replay
	require.Eventually(t, func() bool {
		other, ok, err = w.registry.ClaimReplay(t.Context(), []string{"points"}, second, time.Minute)
		return err == nil && ok
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, job.ID, other.ID)
	require.ErrorIs(
		t, w.registry.AdvanceReplay(t.Context(), job.ID, first, jobs.ReplayProgress{Rows: 5}), jobs.ErrReplayTaken,
	)
	require.ErrorIs(
		t, w.registry.FinishReplay(t.Context(), job.ID, first, jobs.ReplayProgress{}, jobs.ReplayDone, ""),
		jobs.ErrReplayTaken,
	)
	_, err = w.registry.RenewReplay(t.Context(), job.ID, first, time.Minute)
	require.ErrorIs(t, err, jobs.ErrReplayTaken)
	now, err := w.registry.Replay(t.Context(), job.ID)
	require.NoError(t, err)
	require.Zero(t, now.Rows)
	require.Equal(t, 2, now.Runs)
}

func TestACancelledReplayLeavesNoRowsThatWereDeletedMeanwhile(t *testing.T) {
	server := testenv.StoppableClickHouse(t)
	w := newFixtureOn(t, kafkatest.NewKFake(t), server.Address(), pgtest.Migrated(t))
	w.consume()
	s := w.numberSeries(uuid.New(), "m")
	for i := range int64(8) { // more than are prefetched
		w.produce(w.numberMessages(s, times(i), []float64{float64(i)}))
	}
	w.waitSettled()
	var logs testenv.Output
	w.runReplays(func(d *replay.Deps) {
		d.Config.Grace, d.Config.BatchRows = 100*time.Millisecond, 1
		d.Logger = slog.New(slog.NewTextHandler(&logs, nil))
	})
	slow := int64(2)
	job := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true, MaxRows: &slow})
	w.waitReplayUntil(job.ID, func(job pipelineadmin.Replay) bool { return job.Rows > 0 })
	require.NoError(t, server.Stop(context.Background()))
	require.Eventually(t, func() bool {
		return strings.Contains(logs.String(), "storing a batch failed")
	}, time.Minute, 10*time.Millisecond)
	w.produce(w.deletionMessages(pointblock.Deletion{Source: s.source, Metric: "m", HasMetric: true}))
	require.Eventually(t, func() bool { return w.tombstones() > 0 }, time.Minute, 10*time.Millisecond)
	_, err := w.admin().CancelReplay(t.Context(), job.ID)
	require.NoError(t, err)
	time.Sleep(2 * time.Second) // the run has noticed it, and Grace is over
	job, err = w.admin().Replay(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, jobs.ReplayRunning, job.State, "it still has rows to store, or to find deleted")
	require.NoError(t, server.Start(context.Background()))
	job = w.waitReplay(job.ID)
	require.Equal(t, jobs.ReplayCancelled, job.State)
	require.Less(t, job.RecordsDone, job.Records)
	w.waitSettled()
	require.Empty(t, w.values(s))
}

// tombstones returns the number of sources with tombstones.
func (w *fixture) tombstones() int {
	w.tb.Helper()
	state, err := w.registry.ConsumerState(context.Background(), w.topic, 1)
	require.NoError(w.tb, err)
	return len(state.ChangedSources)
}

func TestTheNextRunOfAReplayDeletesWhatADeadOneLeft(t *testing.T) {
	for name, cancelled := range map[string]bool{"it continues": false, "it was cancelled": true} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, kafkatest.NewKFake(t))
			w.consume()
			s := w.numberSeries(uuid.New(), "m")
			w.produce(w.numberMessages(s, times(0, 1), []float64{0, 1}))
			w.waitSettled()
			job := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true})
			_, ok, err := w.registry.ClaimReplay(t.Context(), []string{"points"}, uuid.New(), time.Second)
			require.NoError(t, err)
			require.True(t, ok)
			w.produce(w.deletionMessages(pointblock.Deletion{Source: s.source, Metric: "m", HasMetric: true}))
			w.waitSettled()
			// The run inserts the rows that it had prepared, and is killed.
			require.NoError(t, w.points.InsertPoints(t.Context(), &clickhouse.PointColumns{
				Series: native.RunsOf(s.ref(w).ID), TS: times(0), Values: []float64{0}, Versions: native.RunsOf(1),
			}))
			require.Equal(t, "0=0", w.values(s))
			want := jobs.ReplayDone
			if cancelled {
				want = jobs.ReplayCancelled
				_, err = w.admin().CancelReplay(t.Context(), job.ID)
				require.NoError(t, err)
			}
			w.runReplays()
			require.Equal(t, want, w.waitReplay(job.ID).State)
			shown, latest := w.queryPoints(s)
			require.Empty(t, shown+latest)
			w.waitExecuted()
			require.Empty(t, w.values(s))
		})
	}
}

func TestTheNextRunOfAReplayForgetsNoSeriesOfAYoungDeletion(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	w.consume()
	s := w.numberSeries(uuid.New(), "m")
	w.produce(w.numberMessages(s, times(0), []float64{0}))
	w.waitSettled()
	job := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true})
	_, ok, err := w.registry.ClaimReplay(t.Context(), []string{"points"}, uuid.New(), time.Second)
	require.NoError(t, err)
	require.True(t, ok)
	w.produce(w.deletionMessages(pointblock.Deletion{Source: s.source, WholeSource: true}))
	w.waitSettled()
	series := w.query("SELECT count() FROM series")
	require.Equal(t, "1", series)
	w.runReplays()
	require.Equal(t, jobs.ReplayDone, w.waitReplay(job.ID).State)
	require.Equal(t, series, w.query("SELECT count() FROM series"), "what is inserted late is found by them")
}
