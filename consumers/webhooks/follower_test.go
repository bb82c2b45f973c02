package webhooks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/webhooks"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/test/consumertest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// graphs is a fixture with a log and a consumer of commands.
type graphs struct {
	*fixture
	log *kafka.Client
}

func newGraphs(t *testing.T) *graphs {
	t.Helper()
	f := &graphs{fixture: newFixture(t)}
	broker := kafkatest.NewKFake(t)
	f.log = consumertest.OpenLog(t, broker, f.db.DB, 1)
	consumertest.RunCommands(t, broker, f.log, f.db.DB)
	return f
}

// follow queues changes until stop is called or the test ends.
func (f *graphs) follow() (stop func()) {
	f.Helper()
	return testenv.RunInBackground(f, webhooks.NewFollower(webhooks.FollowerDeps{
		Store: f.db, Queue: webhooks.NewQueue(f.db, nil), Interval: 5 * time.Millisecond, Logger: testenv.Logger(),
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

// do submits commands one by one and waits until each is decided.
func (f *graphs) do(workspace uuid.UUID, payloads ...graph.Payload) {
	f.Helper()
	for _, payload := range payloads {
		consumertest.Do(f, f.log, f.db.DB, workspace, workspace, payload)
	}
}

// submit submits a command.
func (f *graphs) submit(workspace uuid.UUID, payload graph.Payload) graphstore.CommandRef {
	f.Helper()
	return consumertest.Submit(f, f.log, consumertest.NewRequest(workspace, workspace, graphrecord.Single, payload))
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

// count counts the deliveries of a webhook.
func (f *graphs) count(webhook uuid.UUID) (n int) {
	f.Helper()
	require.NoError(f, f.db.Pool().QueryRow(f.Context(), `SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $1`,
		webhook).Scan(&n))
	return n
}

// exec executes a statement.
func (f *graphs) exec(sql string, args ...any) {
	f.Helper()
	_, err := f.db.Pool().Exec(f.Context(), sql, args...)
	require.NoError(f, err)
}

// queued waits until a webhook has n deliveries and returns their bodies in the order of changes.
func (f *graphs) queued(webhook uuid.UUID, n int) (all []payload) {
	f.Helper()
	f.eventually(func() bool { return f.count(webhook) >= n }, "the events are queued")
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
	return slices.DeleteFunc(hooks.EventTypes(), func(event string) bool {
		return !strings.HasPrefix(event, "node.") && !strings.HasPrefix(event, "edge.")
	})
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
	pump, smith := newNode("Pump", graph.Object), newNode("Smith", graph.Actor)
	ofPump := f.subscribe("pump", graphEvents(), hooks.Filters{NodeIDs: []uuid.UUID{pump.ID}})
	alerts := f.subscribe("alerts", []string{hooks.AlertFiring}, hooks.Filters{})
	stop := f.follow()

	stranger := pgtest.Workspace(t, f.db, "live").ID
	f.do(stranger, newNode("of another workspace", graph.Actor))
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
	require.Equal(t, append(typesOf(bodies[:1]), typesOf(bodies[2:])...), typesOf(f.queued(ofPump, 9)), "not Smith")
	require.Empty(t, f.deliveries(alerts))

	// What happens while nobody follows is queued afterwards, by two at once, and nothing is queued twice.
	stop()
	names := []string{"first", "second", "third"}
	for _, name := range names {
		f.do(f.workspace, newNode(name, graph.Concept))
	}
	f.follow()
	f.follow()
	for i, body := range f.queued(all, 13)[10:] {
		require.Equal(t, names[i], body.Data.Node.Name)
	}
	ids := map[string]bool{}
	for _, body := range f.queued(all, 13) {
		ids[body.ID] = true
	}
	require.Len(t, ids, 13)
}

func TestAWebhookGetsWhatHappensAfterItsCreation(t *testing.T) {
	f := newGraphs(t)
	f.follow()
	for i := range 5 {
		webhook := f.subscribe(string(rune('a'+i)), []string{hooks.NodeCreated}, hooks.Filters{})
		n := newNode("n", graph.Object)
		f.do(f.workspace, n)
		bodies := f.queued(webhook, 1)
		require.Equal(t, n.ID.String(), bodies[0].Data.Node.ID)
		require.NoError(t, f.db.DeleteWebhook(t.Context(), f.workspace, webhook))
	}
}

func TestAWebhookGetsNothingOfTheTimeWhenItDidNotFollow(t *testing.T) {
	f := newGraphs(t)
	webhook := f.subscribe("w", []string{hooks.AlertFiring}, hooks.Filters{})
	change := func(change func(w *hooks.Webhook)) {
		_, err := f.db.UpdateWebhook(t.Context(), f.workspace, webhook, func(w *hooks.Webhook) error {
			change(w)
			return nil
		})
		require.NoError(t, err)
	}
	f.do(f.workspace, newNode("not subscribed", graph.Object))
	change(func(w *hooks.Webhook) { w.Events = []string{hooks.NodeCreated} })
	f.do(f.workspace, newNode("one", graph.Object))
	f.follow()
	require.Equal(t, "one", f.queued(webhook, 1)[0].Data.Node.Name)
	change(func(w *hooks.Webhook) { w.Enabled = false })
	f.do(f.workspace, newNode("disabled", graph.Object))
	change(func(w *hooks.Webhook) { w.Enabled = true })
	f.do(f.workspace, newNode("two", graph.Object))
	require.Equal(t, "two", f.queued(webhook, 2)[1].Data.Node.Name)
}

// TestChangesWaitForRoomInTheQueue has a webhook whose queue is full for a time, and a hub with more edges than one
// transaction queues.
func TestChangesWaitForRoomInTheQueue(t *testing.T) {
	f := newGraphs(t)
	full := f.subscribe("full", graphEvents(), hooks.Filters{})
	other := f.subscribe("other", graphEvents(), hooks.Filters{})
	f.exec(`INSERT INTO webhook_deliveries (id, webhook_id, workspace_id, event_id, event_type, payload)
		SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), 'node.created', '{}' FROM generate_series(1, $3)`,
		full, f.workspace, hooks.MaxPendingChanges-1)
	const edges = 2_300
	hub, leaf := newNode("hub", graph.Object), newNode("leaf", graph.Object)
	f.do(f.workspace, hub, leaf)
	for range edges {
		f.submit(f.workspace, graph.CreateEdge{ID: uuid.New(), SourceID: hub.ID, TargetID: leaf.ID, RelationType: "r"})
	}
	f.do(f.workspace, graph.DeleteNode{ID: hub.ID})
	f.follow()
	bodies := f.queued(other, 2+edges+1+edges)
	require.Equal(t, hooks.NodeDeleted, bodies[2+edges].Type)
	require.Equal(t, hooks.MaxPendingChanges-1, f.count(full), "there was no room for a change")

	f.exec(`UPDATE webhook_deliveries SET state = 'delivered', finished_at = now() WHERE webhook_id = $1`, full)
	f.eventually(func() bool { return f.count(full) == hooks.MaxPendingChanges-1+len(bodies) }, "all are queued")
	found, err := f.db.Webhook(t.Context(), f.workspace, full)
	require.NoError(t, err)
	require.Zero(t, found.Dropped)
	var same int
	require.NoError(t, f.db.Pool().QueryRow(t.Context(), `SELECT count(*) FROM webhook_deliveries a
		JOIN webhook_deliveries b USING (event_id) WHERE a.webhook_id = $1 AND b.webhook_id = $2`, full, other).Scan(&same))
	require.Equal(t, len(bodies), same, "the events of both are the same")
}

func TestLargeNodesAreDeliveredWithoutTheirTexts(t *testing.T) {
	f := newGraphs(t)
	webhook := f.subscribe("w", []string{hooks.NodeCreated}, hooks.Filters{})
	f.follow()
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
