package commands_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/journal"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// tablesContaining returns the names of the tables that contain the text in any column, as text
// or as bytes.
func (f *fixture) tablesContaining(text string) (tables []string) {
	f.tb.Helper()
	ctx := context.Background()
	rows, err := f.conn.Query(ctx, `SELECT table_name FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name`)
	require.NoError(f.tb, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(f.tb, err)
	require.Greater(f.tb, len(names), 20)
	for _, name := range names {
		sql := fmt.Sprintf(
			`SELECT count(*) FROM %s t WHERE t::text LIKE '%%' || $1 || '%%' OR t::text LIKE '%%' || $2 || '%%'`,
			pgx.Identifier{name}.Sanitize(),
		)
		if f.queryInt(sql, text, hex.EncodeToString([]byte(text))) > 0 {
			tables = append(tables, name)
		}
	}
	return tables
}

// undo submits the UNDO of a command.
func (f *fixture) undo(command []byte) *eventsv1.Result {
	f.tb.Helper()
	return f.do(graph.Undo{Pick: graph.Pick{CommandID: uuid.UUID(command)}})
}

func TestWhatAPurgedNodeWasIsNowhereAndDoesNotComeBack(t *testing.T) {
	const secret = "Quintus"
	f := newFixture(t, kafkatest.NewKFake(t))
	f.consume()
	about := func(what string) *string { text := what + " of " + secret; return &text }
	other := node("other")
	kept := f.do(other)
	before := f.dump()
	require.NotContains(t, before, secret)

	private := node(secret)
	private.Description, private.Properties = about("description"), jsontext.Value(`{"Quintus": {"age": "Quintus"}}`)
	f.do(private)
	f.do(graph.UpdateNode{ID: private.ID, Name: about("name"), Properties: jsontext.Value(`{"more": "Quintus"}`)})
	link := edge(private.ID, other.ID)
	link.Properties = jsontext.Value(`{"Quintus": true}`)
	f.do(link)
	batch := f.request(graphrecord.Atomic, node("beside"), graph.UpdateNode{ID: private.ID, Description: about("another")})
	require.Nil(t, f.submit(batch).GetFailure())
	id := graphstore.GraphNodeID{Workspace: f.workspace, Node: private.ID}
	_, err := f.graph.RequestPurge(t.Context(), id)
	require.True(t, fault.Is(err, fault.Conflict), "the node is not deleted: %v", err)
	require.NoError(t, f.graph.PurgeNode(t.Context(), id), "a live node is not purged")
	require.Contains(t, f.tablesContaining(secret), "nodes")

	deletion := f.do(graph.DeleteNode{ID: private.ID})
	asked, err := f.graph.RequestPurge(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, graphstore.PurgeRequested, asked)
	require.Nil(t, f.undo(deletion.GetCommandId()).GetFailure(), "brought back before it is done")
	require.NoError(t, f.graph.PurgeNode(t.Context(), id))
	require.Equal(t, []string{"command_outcomes", "edges", "journal", "nodes"}, f.tablesContaining(secret))
	require.Zero(t, f.queryInt(`SELECT purge FROM nodes WHERE id = $1`, private.ID), "it is not to be purged any more")

	deletion = f.do(graph.DeleteNode{ID: private.ID})
	_, err = f.graph.RequestPurge(t.Context(), id)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, f.graph.PurgeNode(t.Context(), id))
		require.Empty(t, f.tablesContaining(secret))
		require.Equal(t, 2, f.queryInt(`SELECT purge FROM nodes WHERE id = $1`, private.ID))
	}
	asked, err = f.graph.RequestPurge(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, graphstore.PurgeDone, asked)
	_, err = f.graph.RequestPurge(t.Context(), graphstore.GraphNodeID{Workspace: f.workspace, Node: uuid.New()})
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)

	// The caches in memory and in Redis still contain the stacks from before the purge.
	require.Contains(t, string(f.undo(deletion.GetCommandId()).GetFailure().GetDetails()), "nothing_to_undo")
	undone := f.do(graph.Undo{})
	require.Equal(t, other.ID[:], undone.GetNode().GetId(), "the newest command that does not touch it")
	require.Equal(t, kept.GetCommandId(), undone.GetTarget().GetCommandId())
	require.Contains(t, string(f.do(graph.Undo{}).GetFailure().GetDetails()), "nothing_to_undo")
	require.Nil(t, f.do(graph.Redo{}).GetFailure())
	require.Contains(t, string(f.do(graph.Redo{}).GetFailure().GetDetails()), "nothing_to_redo")
	require.Empty(t, f.tablesContaining(secret))

	sizes, _, err := f.graph.NodeHistory(t.Context(), f.workspace, private.ID, journal.HistoryPage{Limit: 100})
	require.NoError(t, err)
	changes, err := f.graph.Changes(t.Context(), f.workspace, sizes)
	require.NoError(t, err)
	require.Len(t, changes, 7, "that something was done stays")
	require.Equal(t, graphrecord.PurgedName, changes[0].GetSteps()[0].GetNode().GetName())
}

func TestAPurgeOfManyChangesRunsInBatches(t *testing.T) {
	const secret = "Quintus"
	f := newFixture(t, kafkatest.NewKFake(t))
	f.consume()
	private := node(secret)
	f.do(private)
	const updates = 1_200 // more than one transaction reads
	for range updates / 100 {
		actions := make([]graph.Payload, 100)
		for i := range actions {
			text := fmt.Sprint(secret, i)
			actions[i] = graph.UpdateNode{ID: private.ID, Description: &text}
		}
		require.Nil(t, f.submit(f.request(graphrecord.Separate, actions...)).GetFailure())
	}
	f.do(graph.DeleteNode{ID: private.ID})
	require.Equal(t, updates+2, f.queryInt(`SELECT count(*) FROM undo_entries`))
	id := graphstore.GraphNodeID{Workspace: f.workspace, Node: private.ID}
	_, err := f.graph.RequestPurge(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, f.graph.PurgeNode(t.Context(), id))
	require.Empty(t, f.tablesContaining(secret))
	require.Zero(t, f.queryInt(`SELECT count(*) FROM undo_entries WHERE cancelled_by <> sequence`))
	require.Contains(t, string(f.do(graph.Undo{}).GetFailure().GetDetails()), "nothing_to_undo")
}
