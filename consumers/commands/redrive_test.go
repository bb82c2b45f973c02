package commands_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// redrive redrives all open dead letters of graph.commands.
func (f *fixture) redrive(again bool) pipelineadmin.DeadLetterResult {
	f.tb.Helper()
	result, err := pipelineadmin.New(f.log, f.graph).Redrive(context.Background(), pipelineadmin.DeadLetterRequest{
		Filter: pipelineadmin.DeadLetterFilter{Topics: []string{kafka.TopicCommands}}, Again: again, RequestedBy: "somebody",
	}, nil)
	require.NoError(f.tb, err)
	return result
}

func TestACommandThatFailedInternallyIsDecidedAgainWhenRedriven(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		ctx := t.Context()
		_, err := f.conn.Exec(ctx, `ALTER TABLE nodes ADD CONSTRAINT good CHECK (name <> 'poison')`)
		require.NoError(t, err)
		f.consume()
		payload := node("poison")
		poison := f.request(graphrecord.Single, payload)
		require.Equal(t, fault.Internal.String(), f.submit(poison).GetFailure().GetKind())

		// While the cause remains, it fails again and becomes a dead letter again.
		result := f.redrive(false)
		require.EqualValues(t, 1, result.Counts[pipelineadmin.OutcomeRedriven])
		require.Equal(t, "CREATE_NODE", result.Outcomes[0].Summary)
		f.readTopic(f.log.Topic(kafka.TopicCommands).Name+".dlq", 2)
		require.Equal(t, fault.Internal.String(), f.stored(poison).GetFailure().GetKind())

		_, err = f.conn.Exec(ctx, `ALTER TABLE nodes DROP CONSTRAINT good`)
		require.NoError(t, err)
		result = f.redrive(false)
		require.EqualValues(t, 1, result.Counts[pipelineadmin.OutcomeRedriven])
		f.eventually("it is carried out", func() bool { return f.stored(poison).GetFailure() == nil })
		require.Nil(t, f.stored(poison).GetResults()[0].GetFailure())
		require.Equal(t, 1, f.queryInt(`SELECT count(*) FROM nodes WHERE id = $1`, payload.ID))
		require.Equal(t, 1, f.queryInt(`SELECT count(*) FROM command_outcomes WHERE command_id = $1`, poison.ID))

		result = f.redrive(true)
		require.EqualValues(t, 2, result.Counts[pipelineadmin.OutcomeSkipped])
		for _, o := range result.Outcomes {
			require.Contains(t, o.SkipReason, "decided after all")
		}
		// Even if a race of two operators writes it to the log once more, it is not decided again.
		deadLetters := f.readTopic(f.log.Topic(kafka.TopicCommands).Name+".dlq", 2)
		require.NoError(t, f.log.Redrive(ctx, deadLetters[:1]))
		f.do(node("another"))
		state, err := f.log.ObserveTopic(ctx, kafka.TopicCommands)
		require.NoError(t, err)
		partition := kafka.WorkspacePartition(f.workspace, partitions)
		f.eventually("it is read", func() bool {
			return f.queryInt(
				`SELECT next_offset FROM command_offsets WHERE partition = $1`, partition,
			) >= int(state.State[partition].End)
		})
		require.Equal(t, 1, f.queryInt(`SELECT count(*) FROM nodes WHERE id = $1`, payload.ID))
	})
}

func TestACommandWhoseOutcomeIsNotKnownAnyMoreIsNotRedriven(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	ctx := t.Context()
	_, err := f.conn.Exec(ctx, `ALTER TABLE nodes ADD CONSTRAINT good CHECK (name <> 'poison')`)
	require.NoError(t, err)
	f.consume()
	poison := f.request(graphrecord.Atomic, node("pump"), node("poison"))
	require.NotNil(t, f.submit(poison).GetFailure())
	_, err = f.conn.Exec(ctx, `DELETE FROM command_outcomes`)
	require.NoError(t, err)
	result := f.redrive(false)
	require.EqualValues(t, 1, result.Counts[pipelineadmin.OutcomeSkipped])
	require.Equal(t, "batch of 2 commands", result.Outcomes[0].Summary)
	require.Contains(t, result.Outcomes[0].SkipReason, "not known any more")
	shown, err := pipelineadmin.New(f.log, f.graph).ShowDeadLetter(ctx, result.Outcomes[0].RecordRef)
	require.NoError(t, err)
	require.Equal(t, poison.ID, shown.Decoded.Command.ID)
	require.Equal(t, "atomic", shown.Decoded.Command.Mode)
	require.Equal(t, "CREATE_NODE", shown.Decoded.Command.Commands[1].Type)
}
