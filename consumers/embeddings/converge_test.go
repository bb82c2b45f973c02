package embeddings_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// words are what random texts are made of; some have no vector.
var words = strings.Fields(
	"pump boiler valve sensor disk fills process network alarm 😀 สวัสดี motor belt hall night shift oil leak hot cold",
)

func (w *world) words(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(words[w.random.IntN(len(words))] + " ")
		if w.random.IntN(9) == 0 {
			b.WriteString(". ")
		}
	}
	return b.String()
}

// anything makes a random command on a workspace whose nodes are known.
func (w *world) anything(nodes *[]uuid.UUID) graph.Payload {
	pick := func() uuid.UUID {
		if len(*nodes) == 0 {
			return uuid.New()
		}
		return (*nodes)[w.random.IntN(len(*nodes))]
	}
	switch w.random.IntN(10) {
	case 0, 1, 2:
		n := node(w.words(1+w.random.IntN(3)), w.words(w.random.IntN(30)))
		if w.random.IntN(5) == 0 {
			n.Description = text(w.words(200 + w.random.IntN(600)))
		}
		*nodes = append(*nodes, n.ID)
		return n
	case 3, 4:
		return graph.UpdateNode{ID: pick(), Description: text(w.words(w.random.IntN(400)))}
	case 5:
		return graph.UpdateNode{ID: pick(), Properties: []byte(fmt.Sprintf(
			`{"maker":%q,"n":%d}`, w.words(2), w.random.IntN(9),
		))}
	case 6:
		return graph.DeleteNode{ID: pick()}
	case 7:
		return graph.CreateEdge{ID: uuid.New(), SourceID: pick(), TargetID: pick(), RelationType: "feeds"}
	case 8:
		return graph.Undo{}
	default:
		return graph.Redo{}
	}
}

func TestTheIndexConvergesWhateverBecomesOfConsumersAndEvents(t *testing.T) {
	w := newWorld(t)
	tenants := []uuid.UUID{w.tenant(), w.tenant(), w.tenant()}
	nodes := make([][]uuid.UUID, len(tenants))
	impatient := func(d *embeddings.Deps) { d.Config.Grace = time.Millisecond } // what is in flight is cut off
	for round := range 8 {
		_, stopFirst := w.index(impatient)
		_, stopSecond := w.index(impatient, func(d *embeddings.Deps) {
			if round%3 == 2 {
				d.Config.Group += fmt.Sprint(round) // everything once more, beside what is new
			}
		})
		for range 4 {
			tenant := w.random.IntN(len(tenants))
			var payloads []graph.Payload
			for range 1 + w.random.IntN(12) {
				payloads = append(payloads, w.anything(&nodes[tenant]))
			}
			w.do(tenants[tenant], payloads...)
		}
		if round%4 == 1 {
			_, err := w.graph.RequestReindex(context.Background(), "test")
			require.NoError(t, err)
		}
		stopFirst()
		stopSecond()
	}
	w.index()
	w.converges(tenants...)
	for _, tenant := range tenants {
		w.status(tenant, ready)
	}
}

func TestEventsThatAreLostAreNotNeeded(t *testing.T) {
	w := newWorld(t)
	_, stop := w.index()
	a, b := w.tenant(), w.tenant()
	first := node("First", "Stays and changes.")
	w.do(a, first)
	w.do(b, node("B", "Before."))
	w.converges(a, b)
	stop()

	w.do(a, node("Second", "Its event is lost."), graph.UpdateNode{ID: first.ID, Description: text("Other.")})
	w.do(b, node("C", "Its event is lost, and none follows."))
	w.eventually("the events are in the log", func() bool {
		left, err := w.graph.UnpublishedWorkspaces(context.Background(), uuid.Nil, 10)
		return err == nil && len(left) == 0
	})
	state, err := w.log.ObserveTopic(context.Background(), kafka.TopicEvents)
	require.NoError(t, err)
	for p, s := range state.State {
		w.broker.Trim(t, w.log.Topic(kafka.TopicEvents).Name, int32(p), s.End)
	}
	w.index()
	w.do(a, node("Third", "Its event tells of the gap."))
	w.converges(a, b)
}

func TestADeletedWorkspaceLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.index()
	a, b := w.tenant(), w.tenant()
	w.do(a, node("Pump", "It pumps."), node("Belt", strings.Repeat("It runs. ", 300)))
	w.do(b, node("Pump", "It pumps."))
	w.converges(a, b)
	eraser := embeddings.Eraser{Graph: w.graph, Vectors: w.vectors}
	rows, err := eraser.WorkspaceRows(context.Background(), a)
	require.NoError(t, err)
	require.EqualValues(t, len(w.wanted(a)), rows)

	require.NoError(t, w.graph.DeleteWorkspace(context.Background(), a, "req"))
	for range 2 { // it may be done twice
		require.NoError(t, eraser.EraseWorkspace(context.Background(), a, func(int64) error { return nil }))
	}
	require.Empty(t, w.wanted(a))
	w.converges(a, b)
	rows, err = eraser.WorkspaceRows(context.Background(), a)
	require.NoError(t, err)
	require.Zero(t, rows)
	_, stop := w.index(func(d *embeddings.Deps) { d.Config.Group += "again" }) // all events once more
	w.converges(a, b)
	stop()
	nodes, err := w.graph.IndexedNodes(context.Background(), func() uuid.UUID {
		i, _ := w.live()
		return i.ID
	}(), refs(a, w))
	require.NoError(t, err)
	require.Empty(t, nodes)
}

func refs(workspace uuid.UUID, w *world) (all []textindex.NodeRef) {
	changed, err := w.graph.ChangedNodes(context.Background(), workspace, textindex.ChangedNode{}, math.MaxInt64, 1000)
	require.NoError(w.tb, err)
	for _, n := range changed {
		all = append(all, textindex.NodeRef{Workspace: workspace, Node: n.ID})
	}
	return all
}

// TestACommitBeyondTheLogIsNotBelieved moves the group beyond the end of the log, where
// no event is, and leaves it to events alone to bring the index up to date.
func TestACommitBeyondTheLogIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	byEvents := func(d *embeddings.Deps) { d.Config.BehindAfter = time.Hour }
	_, stop := w.index(byEvents)
	a := w.tenant()
	w.do(a, node("First", "Before."))
	w.converges(a)
	stop()

	client, err := kgo.NewClient(w.broker.Opts()...)
	require.NoError(t, err)
	defer client.Close()
	admin, topic := kadm.NewClient(client), w.log.Topic(kafka.TopicEvents).Name
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	var beyond kadm.Offsets
	ends.Each(func(end kadm.ListedOffset) { beyond.AddOffset(topic, end.Partition, end.Offset+1000, -1) })
	answer, err := admin.CommitOffsets(t.Context(), w.config.Group, beyond)
	require.NoError(t, err)
	require.NoError(t, answer.Error())

	w.index(byEvents)
	w.do(a, node("Second", "After."))
	w.converges(a)
}
