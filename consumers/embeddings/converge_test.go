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
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/internal/graph"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// vocabulary contains the words of random texts. Some have no vector.
var vocabulary = strings.Fields(
	"pump boiler valve sensor disk fills process network alarm 😀 สวัสดี motor belt hall night shift oil leak hot cold",
)

func (f *fixture) randomText(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(vocabulary[f.random.IntN(len(vocabulary))] + " ")
		if f.random.IntN(9) == 0 {
			b.WriteString(". ")
		}
	}
	return b.String()
}

// randomCommand returns a random command on a workspace with the given nodes. It appends the IDs
// of created nodes to nodes.
func (f *fixture) randomCommand(nodes *[]uuid.UUID) graph.Payload {
	pick := func() uuid.UUID {
		if len(*nodes) == 0 {
			return uuid.New()
		}
		return (*nodes)[f.random.IntN(len(*nodes))]
	}
	switch f.random.IntN(10) {
	case 0, 1, 2:
		n := node(f.randomText(1+f.random.IntN(3)), f.randomText(f.random.IntN(30)))
		if f.random.IntN(5) == 0 {
			n.Description = text(f.randomText(200 + f.random.IntN(600)))
		}
		*nodes = append(*nodes, n.ID)
		return n
	case 3, 4:
		return graph.UpdateNode{ID: pick(), Description: text(f.randomText(f.random.IntN(400)))}
	case 5:
		return graph.UpdateNode{ID: pick(), Properties: []byte(fmt.Sprintf(
			`{"maker":%q,"n":%d}`, f.randomText(2), f.random.IntN(9),
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
	f := newFixture(t)
	tenants := []uuid.UUID{f.newWorkspace(), f.newWorkspace(), f.newWorkspace()}
	nodes := make([][]uuid.UUID, len(tenants))
	impatient := func(d *embeddings.Deps) { d.Config.Grace = time.Millisecond } // batches in flight are interrupted
	for round := range 8 {
		_, stopFirst := f.runConsumer(impatient)
		_, stopSecond := f.runConsumer(impatient, func(d *embeddings.Deps) {
			if round%3 == 2 {
				d.Config.Group += fmt.Sprint(round) // also reads all events again
			}
		})
		for range 4 {
			tenant := f.random.IntN(len(tenants))
			var payloads []graph.Payload
			for range 1 + f.random.IntN(12) {
				payloads = append(payloads, f.randomCommand(&nodes[tenant]))
			}
			f.do(tenants[tenant], payloads...)
		}
		if round%4 == 1 {
			_, err := f.graph.RequestReindex(context.Background(), "test")
			require.NoError(t, err)
		}
		stopFirst()
		stopSecond()
	}
	f.runConsumer()
	f.waitForConvergence(tenants...)
	for _, tenant := range tenants {
		f.waitForStatus(tenant, ready)
	}
}

func TestEventsThatAreLostAreNotNeeded(t *testing.T) {
	f := newFixture(t)
	_, stop := f.runConsumer()
	a, b := f.newWorkspace(), f.newWorkspace()
	first := node("First", "Stays and changes.")
	f.do(a, first)
	f.do(b, node("B", "Before."))
	f.waitForConvergence(a, b)
	stop()

	f.do(a, node("Second", "Its event is lost."), graph.UpdateNode{ID: first.ID, Description: text("Other.")})
	f.do(b, node("C", "Its event is lost, and none follows."))
	f.eventually("the events are in the log", func() bool {
		left, err := f.graph.UnpublishedWorkspaces(context.Background(), uuid.Nil, 10)
		return err == nil && len(left) == 0
	})
	state, err := f.log.ObserveTopic(context.Background(), kafka.TopicEvents)
	require.NoError(t, err)
	for p, s := range state.State {
		f.broker.Trim(t, f.log.Topic(kafka.TopicEvents).Name, int32(p), s.End)
	}
	f.runConsumer()
	f.do(a, node("Third", "Its event reveals the gap."))
	f.waitForConvergence(a, b)
}

func TestADeletedWorkspaceLeavesNothing(t *testing.T) {
	f := newFixture(t)
	f.runConsumer()
	a, b := f.newWorkspace(), f.newWorkspace()
	f.do(a, node("Pump", "It pumps."), node("Belt", strings.Repeat("It runs. ", 300)))
	f.do(b, node("Pump", "It pumps."))
	f.waitForConvergence(a, b)
	eraser := embeddings.Eraser{Texts: f.graph.Texts, Vectors: f.vectors}
	rows, err := eraser.WorkspaceRows(context.Background(), a)
	require.NoError(t, err)
	require.EqualValues(t, len(f.expectedVectors(a)), rows)

	require.NoError(t, f.graph.DeleteWorkspace(context.Background(), a, "req"))
	for range 2 { // erasing is idempotent
		require.NoError(t, eraser.EraseWorkspace(context.Background(), a, func(int64) error { return nil }))
	}
	require.Empty(t, f.expectedVectors(a))
	f.waitForConvergence(a, b)
	rows, err = eraser.WorkspaceRows(context.Background(), a)
	require.NoError(t, err)
	require.Zero(t, rows)
	_, stop := f.runConsumer(func(d *embeddings.Deps) { d.Config.Group += "again" }) // reads all events again
	f.waitForConvergence(a, b)
	stop()
	nodes, err := f.graph.IndexedNodes(context.Background(), func() uuid.UUID {
		i, _ := f.live()
		return i.ID
	}(), refs(a, f))
	require.NoError(t, err)
	require.Empty(t, nodes)
}

func refs(workspace uuid.UUID, f *fixture) (all []textindex.NodeRef) {
	changed, err := f.graph.ChangedNodes(context.Background(), workspace, textindex.ChangedNode{}, math.MaxInt64, 1000)
	require.NoError(f.tb, err)
	for _, n := range changed {
		all = append(all, textindex.NodeRef{Workspace: workspace, Node: n.ID})
	}
	return all
}

// TestACommitBeyondTheLogIsIgnored commits offsets beyond the end of the log and lets only
// events update the index.
func TestACommitBeyondTheLogIsIgnored(t *testing.T) {
	f := newFixture(t)
	byEvents := func(d *embeddings.Deps) { d.Config.BehindAfter = time.Hour }
	_, stop := f.runConsumer(byEvents)
	a := f.newWorkspace()
	f.do(a, node("First", "Before."))
	f.waitForConvergence(a)
	stop()

	client, err := kgo.NewClient(f.broker.Opts()...)
	require.NoError(t, err)
	defer client.Close()
	admin, topic := kadm.NewClient(client), f.log.Topic(kafka.TopicEvents).Name
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	var beyond kadm.Offsets
	ends.Each(func(end kadm.ListedOffset) { beyond.AddOffset(topic, end.Partition, end.Offset+1000, -1) })
	answer, err := admin.CommitOffsets(t.Context(), f.config.Group, beyond)
	require.NoError(t, err)
	require.NoError(t, answer.Error())

	f.runConsumer(byEvents)
	f.do(a, node("Second", "After."))
	f.waitForConvergence(a)
}

// TestAChangeAtTheEndOfABuildIsIndexed creates a workspace and its first node after the build has
// read all workspaces, and consumes the event before the index is live.
func TestAChangeAtTheEndOfABuildIsIndexed(t *testing.T) {
	f := newFixture(t)
	f.config.BehindAfter = time.Hour
	c := embeddings.New(embeddings.Deps{
		Log: f.log, Graph: f.graph, Vectors: f.vectors, Embedder: f.embedder, Config: f.config, Logger: f.logger,
	})
	finish, err := c.BuildIndex(t.Context())
	require.NoError(t, err)
	a, created := f.newWorkspace(), node("Late", "Created while the index is verified.")
	f.do(a, created)
	event, err := proto.Marshal(&eventsv1.GraphEvent{
		WorkspaceId: a[:], Parts: 1, Change: &eventsv1.Change{
			Sequence: 1, Steps: []*eventsv1.Step{{After: &eventsv1.Step_Node{Node: &eventsv1.Node{Id: created.ID[:]}}}},
		},
	})
	require.NoError(t, err)
	require.NoError(t, c.StoreEvent(t.Context(), event))
	require.NoError(t, finish(t.Context()))
	f.waitForConvergence(a)
}
