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
	"github.com/livegraph/livegraph/test/kafkatest"
)

func TestWhatIsWrittenIsFoundAndWhatIsDeletedIsNot(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		c, _ := f.consume("lexical")
		pump, valve := node("pump", "moves water"), node("valve", "stops water")
		f.do(f.workspace, pump, valve)
		f.waitForIndex(f.workspace)
		require.ElementsMatch(t, []uuid.UUID{pump.ID, valve.ID}, f.search(f.workspace, "water"))

		oil := "moves oil"
		f.do(f.workspace, graph.UpdateNode{ID: pump.ID, Description: &oil})
		f.waitForIndex(f.workspace)
		require.Equal(t, []uuid.UUID{valve.ID}, f.search(f.workspace, "water"))
		require.Equal(t, []uuid.UUID{pump.ID}, f.search(f.workspace, "oil"))

		f.do(f.workspace, graph.DeleteNode{ID: pump.ID})
		f.waitForIndex(f.workspace)
		require.Empty(t, f.search(f.workspace, "oil"))
		f.do(f.workspace, graph.Undo{})
		f.waitForIndex(f.workspace)
		require.Equal(t, []uuid.UUID{pump.ID}, f.search(f.workspace, "oil"), "an undo restores it")
		f.do(f.workspace, graph.Redo{})
		f.waitForIndex(f.workspace)
		require.Empty(t, f.search(f.workspace, "oil"))
		require.Zero(t, c.Metrics().DeadLetters.Load())
	})
}

func TestReadingTheTopicAgainFromTheBeginningChangesNothing(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		_, stop := f.consume("lexical")
		r := rand.New(rand.NewPCG(1, 2))
		var nodes []graph.CreateNode
		for i := range 60 {
			n := node(fmt.Sprintf("pump %d", i), "moves water")
			nodes = append(nodes, n)
			f.do(f.workspace, n)
			text := fmt.Sprintf("line %d", r.IntN(5))
			switch target := nodes[r.IntN(len(nodes))].ID; r.IntN(3) {
			case 0:
				f.do(f.workspace, graph.DeleteNode{ID: target})
			case 1:
				f.do(f.workspace, graph.UpdateNode{ID: target, Description: &text})
			case 2:
				f.do(f.workspace, graph.Undo{})
			}
		}
		f.waitForIndex(f.workspace)
		before := f.dump()
		stop()
		c, _ := f.consume("lexical-again") // a group without committed offsets
		status, err := f.graph.LexicalStatus(t.Context(), f.workspace)
		require.NoError(t, err)
		f.eventually("everything is read again", func() bool { return c.Metrics().Records.Load() >= status.Head })
		require.Equal(t, before, f.dump())
	})
}

func TestTwoWorkspacesWithTheSameTextsNeverSeeEachOther(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	f.consume("lexical")
	other := f.newWorkspace()
	ours, theirs := node("pump 7", "secret water"), node("pump 7", "secret water")
	f.do(f.workspace, ours)
	f.do(other, theirs)
	f.waitForIndex(f.workspace)
	f.waitForIndex(other)
	require.Equal(t, []uuid.UUID{ours.ID}, f.search(f.workspace, "secret pump 7"))
	require.Equal(t, []uuid.UUID{theirs.ID}, f.search(other, "secret pump 7"))
	f.do(other, graph.DeleteNode{ID: theirs.ID})
	f.waitForIndex(other)
	require.Equal(t, []uuid.UUID{ours.ID}, f.search(f.workspace, "secret pump 7"))
	require.Empty(t, f.search(other, "secret pump 7"))
}

// TestWhatTheLogHasLostIsReadFromTheGraph covers a graph that is older than the index, and one that
// changed while no consumer ran. In both cases the log no longer contains the events.
func TestWhatTheLogHasLostIsReadFromTheGraph(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	var nodes []graph.Payload
	for i := range 30 {
		nodes = append(nodes, node(fmt.Sprintf("pump %d", i), "moves water"))
	}
	f.do(f.workspace, nodes...)
	f.do(f.workspace, graph.DeleteNode{ID: nodes[0].(graph.CreateNode).ID})
	f.trim()
	_, stop := f.consume("lexical")
	f.waitForIndex(f.workspace)
	require.Len(t, f.search(f.workspace, "water"), 29)
	turbine := node("turbine", "of steam")
	f.do(f.workspace, turbine)
	f.waitForIndex(f.workspace)
	require.Equal(t, []uuid.UUID{turbine.ID}, f.search(f.workspace, "steam"))

	stop()
	f.do(f.workspace, graph.DeleteNode{ID: turbine.ID}, node("boiler", "of copper"))
	f.trim()
	f.consume("lexical")
	f.do(f.workspace, node("kettle", "of tin"))
	f.waitForIndex(f.workspace)
	require.Empty(t, f.search(f.workspace, "steam"))
	require.Len(t, f.search(f.workspace, "copper"), 1)
	require.Len(t, f.search(f.workspace, "tin"), 1)
}

// trim waits until all changes are published and removes their events from the log.
func (f *fixture) trim() {
	f.tb.Helper()
	f.eventually("all is published", func() bool {
		var unpublished int
		require.NoError(f.tb, f.conn.QueryRow(context.Background(), `SELECT count(*) FROM graph_heads h
			LEFT JOIN graph_published p USING (workspace_id) WHERE h.sequence > COALESCE(p.sequence, 0)`).Scan(&unpublished))
		return unpublished == 0
	})
	seen, err := f.log.ObserveTopic(context.Background(), kafka.TopicEvents)
	require.NoError(f.tb, err)
	for p, state := range seen.State {
		f.broker.Trim(f.tb, f.log.Topic(kafka.TopicEvents).Name, int32(p), state.End)
	}
}

func TestAnEventThatCannotBeReadStopsNobody(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	f.consume("lexical")
	for _, value := range []string{"", "rubbish", "\x0a\x03abc"} {
		require.NoError(t, f.log.ProduceEvents(context.Background(), []kafka.Record{
			{Workspace: f.workspace, Value: []byte(value)},
		}))
	}
	pump := node("pump", "moves water")
	f.do(f.workspace, pump)
	f.waitForIndex(f.workspace)
	require.Equal(t, []uuid.UUID{pump.ID}, f.search(f.workspace, "water"))
}

func TestTheStatusHasTheProgressOfTheTextIndex(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	f.do(f.workspace, node("pump", "moves water"), node("valve", "holds water"))
	status, err := f.graph.IndexStatus(t.Context(), f.workspace)
	require.NoError(t, err)
	require.EqualValues(t, 2, status.Text.Lag.Events)
	require.Zero(t, status.Text.Indexed)
	f.consume("lexical")
	f.waitForIndex(f.workspace)
	status, err = f.graph.IndexStatus(t.Context(), f.workspace)
	require.NoError(t, err)
	require.Zero(t, status.Text.Lag.Events)
	require.EqualValues(t, 2, status.Text.Indexed)
	require.False(t, status.Text.Filling)
}

// TestChampionListsAreMaintained tests that the consumer drops a due list that is no longer needed,
// and the list of a term that the workspace no longer contains.
func TestChampionListsAreMaintained(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	f.do(f.workspace, node("pump", "moves water"))
	_, err := f.conn.Exec(
		t.Context(), `INSERT INTO lexical_champion_lists (workspace_id, term) VALUES ($1, 'water'), ($1, 'gone')`,
		f.workspace,
	)
	require.NoError(t, err)
	f.consume("lexical")
	f.eventually("the lists are dropped", func() bool {
		var lists int
		require.NoError(t, f.conn.QueryRow(context.Background(), `SELECT count(*) FROM lexical_champion_lists`).Scan(&lists))
		return lists == 0
	})
}
