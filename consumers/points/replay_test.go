package points_test

import (
	"context"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/consumers/replay"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// runReplays runs replays until stop or the end of the test.
func (w *fixture) runReplays(change ...func(*replay.Deps)) (stop func()) {
	w.tb.Helper()
	deps := replay.Deps{
		Log: w.log, Jobs: w.registry.Jobs, Logger: w.logger,
		Consumers: map[string]replay.Consumer{
			points.Topic: points.NewReplayer(points.Deps{Log: w.log, Points: w.points, Registry: w.registry, Logger: w.logger}),
		},
		Config: replay.Config{
			BatchRows: 1000, BatchBytes: 1 << 20, BatchWait: 10 * time.Millisecond, FetchBytes: 1 << 20, Grace: 5 * time.Second,
			Lease: 2 * time.Second,
		},
	}
	for _, c := range change {
		c(&deps)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- replay.New(deps).Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(w.tb, err)
		case <-time.After(30 * time.Second):
			w.tb.Error("the runner does not stop")
		}
	})
	w.tb.Cleanup(stop)
	return stop
}

func (w *fixture) admin() *pipelineadmin.Service { return pipelineadmin.New(w.log, w.registry) }

// startReplay requests a replay of topic points.
func (w *fixture) startReplay(r pipelineadmin.ReplayRequest) pipelineadmin.Replay {
	w.tb.Helper()
	r.Topic, r.RequestedBy = kafka.TopicPoints, "test"
	job, err := w.admin().StartReplay(context.Background(), r)
	require.NoError(w.tb, err)
	return job
}

// waitReplay waits until a replay has ended.
func (w *fixture) waitReplay(id uuid.UUID) pipelineadmin.Replay {
	w.tb.Helper()
	return w.waitReplayUntil(id, func(job pipelineadmin.Replay) bool { return job.State.Final() })
}

func (w *fixture) waitReplayUntil(id uuid.UUID, reached func(pipelineadmin.Replay) bool) pipelineadmin.Replay {
	w.tb.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		job, err := w.admin().Replay(context.Background(), id)
		require.NoError(w.tb, err)
		if reached(job) {
			return job
		}
		if time.Now().After(deadline) {
			w.tb.Fatalf("the replay does not reach the state: %+v", job)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// produceMixed produces numbers, strings, overwrites and deletions of a few series.
func (w *fixture) produceMixed(n int64) []series {
	w.tb.Helper()
	var all []series
	for i := range int64(6) {
		s := w.numberSeries(uuid.New(), "m")
		state := series{source: s.source, metric: "state", kind: pointblock.KindString}
		for j := range n {
			w.produce(
				w.numberMessages(s, times(j, j+1), []float64{float64(j), float64(100*i + j)}),
				w.stringMessages(state, times(j), []string{string(rune('a' + j%26))}),
			)
		}
		from, to := t0+2*second, t0+4*second
		w.produce(w.deletionMessages(pointblock.Deletion{
			Source: s.source, Metric: "m", HasMetric: true, FromUS: from, HasFrom: true, ToUS: to, HasTo: true,
		}))
		w.produce(w.numberMessages(s, times(3), []float64{333}))
		all = append(all, s)
	}
	w.produce(w.deletionMessages(pointblock.Deletion{Source: all[0].source, WholeSource: true}))
	w.produce(w.numberMessages(all[0], times(50), []float64{50}))
	return all
}

func TestReplayingTheWholeTopicTwiceChangesNothing(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		w.consume()
		w.produceMixed(20)
		w.waitSettled()
		before := w.dump()
		state, err := w.log.Observe(t.Context())
		require.NoError(t, err)
		marks, err := w.registry.Watermarks(t.Context(), state.ID)
		require.NoError(t, err)

		w.runReplays()
		for range 2 {
			job := w.waitReplay(w.startReplay(pipelineadmin.ReplayRequest{FromStart: true}).ID)
			require.Equal(t, jobs.ReplayDone, job.State, "%v", job.Error)
			require.EqualValues(t, 100, job.Percent)
			require.Equal(t, job.Records, job.RecordsDone)
			require.Positive(t, job.Rows)
			require.Empty(t, job.Notes)
			require.Equal(t, before, w.dump())
		}
		after, err := w.log.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, state, after, "the group's offsets are unchanged")
		marksAfter, err := w.registry.Watermarks(t.Context(), state.ID)
		require.NoError(t, err)
		require.Equal(t, marks, marksAfter)
	})
}

func TestAReplayWritesAgainWhatTheStoreHasLost(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	w.consume()
	s := w.produceMixed(10)
	w.waitSettled()
	// The series of a deleted source are deleted later than their points.
	before := regexp.MustCompile(`(?m)^.*`+s[0].source.String()+`.*\n`).ReplaceAllString(w.dump(), "")
	for _, table := range []string{"points", "states", "latest", "series", "source_activity"} {
		w.query("TRUNCATE TABLE " + w.points.Layout().Stored(table))
	}
	w.runReplays()
	job := w.waitReplay(w.startReplay(pipelineadmin.ReplayRequest{FromStart: true}).ID)
	require.Equal(t, jobs.ReplayDone, job.State, "%v", job.Error)
	require.Equal(t, before, w.dump())
}

func TestAReplayOfAPartStoresThatPartAlone(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		made, err := w.registry.CreateWorkspace(t.Context(), access.Workspace{
			Name: "replayed", Plan: "enterprise", Mode: "live",
		})
		require.NoError(t, err)
		w.workspace = made.ID
		w.consume()
		s := w.numberSeries(uuid.New(), "m")
		other := s
		partition := pointblock.Partition(s.source, partitions)
		for i := range int64(3) {
			w.produce(w.numberMessages(s, times(i), []float64{float64(i)}))
		}
		time.Sleep(20 * time.Millisecond)
		middle := time.Now()
		time.Sleep(20 * time.Millisecond)
		mine := w.workspace
		w.workspace = uuid.New()
		w.produce(w.numberMessages(other, times(7), []float64{7})) // the same source of another workspace
		w.workspace = mine
		for i := range int64(3) {
			w.produce(w.numberMessages(s, times(i+3), []float64{float64(i + 3)}))
		}
		w.waitSettled()
		w.runReplays()
		replayed := func(r pipelineadmin.ReplayRequest) string {
			w.query("TRUNCATE TABLE " + w.points.Layout().Stored("points"))
			job := w.waitReplay(w.startReplay(r).ID)
			require.Equal(t, jobs.ReplayDone, job.State, "%v", job.Error)
			return w.query(
				"SELECT arrayStringConcat(groupArray(toString(value)), ' ') FROM (SELECT value FROM points FINAL ORDER BY ts)",
			)
		}
		require.Equal(t, "3 4 5 7", replayed(pipelineadmin.ReplayRequest{FromTime: &middle}))
		require.Equal(t, "0 1 2", replayed(pipelineadmin.ReplayRequest{FromStart: true, ToTime: &middle}))
		require.Equal(t, "1 2 7", replayed(pipelineadmin.ReplayRequest{
			FromOffsets: map[int32]int64{partition: 1}, ToOffsets: map[int32]int64{partition: 4},
		}))
		require.Equal(
			t, "0 1 2 3 4 5 7", replayed(pipelineadmin.ReplayRequest{FromStart: true, Partitions: []int32{partition}}),
		)

		require.Equal(t, "0 1 2 3 4 5", replayed(pipelineadmin.ReplayRequest{FromStart: true, Workspace: &w.workspace}))
	})
}

func TestAReplayResumesWhereADeadRunStopped(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		w.consume()
		s := w.numberSeries(uuid.New(), "m")
		for i := range int64(200) {
			w.produce(w.numberMessages(s, times(i), []float64{float64(i)}))
		}
		w.waitSettled()
		before := w.dump()
		slow := int64(50)
		job := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true, MaxRows: &slow})
		stop := w.runReplays()
		w.waitReplayUntil(job.ID, func(job pipelineadmin.Replay) bool { return job.Rows > 0 })
		stop()
		left := w.waitReplayUntil(job.ID, func(pipelineadmin.Replay) bool { return true })
		require.Equal(t, jobs.ReplayQueued, left.State)
		require.Less(t, left.RecordsDone, left.Records, "the test is about a run that was interrupted")
		w.runReplays(func(d *replay.Deps) {
			d.Config.BatchRows = 10
		})
		second := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true}) // queued after the first
		w.cancelAfterRows(t, job.ID, left.Rows)
		done := w.waitReplay(second.ID)
		require.Equal(t, jobs.ReplayDone, done.State)
		require.Equal(t, before, w.dump())
		_, err := w.admin().CancelReplay(t.Context(), done.ID)
		require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	})
}

func TestAReplayReportsWhatTheLogNoLongerContained(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		w.consume()
		s := w.numberSeries(uuid.New(), "m")
		for i := range int64(10) {
			w.produce(w.numberMessages(s, times(i), []float64{float64(i)}))
		}
		w.waitSettled()
		partition := pointblock.Partition(s.source, partitions)
		part := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true})
		all := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true, ToOffsets: map[int32]int64{partition: 3}})
		broker.Trim(t, w.topic, partition, 4)
		w.query("TRUNCATE TABLE " + w.points.Layout().Stored("points"))
		w.runReplays()
		job := w.waitReplay(part.ID)
		require.Equal(t, jobs.ReplayDone, job.State, "%v", job.Error)
		require.EqualValues(t, 4, job.Trimmed)
		require.EqualValues(t, 6, job.Rows)
		require.Contains(t, job.Notes[0], "before they were read: 4 records")
		require.Equal(t, "4=4 5=5 6=6 7=7 8=8 9=9", w.values(s))
		job = w.waitReplay(all.ID)
		require.Equal(t, jobs.ReplayDone, job.State, "%v", job.Error)
		require.EqualValues(t, 3, job.Trimmed, "nothing of it is left")
		require.Equal(t, job.Records, job.RecordsDone)
	})
}

func TestAReplayOfATopicThatWasCreatedAgainFails(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		s := w.numberSeries(uuid.New(), "m")
		w.produce(w.numberMessages(s, times(0), []float64{0}))
		job := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true})
		old := w.log.PointsTopic().ID
		broker.Recreate(t, w.topic, partitions)
		require.Eventually(t, func() bool { return w.log.PointsTopic().ID != old }, time.Minute, 10*time.Millisecond)
		w.produceEventually(w.numberMessages(s, times(0, 1), []float64{9, 9}))
		w.runReplays()
		job = w.waitReplay(job.ID)
		require.Equal(t, jobs.ReplayFailed, job.State)
		require.Contains(t, *job.Error, "created again")
		require.Zero(t, job.Rows)
	})
}

func TestAReplayLeavesOutWhatCannotBeStored(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	w.query("ALTER TABLE " + w.points.Layout().Stored("points") + " ADD CONSTRAINT good CHECK value != 666")
	s := w.numberSeries(uuid.New(), "m")
	partition := pointblock.Partition(s.source, partitions)
	w.produce(
		w.numberMessages(s, times(0), []float64{0}), w.numberMessages(s, times(1), []float64{666}),
		w.numberMessages(s, times(2), []float64{2}),
		[]pointblock.Message{{Partition: partition, Key: []byte("k"), Value: []byte("not a point block")}},
		w.numberMessages(s, times(3), []float64{3}))
	w.consume()
	w.waitSettled()
	w.runReplays()
	job := w.waitReplay(w.startReplay(pipelineadmin.ReplayRequest{FromStart: true}).ID)
	require.Equal(t, jobs.ReplayDone, job.State)
	require.EqualValues(t, 2, job.Refused)
	require.EqualValues(t, 3, job.Rows)
	require.Contains(t, job.Notes[0], "unreadable or cannot be stored: 2 records")
	require.Equal(t, "0=0 2=2 3=3", w.values(s))
	require.Len(t, w.readDeadLetters(2), 2, "they are not put aside again")
	list, err := w.admin().DeadLetters(t.Context(), pipelineadmin.DeadLetterFilter{}, 10, nil)
	require.NoError(t, err)
	require.Len(t, list.Letters, 2)
}

func TestAReplayBesideLiveIngestChangesNothing(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		w.consume()
		s := make([]series, 8)
		for i := range s {
			s[i] = w.numberSeries(uuid.New(), "m")
		}
		for i := range int64(400) {
			w.produce(w.numberMessages(s[i%8], times(i), []float64{float64(i)}))
		}
		w.waitSettled()
		w.runReplays(func(d *replay.Deps) { d.Config.BatchRows = 20 })
		job := w.startReplay(pipelineadmin.ReplayRequest{FromStart: true})
		n := int64(400)
		for !w.waitReplayUntil(job.ID, func(pipelineadmin.Replay) bool { return true }).State.Final() {
			w.produce(w.numberMessages(s[n%8], times(n, n-400), []float64{float64(n), float64(n - 400)}))
			n++
		}
		w.waitSettled()
		require.Equal(t, jobs.ReplayDone, w.waitReplay(job.ID).State)
		require.Equal(t, sum(n), w.query("SELECT concat(toString(count()), ' ', toString(sum(value))) FROM points FINAL"))
	})
}
