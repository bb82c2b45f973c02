package commands_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/testenv"
)

// redrive puts all open letters of graph.commands back.
func (w *world) redrive(again bool) pipelineadmin.LetterResult {
	w.tb.Helper()
	result, err := pipelineadmin.New(w.log, w.graph).Redrive(context.Background(), pipelineadmin.LetterRequest{
		Filter: pipelineadmin.LetterFilter{Topics: []string{kafka.TopicCommands}}, Again: again, By: "somebody",
	}, nil)
	require.NoError(w.tb, err)
	return result
}

func TestACommandThatFailedInternallyIsDecidedAnewWhenItIsRedriven(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		ctx := t.Context()
		_, err := w.look.Exec(ctx, `ALTER TABLE nodes ADD CONSTRAINT good CHECK (name <> 'poison')`)
		require.NoError(t, err)
		w.consume()
		payload := node("poison")
		poison := w.request(graphrecord.Single, payload)
		require.Equal(t, fault.Internal.String(), w.ask(poison).GetFailure().GetKind())

		// Before the cause is gone it fails again, and is put aside again.
		result := w.redrive(false)
		require.EqualValues(t, 1, result.Counts[pipelineadmin.FateRedriven])
		require.Equal(t, "CREATE_NODE", result.Outcomes[0].Holds)
		w.topic(w.log.Topic(kafka.TopicCommands).Name+".dlq", 2)
		require.Equal(t, fault.Internal.String(), w.stored(poison).GetFailure().GetKind())

		_, err = w.look.Exec(ctx, `ALTER TABLE nodes DROP CONSTRAINT good`)
		require.NoError(t, err)
		result = w.redrive(false)
		require.EqualValues(t, 1, result.Counts[pipelineadmin.FateRedriven])
		w.eventually("it is carried out", func() bool { return w.stored(poison).GetFailure() == nil })
		require.Nil(t, w.stored(poison).GetResults()[0].GetFailure())
		require.Equal(t, 1, w.number(`SELECT count(*) FROM nodes WHERE id = $1`, payload.ID))
		require.Equal(t, 1, w.number(`SELECT count(*) FROM command_outcomes WHERE command_id = $1`, poison.ID))

		result = w.redrive(true)
		require.EqualValues(t, 2, result.Counts[pipelineadmin.FateSkipped])
		for _, o := range result.Outcomes {
			require.Contains(t, o.Why, "decided after all")
		}
		// Even if it gets into the log once more, by a race of two operators, it is known.
		letters := w.topic(w.log.Topic(kafka.TopicCommands).Name+".dlq", 2)
		require.NoError(t, w.log.Redrive(ctx, letters[:1]))
		w.do(node("another")) // any partition: the next waits for it
		state, err := w.log.ObserveTopic(ctx, kafka.TopicCommands)
		require.NoError(t, err)
		partition := kafka.WorkspacePartition(w.workspace, partitions)
		w.eventually("it is read", func() bool {
			return w.number(
				`SELECT next_offset FROM command_offsets WHERE partition = $1`, partition,
			) >= int(state.State[partition].End)
		})
		require.Equal(t, 1, w.number(`SELECT count(*) FROM nodes WHERE id = $1`, payload.ID))
	})
}

func TestACommandWhoseOutcomeIsNotKnownAnyMoreIsNotRedriven(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	ctx := t.Context()
	_, err := w.look.Exec(ctx, `ALTER TABLE nodes ADD CONSTRAINT good CHECK (name <> 'poison')`)
	require.NoError(t, err)
	w.consume()
	poison := w.request(graphrecord.Atomic, node("pump"), node("poison"))
	require.NotNil(t, w.ask(poison).GetFailure())
	_, err = w.look.Exec(ctx, `DELETE FROM command_outcomes`)
	require.NoError(t, err)
	result := w.redrive(false)
	require.EqualValues(t, 1, result.Counts[pipelineadmin.FateSkipped])
	require.Equal(t, "batch of 2 commands", result.Outcomes[0].Holds)
	require.Contains(t, result.Outcomes[0].Why, "not known any more")
	shown, err := pipelineadmin.New(w.log, w.graph).ShowLetter(ctx, result.Outcomes[0].Place)
	require.NoError(t, err)
	require.Equal(t, poison.ID, shown.Decoded.Command.ID)
	require.Equal(t, "atomic", shown.Decoded.Command.Mode)
	require.Equal(t, "CREATE_NODE", shown.Decoded.Command.Commands[1].Type)
}
