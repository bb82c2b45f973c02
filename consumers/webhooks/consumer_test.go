package webhooks_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/consumers/webhooks"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// graphs is a fixture with a log and a consumer of commands.
type graphs struct {
	*fixture
	log    *kafka.Client
	prefix string
}

func newGraphs(t *testing.T) *graphs {
	t.Helper()
	f := &graphs{fixture: newFixture(t)}
	broker := testenv.NewKFake(t)
	f.prefix = broker.Prefix
	var err error
	f.log, err = kafka.Open(t.Context(), kafka.Options{
		Brokers: broker.Brokers(), Security: broker.Security(), TopicPrefix: broker.Prefix, BufferedBytes: 64 << 20,
		CommandsGroup: broker.Prefix + "commands", ProduceTimeout: time.Minute, Log: testenv.Logger(),
	})
	require.NoError(t, err)
	t.Cleanup(f.log.Close)
	limited, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	require.NoError(t, f.log.EnsureTopics(limited, kafka.TopicSettings{
		Partitions: 1, CommandsPartitions: 1, Replication: -1, RetentionBytes: 1 << 30,
	}))
	replies, err := redis.Open(t.Context(), redis.Options{URL: testenv.Redis(t)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = replies.Close() })
	f.background(commands.New(commands.Deps{
		Log: f.log, Graph: f.db.DB, Redis: replies, Logger: testenv.Logger(),
		Config: commands.Config{Group: broker.Prefix + "commands", FetchBytes: 8 << 20},
	}).Run)
	return f
}

// background runs work until stop is called or the test ends.
func (f *graphs) background(work func(context.Context) error) (stop func()) {
	f.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	stop = func() {
		cancel()
		err := <-done
		require.NoError(f, err)
		done <- nil
	}
	f.Cleanup(stop)
	return stop
}

// consume runs a consumer with a group.
func (f *graphs) consume(group string) (stop func()) {
	f.Helper()
	return f.background(webhooks.NewConsumer(webhooks.ConsumerDeps{
		Log: f.log, Store: f.db, Queue: webhooks.NewQueue(f.db, nil), Group: f.prefix + group,
		BatchWait: 5 * time.Millisecond, Logger: testenv.Logger(),
	}).Run)
}

// subscribe creates a webhook to which nothing is sent.
func (f *graphs) subscribe(name string, events []string, filters hooks.Filters) uuid.UUID {
	f.Helper()
	w, _, err := f.db.CreateWebhook(f.Context(), &hooks.Webhook{
		Workspace: f.workspace, Name: name, URL: "https://hooks.example.com", Events: events, Filters: filters, Enabled: true,
	})
	require.NoError(f, err)
	return w.ID
}

// do submits commands one by one and waits until they are decided.
func (f *graphs) do(workspace uuid.UUID, payloads ...graph.Payload) {
	f.Helper()
	for _, payload := range payloads {
		r := &graphrecord.Request{
			Workspace: workspace, Mode: graphrecord.Single, ID: uuid.New(), Actions: []graph.Action{{Payload: payload}},
			Origin: graph.Origin{
				Actor: workspace, Scopes: []string{"write:nodes", "write:edges"}, AcceptedAt: time.Now(), RequestID: "req_1",
			},
		}
		value, err := graphrecord.EncodeRequest(r)
		require.NoError(f, err)
		require.NoError(f, f.log.ProduceCommand(f.Context(), kafka.Record{
			Workspace: workspace, Value: value, RequestID: r.RequestID,
		}))
		ref := graphstore.CommandRef{Workspace: workspace, ID: r.ID}
		f.eventually(func() bool {
			found, err := f.db.CommandOutcomes(f.Context(), []graphstore.CommandRef{ref})
			require.NoError(f, err)
			return found[ref] != nil
		}, "the command is decided")
	}
}

// payload is the body of a delivery.
type payload struct {
	ID, Type, WorkspaceID string
	Data                  struct {
		Sequence  int64
		Truncated bool
		CascadeOf string
		Node      *struct {
			ID, Name, EntityType string
			Properties           map[string]any
		}
		Edge *struct{ ID, SourceID, RelationType string }
	}
}

// queued waits until a webhook has n deliveries and returns their bodies in the order of changes.
func (f *graphs) queued(webhook uuid.UUID, n int) (all []payload) {
	f.Helper()
	f.eventually(func() bool { return len(f.deliveries(webhook)) >= n }, "the events are queued")
	rows, err := f.db.Pool().Query(f.Context(), `SELECT payload FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id`,
		webhook)
	require.NoError(f, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(f, rows.Scan(&text))
		var p payload
		require.NoError(f, json.Unmarshal([]byte(text), &p))
		require.Equal(f, f.workspace.String(), p.WorkspaceID)
		all = append(all, p)
	}
	require.NoError(f, rows.Err())
	require.Len(f, all, n)
	return all
}

func typesOf(all []payload) (types []string) {
	for i := range all {
		types = append(types, all[i].Type)
	}
	return types
}

func graphEvents() []string {
	return slices.DeleteFunc(hooks.EventTypes(), func(event string) bool { return strings.HasPrefix(event, "alert.") })
}

func newNode(name string, entity graph.EntityType) graph.CreateNode {
	return graph.CreateNode{ID: uuid.New(), Name: name, EntityType: entity}
}

func TestChangesOfAGraphAreEventsForWebhooksThatSelectThem(t *testing.T) {
	f := newGraphs(t)
	all := f.subscribe("all", graphEvents(), hooks.Filters{})
	actors := f.subscribe("actors", []string{hooks.NodeCreated}, hooks.Filters{EntityTypes: []string{"actor"}})
	feeds := f.subscribe("feeds", []string{hooks.EdgeCreated, hooks.EdgeDeleted},
		hooks.Filters{RelationTypes: []string{"feeds"}})
	alerts := f.subscribe("alerts", []string{hooks.AlertFiring}, hooks.Filters{})
	stop := f.consume("a")

	stranger := pgtest.Workspace(t, f.db, "live").ID
	f.do(stranger, newNode("of another workspace", graph.Actor))
	pump, smith := newNode("Pump", graph.Object), newNode("Smith", graph.Actor)
	owns := graph.CreateEdge{ID: uuid.New(), SourceID: smith.ID, TargetID: pump.ID, RelationType: "owns"}
	fed := graph.CreateEdge{ID: uuid.New(), SourceID: pump.ID, TargetID: smith.ID, RelationType: "feeds"}
	renamed := "Pump 7"
	f.do(f.workspace, pump, smith, owns, fed, graph.UpdateNode{ID: pump.ID, Name: &renamed},
		graph.DeleteEdge{ID: owns.ID}, graph.DeleteNode{ID: pump.ID}, graph.Undo{})
	bodies := f.queued(all, 10)
	require.Equal(t, []string{
		hooks.NodeCreated, hooks.NodeCreated, hooks.EdgeCreated, hooks.EdgeCreated, hooks.NodeUpdated, hooks.EdgeDeleted,
		hooks.NodeDeleted, hooks.EdgeDeleted, hooks.NodeCreated, hooks.EdgeCreated,
	}, typesOf(bodies))
	require.Equal(t, "Pump 7", bodies[4].Data.Node.Name)
	require.EqualValues(t, 5, bodies[4].Data.Sequence)
	require.Equal(t, fed.ID.String(), bodies[7].Data.Edge.ID, "it was deleted with the node")
	require.Equal(t, pump.ID.String(), bodies[7].Data.Edge.SourceID)
	require.Equal(t, "feeds", bodies[7].Data.Edge.RelationType)
	require.Equal(t, pump.ID.String(), bodies[7].Data.CascadeOf)
	require.Equal(t, smith.ID.String(), f.queued(actors, 1)[0].Data.Node.ID)
	for _, body := range f.queued(feeds, 3) {
		require.Equal(t, fed.ID.String(), body.Data.Edge.ID)
	}
	require.Empty(t, f.deliveries(alerts))

	// Another group consumes everything again. An event that follows shows that it has done so.
	stop()
	f.consume("b")
	f.do(f.workspace, newNode("last", graph.Concept))
	require.Equal(t, "last", f.queued(all, 11)[10].Data.Node.Name)
	ids := map[string]bool{}
	for _, body := range f.queued(all, 11) {
		ids[body.ID] = true
	}
	require.Len(t, ids, 11)
}

func TestAWebhookGetsWhatHappensAfterItsCreation(t *testing.T) {
	f := newGraphs(t)
	f.consume("a")
	for i := range 5 {
		webhook := f.subscribe(string(rune('a'+i)), []string{hooks.NodeCreated}, hooks.Filters{})
		n := newNode("n", graph.Object)
		f.do(f.workspace, n)
		bodies := f.queued(webhook, 1)
		require.Equal(t, n.ID.String(), bodies[0].Data.Node.ID)
		require.NoError(t, f.db.DeleteWebhook(t.Context(), f.workspace, webhook))
	}
}

func TestLargeNodesAreDeliveredWithoutTheirTexts(t *testing.T) {
	f := newGraphs(t)
	webhook := f.subscribe("w", []string{hooks.NodeCreated}, hooks.Filters{})
	f.consume("a")
	large := newNode("large", graph.Object)
	// A character that has six bytes in JSON.
	text := strings.Repeat("<", graph.MaxDescription)
	large.Properties, large.Description = []byte(`{"a":1}`), &text
	f.do(f.workspace, large)
	body := f.queued(webhook, 1)[0]
	require.True(t, body.Data.Truncated)
	require.Empty(t, body.Data.Node.Properties)
	require.Equal(t, "large", body.Data.Node.Name)
}
