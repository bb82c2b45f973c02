package commands_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/test/kafkatest"
)

func TestACommandIsDecidedAnsweredAndPublished(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		pump := node("pump")
		created := f.do(pump)
		require.Nil(t, created.GetFailure())
		require.Equal(t, "CREATE_NODE", created.GetType())
		require.Equal(t, "pump", created.GetNode().GetName())
		require.Equal(t, int64(1), created.GetNode().GetLife().GetVersion())
		require.Equal(t, int64(1), created.GetSequence())
		require.Equal(t, int32(1), created.GetUndoDepth())
		require.Equal(t, [][]byte{pump.ID[:]}, created.GetAffected().GetNodeIds())

		again := f.do(pump)
		require.Equal(t, fault.Conflict.String(), again.GetFailure().GetKind())
		require.Contains(t, string(again.GetFailure().GetDetails()), "already_exists")

		name := "reactor"
		renamed := f.do(graph.UpdateNode{ID: pump.ID, Name: &name})
		require.Equal(t, int64(2), renamed.GetSequence())
		undone := f.do(graph.Undo{})
		require.Equal(t, "UPDATE_NODE", undone.GetTarget().GetType())
		require.Equal(t, "pump", undone.GetNode().GetName())
		require.Equal(t, int64(3), undone.GetNode().GetLife().GetVersion())
		require.Equal(t, []int32{1, 1}, []int32{undone.GetUndoDepth(), undone.GetRedoDepth()})
		redone := f.do(graph.Redo{})
		require.Equal(t, "reactor", redone.GetNode().GetName())

		for i, e := range f.readEvents(4) {
			require.Equal(t, int64(i+1), e.GetChange().GetSequence())
			require.Equal(t, f.workspace[:], e.GetWorkspaceId())
			require.Equal(t, uint32(1), e.GetParts())
			require.Nil(t, e.GetChange().GetSteps()[0].GetBefore())
			require.Zero(t, e.GetChange().GetSteps()[0].GetNode().GetLife().GetStamps())
		}
		f.eventually("the published sequence is stored", func() bool {
			return f.queryInt(`SELECT COALESCE(max(sequence), 0) FROM graph_published WHERE workspace_id = $1`, f.workspace) == 4
		})
	})
}

func TestAnAtomicBatchIsOneChangeOrNone(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		a, b := node("a"), node("b")
		link := edge(a.ID, b.ID)
		same := "a"
		outcome := f.submit(f.request(
			graphrecord.Atomic, a, b, link, graph.UpdateNode{ID: a.ID, Name: &same}, graph.DeleteNode{ID: b.ID},
		))
		require.Nil(t, outcome.GetFailure())
		require.Equal(t, int64(1), outcome.GetSequence())
		require.Equal(t, int32(1), outcome.GetUndoDepth())
		results := outcome.GetResults()
		require.Len(t, results, 5)
		require.Equal(t, "feeds", results[2].GetEdge().GetRelationType())
		require.Zero(t, results[3].GetAffected().GetNodes(), "an update of nothing touches nothing")
		require.Equal(t, "a", results[3].GetNode().GetName())
		require.True(t, results[4].GetNode().GetLife().GetDeleted())
		require.Equal(t, [][]byte{link.ID[:]}, results[4].GetAffected().GetEdgeIds())

		refused := f.submit(f.request(graphrecord.Atomic, node("c"), edge(a.ID, b.ID)))
		require.Equal(t, fault.NotFound.String(), refused.GetFailure().GetKind())
		require.Contains(t, string(refused.GetFailure().GetDetails()), "commands[1].payload.targetId")
		require.Equal(t, 2, f.queryInt(`SELECT count(*) FROM nodes`))
		require.Equal(t, 1, f.queryInt(`SELECT count(*) FROM journal`))
	})
}

func TestCommandsOfASeparateBatchAreIndependent(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		a := node("a")
		request := f.request(graphrecord.Separate, a, a, edge(a.ID, a.ID))
		outcome := f.submit(request)
		require.Nil(t, outcome.GetFailure())
		results := outcome.GetResults()
		require.Equal(t, []int64{1, 0, 2}, []int64{
			results[0].GetSequence(), results[1].GetSequence(), results[2].GetSequence(),
		})
		require.Equal(t, fault.Conflict.String(), results[1].GetFailure().GetKind())
		require.Equal(t, []int32{1, 2}, []int32{results[0].GetUndoDepth(), results[2].GetUndoDepth()})
		require.Equal(t, request.CommandIDs[2][:], results[2].GetCommandId())

		undone := f.do(graph.Undo{Pick: graph.Pick{CommandID: request.CommandIDs[2]}})
		require.True(t, undone.GetEdge().GetLife().GetDeleted())
	})
}

func TestACommandIsHeldAgainstTheScopesOfItsAcceptance(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		request := f.request(graphrecord.Single, node("a"))
		request.Scopes = []string{"write:edges"}
		outcome := f.submit(request)
		require.Equal(t, fault.Forbidden.String(), outcome.GetResults()[0].GetFailure().GetKind())
	})
}

func TestAWorkspaceThatDoesNotExistIsRefused(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		request := f.request(graphrecord.Single, node("a"))
		request.Workspace = uuid.New()
		require.Equal(t, fault.Forbidden.String(), f.submit(request).GetFailure().GetKind())
		require.Nil(t, f.do(node("b")).GetFailure())
	})
}

func TestActorsHaveTheirOwnStacks(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		ask := func(actor uuid.UUID, p graph.Payload) *eventsv1.Result {
			request := f.request(graphrecord.Single, p)
			request.Actor = actor
			return f.submit(request).GetResults()[0]
		}
		ann, bob := uuid.New(), uuid.New()
		mine, his := node("mine"), node("his")
		require.Equal(t, int32(1), ask(ann, mine).GetUndoDepth())
		require.Equal(t, int32(1), ask(bob, his).GetUndoDepth())
		require.Equal(t, mine.ID[:], ask(ann, graph.Undo{}).GetNode().GetId())
		require.Contains(t, string(ask(ann, graph.Undo{}).GetFailure().GetDetails()), "nothing_to_undo")
		require.Equal(t, his.ID[:], ask(ann, graph.Undo{Pick: graph.Pick{Workspace: true}}).GetNode().GetId())
		require.Contains(t, string(ask(bob, graph.Undo{}).GetFailure().GetDetails()), "nothing_to_undo")
		require.Equal(t, his.ID[:], ask(bob, graph.Redo{}).GetNode().GetId())
	})
}
