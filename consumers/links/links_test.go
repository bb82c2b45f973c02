package links_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/lexical"
	"github.com/livegraph/livegraph/consumers/links"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/linkstore"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/consumertest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// fixture is a workspace with running consumers of commands and of the text index, and a linker.
type fixture struct {
	tb        testing.TB
	log       *kafka.Client
	graph     *stores.DB
	conn      *pgx.Conn
	workspace uuid.UUID
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	ctx := context.Background()
	broker := kafkatest.NewKFake(tb)
	f := &fixture{tb: tb}
	url := pgtest.Migrated(tb)
	f.graph = consumertest.OpenDatabase(tb, url, 12)
	var err error
	f.conn, err = pgx.Connect(ctx, url)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.conn.Close(ctx) })
	f.log = consumertest.OpenLog(tb, broker, f.graph, 1)
	f.workspace = f.newWorkspace()
	consumertest.RunCommands(tb, broker, f.log, f.graph)
	testenv.RunInBackground(f.tb, lexical.New(lexical.Deps{
		Log: f.log, Graph: f.graph, Logger: testenv.Logger(),
		Config: lexical.Config{
			Group: broker.Prefix + "lexical", BatchWait: time.Millisecond, FetchBytes: 8 << 20, FillEvery: 20 * time.Millisecond,
			Behind: time.Hour,
		},
	}).Run)
	return f
}

func (f *fixture) newWorkspace() uuid.UUID {
	f.tb.Helper()
	workspace := consumertest.NewWorkspace(f.tb, f.graph)
	f.mode(workspace, linkstore.All)
	return workspace
}

func (f *fixture) mode(workspace uuid.UUID, mode linkstore.Mode) {
	f.tb.Helper()
	known, err := f.graph.SetLinkMode(context.Background(), workspace, mode)
	require.NoError(f.tb, err)
	require.True(f.tb, known)
}

// startLinker runs a linker.
func (f *fixture) startLinker() (stop func()) {
	f.tb.Helper()
	return testenv.RunInBackground(f.tb, links.New(links.Deps{
		Log: f.log, Graph: f.graph, Logger: testenv.Logger(), Interval: 10 * time.Millisecond,
	}).Run)
}

// do submits commands of a user one by one and waits until they are decided.
func (f *fixture) do(workspace uuid.UUID, payloads ...graph.Payload) {
	f.tb.Helper()
	consumertest.Do(f.tb, f.log, f.graph, workspace, workspace, payloads...)
}

// links waits until all nodes are compared and returns the links as "source -> target: text".
func (f *fixture) links(workspace uuid.UUID) []string {
	f.tb.Helper()
	ctx := context.Background()
	require.Eventually(f.tb, func() bool {
		index, err := f.graph.LexicalStatus(ctx, workspace)
		require.NoError(f.tb, err)
		status, err := f.graph.IndexStatus(ctx, workspace)
		require.NoError(f.tb, err)
		return index.Sequence == index.Head && !index.Filling && status.Links.Pending == 0
	}, testenv.WaitTimeout, 10*time.Millisecond, "all is linked")
	rows, err := f.conn.Query(ctx, `SELECT concat(s.name, ' -> ', t.name, ': ', e.properties -> 'link' ->> 'text')
		FROM edges e JOIN nodes s ON s.workspace_id = e.workspace_id AND s.id = e.source_id
		JOIN nodes t ON t.workspace_id = e.workspace_id AND t.id = e.target_id
		WHERE e.workspace_id = $1 AND NOT e.deleted AND e.relation_type = 'mentions' ORDER BY 1`, workspace)
	require.NoError(f.tb, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(f.tb, err)
	return list
}

func node(name, description string) graph.CreateNode {
	return graph.CreateNode{ID: uuid.New(), Name: name, EntityType: graph.Object, Description: &description}
}

func TestMentionsBecomeLinksAndFollowTheTexts(t *testing.T) {
	f := newFixture(t)
	stop := f.startLinker()
	pump := node("Pump 7", "Moves water to Hall 3 and to Hall 3's roof.")
	f.do(f.workspace, pump)
	require.Empty(t, f.links(f.workspace))
	hall := node("Hall 3", "Pump 7 is in the cellar. It is near Pump 8.")
	f.do(f.workspace, hall)
	require.Equal(t, []string{"Hall 3 -> Pump 7: Pump 7", "Pump 7 -> Hall 3: Hall 3"}, f.links(f.workspace),
		"an old text is linked to a new name")

	renamed, text := "Hall 4", "Moves water to hall 4."
	f.do(f.workspace, graph.UpdateNode{ID: hall.ID, Name: &renamed})
	require.Equal(t, []string{"Hall 4 -> Pump 7: Pump 7"}, f.links(f.workspace))
	f.do(f.workspace, graph.UpdateNode{ID: pump.ID, Description: &text})
	require.Equal(t, []string{"Hall 4 -> Pump 7: Pump 7", "Pump 7 -> Hall 4: hall 4"}, f.links(f.workspace))
	f.do(f.workspace, graph.Undo{})
	f.do(f.workspace, graph.Undo{})
	want := []string{"Hall 3 -> Pump 7: Pump 7", "Pump 7 -> Hall 3: Hall 3"}
	require.Equal(t, want, f.links(f.workspace), "an undo of the texts restores their links")

	f.do(f.workspace, graph.DeleteNode{ID: hall.ID})
	require.Empty(t, f.links(f.workspace))
	f.do(f.workspace, graph.Undo{})
	require.Equal(t, want, f.links(f.workspace))
	f.do(f.workspace, graph.Undo{}) // of the creation
	require.Empty(t, f.links(f.workspace), "links do not block it")
	f.do(f.workspace, graph.Redo{})
	require.Equal(t, want, f.links(f.workspace))

	stop()
	f.do(f.workspace, node("Pump 8", "Hall 3"))
	f.startLinker()
	require.Equal(t, append([]string{"Hall 3 -> Pump 7: Pump 7", "Hall 3 -> Pump 8: Pump 8", "Pump 7 -> Hall 3: Hall 3"},
		"Pump 8 -> Hall 3: Hall 3"), f.links(f.workspace), "what happened meanwhile is not lost")
}

func TestLinksFollowTheExplanationOfAName(t *testing.T) {
	f := newFixture(t)
	f.startLinker()
	target := node("Night Heat (director)", "A name.")
	f.do(f.workspace, target, node("Report", "It was directed by Night Heat, and photographed."))
	linked := []string{"Report -> Night Heat (director): Night Heat"}
	require.Equal(t, linked, f.links(f.workspace))
	rename := func(name string) { f.do(f.workspace, graph.UpdateNode{ID: target.ID, Name: &name}) }
	rename("Night Heat (singer)")
	require.Empty(t, f.links(f.workspace))
	rename("Night Heat (photographer)")
	require.Equal(t, []string{"Report -> Night Heat (photographer): Night Heat"}, f.links(f.workspace))
}

func TestALinkThatAUserDeletedStaysDeletedUntilATextChanges(t *testing.T) {
	f := newFixture(t)
	f.startLinker()
	pump, hall := node("Pump 7", "Moves water to Hall 3."), node("Hall 3", "A large hall.")
	f.do(f.workspace, pump, hall)
	require.Len(t, f.links(f.workspace), 1)
	var id uuid.UUID
	require.NoError(t, f.conn.QueryRow(t.Context(), `SELECT id FROM edges WHERE workspace_id = $1 AND NOT deleted`,
		f.workspace).Scan(&id))
	f.do(f.workspace, graph.DeleteEdge{ID: id})
	f.mode(f.workspace, linkstore.Off)
	f.mode(f.workspace, linkstore.All) // compares all nodes
	require.Empty(t, f.links(f.workspace))
	text := "Moves very much water to Hall 3."
	f.do(f.workspace, graph.UpdateNode{ID: pump.ID, Description: &text})
	require.Len(t, f.links(f.workspace), 1)
}

func TestLinksAreSwitchedByWorkspaceAndStayInIt(t *testing.T) {
	f := newFixture(t)
	f.startLinker()
	other := f.newWorkspace()
	mark := func(n graph.CreateNode) graph.CreateNode {
		n.Properties, _ = json.Marshal(map[string]any{"document": map[string]any{
			"id": n.ID, "externalId": n.Name, "title": n.Name,
		}})
		return n
	}
	document, plain := mark(node("Report", "Pump 7 and Plan B are loud.")), node("Plan B", "See Pump 7 and the Report.")
	f.do(f.workspace, document, plain, node("Pump 7", "x"))
	f.do(other, node("Plan B", "See Pump 7."))
	all := []string{"Plan B -> Pump 7: Pump 7", "Plan B -> Report: Report", "Report -> Plan B: Plan B",
		"Report -> Pump 7: Pump 7"}
	require.Equal(t, all, f.links(f.workspace))
	require.Empty(t, f.links(other), "the pump is in the other workspace")
	f.mode(f.workspace, linkstore.Documents)
	require.Equal(t, all[2:], f.links(f.workspace))
	f.mode(f.workspace, linkstore.Off)
	require.Empty(t, f.links(f.workspace))
	f.do(f.workspace, node("Pump 9", "Report"))
	require.Empty(t, f.links(f.workspace))
	f.mode(f.workspace, linkstore.All)
	require.Equal(t, append(all[:2:2], "Pump 9 -> Report: Report", "Report -> Plan B: Plan B", "Report -> Pump 7: Pump 7"),
		f.links(f.workspace))
}

// TestTheLinksAreTheSameHoweverOftenTheLinkerStops stops and starts two linkers while nodes are written.
func TestTheLinksAreTheSameHoweverOftenTheLinkerStops(t *testing.T) {
	f := newFixture(t)
	const nodes = 40
	var want []string
	for i := range nodes {
		f.do(f.workspace, node(fmt.Sprintf("Machine %d", i), fmt.Sprintf("Feeds Machine %d.", (i+1)%nodes)))
		if i%8 == 0 {
			stop, second := f.startLinker(), f.startLinker()
			time.Sleep(20 * time.Millisecond)
			stop()
			second()
		}
	}
	f.startLinker()
	for i := range nodes {
		next := (i + 1) % nodes
		want = append(want, fmt.Sprintf("Machine %d -> Machine %d: Machine %d", i, next, next))
	}
	require.ElementsMatch(t, want, f.links(f.workspace))
}
