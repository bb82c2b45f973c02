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
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/testenv"
)

// holders names the tables of the database that have the text in any column, as text or
// as bytes.
func (w *world) holders(text string) (tables []string) {
	w.tb.Helper()
	ctx := context.Background()
	rows, err := w.look.Query(ctx, `SELECT table_name FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name`)
	require.NoError(w.tb, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.tb, err)
	require.Greater(w.tb, len(names), 20)
	for _, name := range names {
		sql := fmt.Sprintf(
			`SELECT count(*) FROM %s t WHERE t::text LIKE '%%' || $1 || '%%' OR t::text LIKE '%%' || $2 || '%%'`,
			pgx.Identifier{name}.Sanitize(),
		)
		if w.number(sql, text, hex.EncodeToString([]byte(text))) > 0 {
			tables = append(tables, name)
		}
	}
	return tables
}

// undoOf asks for the UNDO of a command.
func (w *world) undoOf(command []byte) *eventsv1.Result {
	w.tb.Helper()
	return w.do(graph.Undo{Pick: graph.Pick{CommandID: uuid.UUID(command)}})
}

func TestWhatAPurgedNodeWasIsNowhereAndDoesNotComeBack(t *testing.T) {
	const secret = "Quintus"
	w := newWorld(t, testenv.NewKFake(t))
	w.consume()
	about := func(what string) *string { text := what + " of " + secret; return &text }
	other := node("other")
	kept := w.do(other)
	before := w.dump()
	require.NotContains(t, before, secret)

	private := node(secret)
	private.Description, private.Properties = about("description"), jsontext.Value(`{"Quintus": {"age": "Quintus"}}`)
	w.do(private)
	w.do(graph.UpdateNode{ID: private.ID, Name: about("name"), Properties: jsontext.Value(`{"more": "Quintus"}`)})
	link := edge(private.ID, other.ID)
	link.Properties = jsontext.Value(`{"Quintus": true}`)
	w.do(link)
	batch := w.request(graphrecord.Atomic, node("beside"), graph.UpdateNode{ID: private.ID, Description: about("another")})
	require.Nil(t, w.ask(batch).GetFailure())
	id := graphstore.GraphNodeID{Workspace: w.workspace, Node: private.ID}
	_, err := w.graph.RequestPurge(t.Context(), id)
	require.True(t, fault.Is(err, fault.Conflict), "it stands: %v", err)
	require.NoError(t, w.graph.PurgeNode(t.Context(), id), "of one that stands it does nothing")
	require.Contains(t, w.holders(secret), "nodes")

	deletion := w.do(graph.DeleteNode{ID: private.ID})
	asked, err := w.graph.RequestPurge(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, graphstore.PurgeAsked, asked)
	require.Nil(t, w.undoOf(deletion.GetCommandId()).GetFailure(), "brought back before it is done")
	require.NoError(t, w.graph.PurgeNode(t.Context(), id))
	require.Equal(t, []string{"command_outcomes", "edges", "journal", "nodes"}, w.holders(secret))
	require.Zero(t, w.number(`SELECT purge FROM nodes WHERE id = $1`, private.ID), "it is not to be purged any more")

	deletion = w.do(graph.DeleteNode{ID: private.ID})
	_, err = w.graph.RequestPurge(t.Context(), id)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, w.graph.PurgeNode(t.Context(), id))
		require.Empty(t, w.holders(secret))
		require.Equal(t, 2, w.number(`SELECT purge FROM nodes WHERE id = $1`, private.ID))
	}
	asked, err = w.graph.RequestPurge(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, graphstore.PurgeDone, asked)
	_, err = w.graph.RequestPurge(t.Context(), graphstore.GraphNodeID{Workspace: w.workspace, Node: uuid.New()})
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)

	// The consumer remembers the stacks of before, in memory and in Redis.
	require.Contains(t, string(w.undoOf(deletion.GetCommandId()).GetFailure().GetDetails()), "nothing_to_undo")
	undone := w.do(graph.Undo{})
	require.Equal(t, other.ID[:], undone.GetNode().GetId(), "the newest command that does not touch it")
	require.Equal(t, kept.GetCommandId(), undone.GetTarget().GetCommandId())
	require.Contains(t, string(w.do(graph.Undo{}).GetFailure().GetDetails()), "nothing_to_undo")
	require.Nil(t, w.do(graph.Redo{}).GetFailure())
	require.Contains(t, string(w.do(graph.Redo{}).GetFailure().GetDetails()), "nothing_to_redo")
	require.Empty(t, w.holders(secret))

	sizes, _, err := w.graph.NodeHistory(t.Context(), w.workspace, private.ID, graphread.HistoryPage{Limit: 100})
	require.NoError(t, err)
	changes, err := w.graph.Changes(t.Context(), w.workspace, sizes)
	require.NoError(t, err)
	require.Len(t, changes, 7, "that something was done stays")
	require.Equal(t, graphrecord.PurgedName, changes[0].GetSteps()[0].GetNode().GetName())
}

func TestAPurgeOfManyChangesGoesInPieces(t *testing.T) {
	const secret = "Quintus"
	w := newWorld(t, testenv.NewKFake(t))
	w.consume()
	private := node(secret)
	w.do(private)
	const updates = 1_200 // more than one transaction looks at
	for range updates / 100 {
		actions := make([]graph.Payload, 100)
		for i := range actions {
			text := fmt.Sprint(secret, i)
			actions[i] = graph.UpdateNode{ID: private.ID, Description: &text}
		}
		require.Nil(t, w.ask(w.request(graphrecord.Separate, actions...)).GetFailure())
	}
	w.do(graph.DeleteNode{ID: private.ID})
	require.Equal(t, updates+2, w.number(`SELECT count(*) FROM undo_entries`))
	id := graphstore.GraphNodeID{Workspace: w.workspace, Node: private.ID}
	_, err := w.graph.RequestPurge(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, w.graph.PurgeNode(t.Context(), id))
	require.Empty(t, w.holders(secret))
	require.Zero(t, w.number(`SELECT count(*) FROM undo_entries WHERE cancelled_by <> sequence`))
	require.Contains(t, string(w.do(graph.Undo{}).GetFailure().GetDetails()), "nothing_to_undo")
}
