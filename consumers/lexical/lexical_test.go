package lexical_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestWhatIsWrittenIsFoundAndWhatIsDeletedIsNot(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		c, _ := w.consume("lexical")
		pump, valve := node("pump", "moves water"), node("valve", "stops water")
		w.do(w.workspace, pump, valve)
		w.indexed(w.workspace)
		require.ElementsMatch(t, []uuid.UUID{pump.ID, valve.ID}, w.found(w.workspace, "water"))

		oil := "moves oil"
		w.do(w.workspace, graph.UpdateNode{ID: pump.ID, Description: &oil})
		w.indexed(w.workspace)
		require.Equal(t, []uuid.UUID{valve.ID}, w.found(w.workspace, "water"))
		require.Equal(t, []uuid.UUID{pump.ID}, w.found(w.workspace, "oil"))

		w.do(w.workspace, graph.DeleteNode{ID: pump.ID})
		w.indexed(w.workspace)
		require.Empty(t, w.found(w.workspace, "oil"))
		w.do(w.workspace, graph.Undo{})
		w.indexed(w.workspace)
		require.Equal(t, []uuid.UUID{pump.ID}, w.found(w.workspace, "oil"), "an undo brings it back")
		w.do(w.workspace, graph.Redo{})
		w.indexed(w.workspace)
		require.Empty(t, w.found(w.workspace, "oil"))
		require.Zero(t, c.Metrics().DeadLetters.Load())
	})
}

func TestReadingTheTopicAgainFromTheBeginningChangesNothing(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		_, stop := w.consume("lexical")
		r := rand.New(rand.NewPCG(1, 2))
		var nodes []graph.CreateNode
		for i := range 60 {
			n := node(fmt.Sprintf("pump %d", i), "moves water")
			nodes = append(nodes, n)
			w.do(w.workspace, n)
			text := fmt.Sprintf("line %d", r.IntN(5))
			switch target := nodes[r.IntN(len(nodes))].ID; r.IntN(3) {
			case 0:
				w.do(w.workspace, graph.DeleteNode{ID: target})
			case 1:
				w.do(w.workspace, graph.UpdateNode{ID: target, Description: &text})
			case 2:
				w.do(w.workspace, graph.Undo{})
			}
		}
		w.indexed(w.workspace)
		before := w.dump()
		stop()
		c, _ := w.consume("lexical-again") // of a group that has committed nothing
		status, err := w.graph.LexicalStatus(t.Context(), w.workspace)
		require.NoError(t, err)
		w.eventually("everything is read again", func() bool { return c.Metrics().Records.Load() >= status.Head })
		require.Equal(t, before, w.dump())
	})
}

func TestTwoWorkspacesWithTheSameTextsNeverSeeEachOther(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	w.consume("lexical")
	other := w.newWorkspace()
	ours, theirs := node("pump 7", "secret water"), node("pump 7", "secret water")
	w.do(w.workspace, ours)
	w.do(other, theirs)
	w.indexed(w.workspace)
	w.indexed(other)
	require.Equal(t, []uuid.UUID{ours.ID}, w.found(w.workspace, "secret pump 7"))
	require.Equal(t, []uuid.UUID{theirs.ID}, w.found(other, "secret pump 7"))
	w.do(other, graph.DeleteNode{ID: theirs.ID})
	w.indexed(other)
	require.Equal(t, []uuid.UUID{ours.ID}, w.found(w.workspace, "secret pump 7"))
	require.Empty(t, w.found(other, "secret pump 7"))
}

// A graph from before the lane, and one that changed while nobody consumed: the log has
// the events no more.
func TestWhatTheLogHasLostIsReadFromTheGraph(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	var nodes []graph.Payload
	for i := range 30 {
		nodes = append(nodes, node(fmt.Sprintf("pump %d", i), "moves water"))
	}
	w.do(w.workspace, nodes...)
	w.do(w.workspace, graph.DeleteNode{ID: nodes[0].(graph.CreateNode).ID})
	w.trim()
	_, stop := w.consume("lexical")
	w.indexed(w.workspace)
	require.Len(t, w.found(w.workspace, "water"), 29)
	turbine := node("turbine", "of steam")
	w.do(w.workspace, turbine)
	w.indexed(w.workspace)
	require.Equal(t, []uuid.UUID{turbine.ID}, w.found(w.workspace, "steam"))

	stop()
	w.do(w.workspace, graph.DeleteNode{ID: turbine.ID}, node("boiler", "of copper"))
	w.trim()
	w.consume("lexical")
	w.do(w.workspace, node("kettle", "of tin"))
	w.indexed(w.workspace)
	require.Empty(t, w.found(w.workspace, "steam"))
	require.Len(t, w.found(w.workspace, "copper"), 1)
	require.Len(t, w.found(w.workspace, "tin"), 1)
}

// trim waits until all changes are published and removes them from the log.
func (w *world) trim() {
	w.tb.Helper()
	w.eventually("all is published", func() bool {
		var rest int
		require.NoError(w.tb, w.look.QueryRow(context.Background(), `SELECT count(*) FROM graph_heads h
			LEFT JOIN graph_published p USING (workspace_id) WHERE h.sequence > COALESCE(p.sequence, 0)`).Scan(&rest))
		return rest == 0
	})
	seen, err := w.log.ObserveTopic(context.Background(), kafka.TopicEvents)
	require.NoError(w.tb, err)
	for p, state := range seen.State {
		w.broker.Trim(w.tb, w.log.Topic(kafka.TopicEvents).Name, int32(p), state.End)
	}
}

func TestAnEventThatCannotBeReadStopsNobody(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	w.consume("lexical")
	for _, value := range []string{"", "rubbish", "\x0a\x03abc"} {
		require.NoError(t, w.log.ProduceEvents(context.Background(), []kafka.Record{
			{Workspace: w.workspace, Value: []byte(value)},
		}))
	}
	pump := node("pump", "moves water")
	w.do(w.workspace, pump)
	w.indexed(w.workspace)
	require.Equal(t, []uuid.UUID{pump.ID}, w.found(w.workspace, "water"))
}

func TestTheStatusTellsHowFarTheWordsAre(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	w.do(w.workspace, node("pump", "moves water"), node("valve", "holds water"))
	status, err := w.graph.IndexStatus(t.Context(), w.workspace)
	require.NoError(t, err)
	require.EqualValues(t, 2, status.Text.Lag.Events)
	require.Zero(t, status.Text.Indexed)
	w.consume("lexical")
	w.indexed(w.workspace)
	status, err = w.graph.IndexStatus(t.Context(), w.workspace)
	require.NoError(t, err)
	require.Zero(t, status.Text.Lag.Events)
	require.EqualValues(t, 2, status.Text.Indexed)
	require.False(t, status.Text.Filling)
}

// A list that is due and needs no more than to be dropped, and one of a word that is no
// word of the workspace any more: the consumer sees to both.
func TestChampionListsAreMaintained(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	w.do(w.workspace, node("pump", "moves water"))
	_, err := w.look.Exec(
		t.Context(), `INSERT INTO lexical_champion_lists (workspace_id, term) VALUES ($1, 'water'), ($1, 'gone')`,
		w.workspace,
	)
	require.NoError(t, err)
	w.consume("lexical")
	w.eventually("the lists are seen to", func() bool {
		var lists int
		require.NoError(t, w.look.QueryRow(context.Background(), `SELECT count(*) FROM lexical_champion_lists`).Scan(&lists))
		return lists == 0
	})
}
