package points_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// newFixtureWithDeadLetters creates a fixture whose store rejects the value 666, with some
// points and two dead letters: one that the store rejected and one that cannot be decoded.
func newFixtureWithDeadLetters(t *testing.T, broker *kafkatest.Broker) (*fixture, series) {
	w := newFixture(t, broker)
	created, err := w.registry.CreateWorkspace(t.Context(), access.Workspace{
		Name: "ailing", Plan: "enterprise", Mode: "live",
	})
	require.NoError(t, err)
	w.workspace = created.ID
	w.webhook, _, err = w.registry.CreateWebhook(t.Context(), &hooks.Webhook{
		Workspace: w.workspace, Name: "w", URL: "https://hooks.example.com", Events: []string{hooks.PointsDead},
		Enabled: true,
	})
	require.NoError(t, err)
	w.query("ALTER TABLE " + w.points.Layout().Stored("points") + " ADD CONSTRAINT good CHECK value != 666")
	s := w.numberSeries(uuid.New(), "m")
	w.consume()
	w.produce(w.numberMessages(s, times(0, 1), []float64{0, 1}), w.numberMessages(s, times(1, 2), []float64{666, 666}),
		w.numberMessages(s, times(2), []float64{2}),
		[]pointblock.Message{
			{Partition: pointblock.Partition(s.source, partitions), Key: []byte("k"), Value: []byte("not a point block")},
		},
		w.numberMessages(s, times(3), []float64{3}))
	w.waitSettled()
	require.Equal(t, "0=0 1=1 2=2 3=3", w.values(s))
	return w, s
}

func (w *fixture) listDeadLetters(f pipelineadmin.DeadLetterFilter) []pipelineadmin.DeadLetter {
	w.tb.Helper()
	list, err := w.admin().DeadLetters(w.tb.Context(), f, pipelineadmin.DefaultListLimit, nil)
	require.NoError(w.tb, err)
	require.EqualValues(w.tb, len(list.Letters), list.Matched)
	return list.Letters
}

func TestDeadLettersAreListedAndShown(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		begin := time.Now().Add(-time.Second)
		w, s := newFixtureWithDeadLetters(t, broker)
		partition := pointblock.Partition(s.source, partitions)
		all := w.listDeadLetters(pipelineadmin.DeadLetterFilter{})
		require.Len(t, all, 2)
		refused := w.listDeadLetters(pipelineadmin.DeadLetterFilter{ReasonContains: "REFUSED by"})
		require.Len(t, refused, 1)
		require.Equal(
			t, pipelineadmin.RecordRef{Topic: kafka.TopicPoints, Partition: partition, Offset: 1}, *refused[0].Origin,
		)
		require.Equal(t, "2 points of 1 series", refused[0].Summary)
		require.Equal(t, "req_test", refused[0].RequestID)
		require.Equal(t, w.workspace, *refused[0].Workspace)
		require.Equal(t, jobs.DeadLetterOpen, refused[0].State)
		require.EqualValues(t, 1<<48|1, refused[0].Version)
		events, _, err := w.registry.Deliveries(t.Context(), w.workspace, w.webhook.ID, "", 10, 0)
		require.NoError(t, err)
		require.Len(t, events, 1, "one record is of the workspace")
		require.Equal(t, hooks.PointsDead, events[0].EventType)

		middle, end := all[0].At, time.Now().Add(time.Minute)
		for name, c := range map[string]struct {
			f pipelineadmin.DeadLetterFilter
			n int
		}{
			"the topic's own name": {pipelineadmin.DeadLetterFilter{Topics: []string{"points.dlq"}}, 2},
			"where they come from": {pipelineadmin.DeadLetterFilter{Topics: []string{"points"}}, 2},
			"another topic":        {pipelineadmin.DeadLetterFilter{Topics: []string{"graph.commands"}}, 0},
			"the workspace":        {pipelineadmin.DeadLetterFilter{Workspace: &w.workspace}, 1},
			"since the beginning":  {pipelineadmin.DeadLetterFilter{From: &begin, To: &end}, 2},
			"before the beginning": {pipelineadmin.DeadLetterFilter{To: &begin}, 0},
			"since the newest":     {pipelineadmin.DeadLetterFilter{From: &middle}, len(createdSince(all, middle))},
			"those that are redriven": {
				pipelineadmin.DeadLetterFilter{States: []jobs.DeadLetterState{jobs.DeadLetterRedriven}}, 0,
			},
		} {
			if len(c.f.Topics) > 0 && c.n == 0 {
				w.requireNoDeadLetters(c.f)
				continue
			}
			require.Len(t, w.listDeadLetters(c.f), c.n, name)
		}

		shown, err := w.admin().ShowDeadLetter(t.Context(), refused[0].RecordRef)
		require.NoError(t, err)
		require.Len(t, shown.Decoded.Series, 1)
		require.Equal(t, "m", shown.Decoded.Series[0].Metric)
		require.Equal(t, map[string]string{"room": "a"}, shown.Decoded.Series[0].Tags)
		require.Len(t, shown.Decoded.Series[0].Points, 2)
		require.Equal(t, 666.0, shown.Decoded.Series[0].Points[0][1])
		require.Contains(t, shown.Headers[kafka.HeaderError], "refused by the store")

		other := w.listDeadLetters(pipelineadmin.DeadLetterFilter{ReasonContains: "unreadable"})[0]
		shown, err = w.admin().ShowDeadLetter(t.Context(), other.RecordRef)
		require.NoError(t, err)
		require.Equal(t, "not a point block", string(shown.Value))
		require.NotEmpty(t, shown.Decoded.Problem)
		require.Nil(t, shown.Workspace)

		for _, place := range []pipelineadmin.RecordRef{
			{Topic: "points.dlq", Partition: 99, Offset: 0}, {Topic: "points.dlq", Partition: 0, Offset: 1 << 40},
			{Topic: "nothing", Partition: 0, Offset: 0},
		} {
			_, err := w.admin().ShowDeadLetter(t.Context(), place)
			require.Error(t, err)
			require.NotEqual(t, fault.Internal, fault.KindOf(err), "%v", err)
		}
	})
}

// createdSince returns the dead letters of a time or later.
func createdSince(deadLetters []pipelineadmin.DeadLetter, since time.Time) (later []pipelineadmin.DeadLetter) {
	for _, l := range deadLetters {
		if !l.At.Before(since) {
			later = append(later, l)
		}
	}
	return later
}

// requireNoDeadLetters requires that no dead letters match a filter. A topic that the fixture
// did not create is no error.
func (w *fixture) requireNoDeadLetters(f pipelineadmin.DeadLetterFilter) {
	w.tb.Helper()
	list, err := w.admin().DeadLetters(w.tb.Context(), f, 10, nil)
	require.NoError(w.tb, err)
	require.Empty(w.tb, list.Letters)
}

func TestADeadLetterIsRedrivenOnceTheCauseIsGoneAndChangesNothingNewer(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w, s := newFixtureWithDeadLetters(t, broker)
		ctx := t.Context()
		everything := pipelineadmin.DeadLetterRequest{RequestedBy: "somebody"}

		dry := everything
		dry.DryRun = true
		result, err := w.admin().Redrive(ctx, dry, nil)
		require.NoError(t, err)
		require.Equal(
			t, map[pipelineadmin.Outcome]int64{pipelineadmin.OutcomePlanned: 1, pipelineadmin.OutcomeSkipped: 1}, result.Counts,
		)
		for _, o := range result.Outcomes {
			if o.Outcome == pipelineadmin.OutcomeSkipped {
				require.Contains(t, o.SkipReason, "cannot be read")
			}
		}
		require.Len(
			t, w.listDeadLetters(pipelineadmin.DeadLetterFilter{States: []jobs.DeadLetterState{jobs.DeadLetterOpen}}), 2,
			"a dry run changes nothing",
		)

		// While the store still rejects it, it becomes a dead letter again.
		result, err = w.admin().Redrive(ctx, everything, nil)
		require.NoError(t, err)
		require.EqualValues(t, 1, result.Counts[pipelineadmin.OutcomeRedriven])
		w.waitSettled()
		require.Eventually(t, func() bool {
			return len(w.listDeadLetters(pipelineadmin.DeadLetterFilter{})) == 3
		}, time.Minute, 20*time.Millisecond)
		back := w.listDeadLetters(pipelineadmin.DeadLetterFilter{
			ReasonContains: "refused", States: []jobs.DeadLetterState{jobs.DeadLetterOpen},
		})
		require.Len(t, back, 1)
		require.EqualValues(t, 1<<48|1, back[0].Version, "it keeps its version")

		w.query("ALTER TABLE " + w.points.Layout().Stored("points") + " DROP CONSTRAINT good")
		result, err = w.admin().Redrive(
			ctx, pipelineadmin.DeadLetterRequest{
				RequestedBy: "somebody", Records: []pipelineadmin.RecordRef{back[0].RecordRef}, Reason: "the constraint is gone",
			},
			nil,
		)
		require.NoError(t, err)
		require.EqualValues(t, 1, result.Counts[pipelineadmin.OutcomeRedriven])
		w.waitSettled()
		require.Equal(t, "0=0 1=666 2=2 3=3", w.values(s), "the newer point at 2 s wins")

		before := w.dump()
		result, err = w.admin().Redrive(
			ctx, pipelineadmin.DeadLetterRequest{RequestedBy: "other", Records: []pipelineadmin.RecordRef{back[0].RecordRef}},
			nil,
		)
		require.NoError(t, err)
		require.EqualValues(t, 1, result.Counts[pipelineadmin.OutcomeSkipped])
		require.Contains(t, result.Outcomes[0].SkipReason, "redriven already, by somebody")
		result, err = w.admin().Redrive(
			ctx,
			pipelineadmin.DeadLetterRequest{
				RequestedBy: "other", Records: []pipelineadmin.RecordRef{back[0].RecordRef}, Again: true,
			}, nil,
		)
		require.NoError(t, err)
		require.EqualValues(t, 1, result.Counts[pipelineadmin.OutcomeRedriven])
		w.waitSettled()
		require.Equal(t, before, w.dump(), "redriving twice changes nothing")

		redriven := w.listDeadLetters(pipelineadmin.DeadLetterFilter{States: []jobs.DeadLetterState{jobs.DeadLetterRedriven}})
		require.Len(t, redriven, 2)
		require.Len(
			t, w.listDeadLetters(pipelineadmin.DeadLetterFilter{States: []jobs.DeadLetterState{jobs.DeadLetterOpen}}), 1,
			"the one that cannot be decoded",
		)
	})
}

func TestARedrivenDeadLetterDoesNotRestoreDeletedPoints(t *testing.T) {
	w, s := newFixtureWithDeadLetters(t, kafkatest.NewKFake(t))
	w.produce(w.deletionMessages(pointblock.Deletion{Source: s.source, Metric: "m", HasMetric: true}))
	w.waitSettled()
	require.Empty(t, w.values(s))
	w.query("ALTER TABLE " + w.points.Layout().Stored("points") + " DROP CONSTRAINT good")
	result, err := w.admin().Redrive(
		t.Context(), pipelineadmin.DeadLetterRequest{Filter: pipelineadmin.DeadLetterFilter{ReasonContains: "refused"}}, nil,
	)
	require.NoError(t, err)
	require.EqualValues(t, 1, result.Counts[pipelineadmin.OutcomeRedriven])
	w.waitSettled()
	require.Empty(t, w.values(s))
}

func TestADeadLetterFromBeforeTheOldestTombstoneIsNotRedriven(t *testing.T) {
	w, _ := newFixtureWithDeadLetters(t, kafkatest.NewKFake(t))
	_, err := w.registry.Installation(t.Context())
	require.NoError(t, err)
	_, err = w.registry.PruneTombstones(t.Context(), time.UnixMicro(t0).Add(time.Hour))
	require.NoError(t, err)
	result, err := w.admin().Redrive(
		t.Context(), pipelineadmin.DeadLetterRequest{Filter: pipelineadmin.DeadLetterFilter{ReasonContains: "refused"}}, nil,
	)
	require.NoError(t, err)
	require.EqualValues(t, 1, result.Counts[pipelineadmin.OutcomeSkipped])
	require.Contains(t, result.Outcomes[0].SkipReason, "not known any more")
}

func TestADiscardedDeadLetterStaysAndIsReportedAsSuch(t *testing.T) {
	w, _ := newFixtureWithDeadLetters(t, kafkatest.NewKFake(t))
	ctx := t.Context()
	_, err := w.admin().Discard(ctx, pipelineadmin.DeadLetterRequest{}, nil)
	require.Equal(t, "reason", fieldOf(err))
	_, err = w.admin().Discard(
		ctx, pipelineadmin.DeadLetterRequest{Reason: strings.Repeat("x", pipelineadmin.MaxReason+1)}, nil,
	)
	require.Equal(t, "reason", fieldOf(err))
	result, err := w.admin().Discard(
		ctx,
		pipelineadmin.DeadLetterRequest{
			Reason: "nonsense of a test", RequestedBy: "somebody",
			Filter: pipelineadmin.DeadLetterFilter{ReasonContains: "unreadable"},
		},
		nil,
	)
	require.NoError(t, err)
	require.Equal(t, map[pipelineadmin.Outcome]int64{pipelineadmin.OutcomeDiscarded: 1}, result.Counts)
	discarded := w.listDeadLetters(
		pipelineadmin.DeadLetterFilter{States: []jobs.DeadLetterState{jobs.DeadLetterDiscarded}},
	)
	require.Len(t, discarded, 1)
	require.Equal(t, "somebody", discarded[0].Mark.MarkedBy)
	require.Equal(t, "nonsense of a test", discarded[0].Mark.Reason)
	require.WithinDuration(t, time.Now(), discarded[0].Mark.At, time.Minute)
	shown, err := w.admin().ShowDeadLetter(ctx, discarded[0].RecordRef)
	require.NoError(t, err)
	require.Equal(t, jobs.DeadLetterDiscarded, shown.State)

	result, err = w.admin().Redrive(
		ctx, pipelineadmin.DeadLetterRequest{Records: []pipelineadmin.RecordRef{discarded[0].RecordRef}}, nil,
	)
	require.NoError(t, err)
	require.Contains(t, result.Outcomes[0].SkipReason, "discarded already")
	counts, err := w.admin().DeadLetterCounts(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, counts["points.dlq"][jobs.DeadLetterOpen])
	require.EqualValues(t, 1, counts["points.dlq"][jobs.DeadLetterDiscarded])
}

func fieldOf(err error) string {
	var public *fault.Error
	if !errors.As(err, &public) {
		return ""
	}
	field, _ := public.Details["field"].(string)
	return field
}

func TestADeadRecordIsKnownUntilItIsRedriven(t *testing.T) {
	w, s := newFixtureWithDeadLetters(t, kafkatest.NewKFake(t))
	partition := pointblock.Partition(s.source, partitions)
	id := w.log.PointsTopic().ID
	places := []jobs.LogPosition{
		{Partition: partition, Offset: 0}, {Partition: partition, Offset: 1}, {Partition: partition, Offset: 3},
		{Partition: partition + 1, Offset: 1},
	}
	n, err := w.registry.DeadRecords(t.Context(), id, places)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	w.query("ALTER TABLE " + w.points.Layout().Stored("points") + " DROP CONSTRAINT good")
	_, err = w.admin().Redrive(
		t.Context(), pipelineadmin.DeadLetterRequest{Filter: pipelineadmin.DeadLetterFilter{ReasonContains: "refused"}}, nil,
	)
	require.NoError(t, err)
	n, err = w.registry.DeadRecords(t.Context(), id, places)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	pruned, err := w.registry.PruneDeadRecords(t.Context(), 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 2, pruned)
}

func TestAReplayThatCannotBeIsRefusedByName(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	s := w.numberSeries(uuid.New(), "m")
	for i := range int64(3) {
		w.produce(w.numberMessages(s, times(i), []float64{float64(i)}))
	}
	partition := pointblock.Partition(s.source, partitions)
	past, future, unknown, zero := time.Now().Add(-time.Hour), time.Now().Add(time.Hour), uuid.New(), int64(0)
	for name, c := range map[string]struct {
		r     pipelineadmin.ReplayRequest
		field string
		says  string
	}{
		"commands": {pipelineadmin.ReplayRequest{Topic: "graph.commands", FromStart: true}, "topic", "was decided once"},
		"events": {
			pipelineadmin.ReplayRequest{Topic: "graph.events", FromStart: true}, "topic", "no built-in consumer",
		},
		"no topic":     {pipelineadmin.ReplayRequest{Topic: "nothing", FromStart: true}, "topic", "there is points"},
		"from nowhere": {pipelineadmin.ReplayRequest{Topic: "points"}, "fromStart", "one of the start, a time, or offsets"},
		"from twice": {
			pipelineadmin.ReplayRequest{Topic: "points", FromStart: true, FromTime: &past}, "fromStart", "one of",
		},
		"the future": {pipelineadmin.ReplayRequest{Topic: "points", FromTime: &future}, "fromTime", "future"},
		"backwards":  {pipelineadmin.ReplayRequest{Topic: "points", FromTime: &past, ToTime: &past}, "toTime", "after"},
		"to twice": {
			pipelineadmin.ReplayRequest{
				Topic: "points", FromStart: true, ToTime: &past, ToOffsets: map[int32]int64{0: 1},
			}, "toTime",
			"not by both",
		},
		"no partition": {
			pipelineadmin.ReplayRequest{Topic: "points", FromStart: true, Partitions: []int32{77}}, "partitions",
			"there is no partition 77",
		},
		"no offset": {
			pipelineadmin.ReplayRequest{Topic: "points", FromOffsets: map[int32]int64{partition: 4}}, "fromOffsets",
			"has the offsets 0 to 3",
		},
		"another partition": {
			pipelineadmin.ReplayRequest{
				Topic: "points", FromOffsets: map[int32]int64{partition: 0},
				ToOffsets: map[int32]int64{(partition + 1) % partitions: 0},
			},
			"toOffsets", "not among those",
		},
		"both": {
			pipelineadmin.ReplayRequest{
				Topic: "points", FromOffsets: map[int32]int64{partition: 0}, Partitions: []int32{partition},
			},
			"partitions", "already",
		},
		"no workspace": {
			pipelineadmin.ReplayRequest{Topic: "points", FromStart: true, Workspace: &unknown}, "workspaceId", "no workspace",
		},
		"no rows": {
			pipelineadmin.ReplayRequest{Topic: "points", FromStart: true, MaxRows: &zero}, "maxRowsPerSecond", "above zero",
		},
		"nothing": {
			pipelineadmin.ReplayRequest{
				Topic: "points", FromOffsets: map[int32]int64{partition: 3},
			}, "", "no record in this range",
		},
	} {
		_, err := w.admin().StartReplay(t.Context(), c.r)
		require.Error(t, err, name)
		require.Equal(t, c.field, fieldOf(err), name)
		require.Contains(t, err.Error(), c.says, name)
	}
	jobs, _, err := w.admin().Replays(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Empty(t, jobs)
	_, err = w.admin().Replay(t.Context(), unknown)
	require.True(t, fault.Is(err, fault.NotFound))
	_, err = w.admin().CancelReplay(t.Context(), unknown)
	require.True(t, fault.Is(err, fault.NotFound))
}

func TestTopicsAreListedWithTheirOffsets(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w, s := newFixtureWithDeadLetters(t, broker)
		var topics []pipelineadmin.Topic
		require.Eventually(t, func() bool {
			var err error
			topics, err = w.admin().Topics(t.Context())
			require.NoError(t, err)
			return topics[0].Lag != nil && *topics[0].Lag == 0
		}, time.Minute, 20*time.Millisecond)
		require.Len(t, topics, 2, "those of the graph are not created here")
		require.Equal(t, "points", topics[0].Topic)
		require.Equal(t, w.topic, topics[0].Name)
		require.EqualValues(t, 5, topics[0].Records)
		require.EqualValues(t, 1<<30, topics[0].RetentionBytes)
		require.Len(t, topics[0].Readers, 1)
		reader := topics[0].Readers[0]
		require.Equal(t, w.group, reader.Group)
		require.Len(t, topics[0].Partitions, partitions)
		p := pointblock.Partition(s.source, partitions)
		require.EqualValues(t, 5, topics[0].Partitions[p].End)
		require.EqualValues(t, p, reader.Partitions[p].Partition)
		require.EqualValues(t, 5, *reader.Partitions[p].Committed)
		require.EqualValues(t, 2, topics[1].Records)
		require.Nil(t, topics[1].Lag)
	})
}
