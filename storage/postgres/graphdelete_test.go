package postgres_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres"
)

func TestAWorkspaceTakesItsGraphWithIt(t *testing.T) {
	w := newGraphWorld(t)
	gone, stays := w.workspace(t), w.workspace(t)
	w.group(t, gone, newGroupNodes(20), false)
	w.group(t, stays, newGroupNodes(20), true)
	require.NoError(t, w.db.Published(t.Context(), map[uuid.UUID]int64{gone: 20}))

	count := func(rows *int64) func(int64) error { return func(n int64) error { *rows += n; return nil } }
	var removed, spared int64
	require.NoError(t, w.db.EraseWorkspace(t.Context(), stays, count(&spared)))
	require.Zero(t, spared, "of a workspace that stands nothing is removed")
	require.NoError(t, w.db.DeleteWorkspace(t.Context(), gone, "test"))
	found, err := w.db.WorkspaceRows(t.Context(), gone)
	require.NoError(t, err)
	require.NoError(t, w.db.EraseWorkspace(t.Context(), gone, count(&removed)))
	require.Equal(t, found, removed)
	for _, table := range []string{
		"nodes", "edges", "journal", "journal_nodes", "undo_entries", "command_outcomes", "graph_totals", "graph_published", "graph_heads",
	} {
		var left, others int
		require.NoError(t, w.look.QueryRow(context.Background(), `SELECT count(*) FILTER (WHERE workspace_id = $1),
			count(*) FILTER (WHERE workspace_id = $2) FROM `+table, gone, stays).Scan(&left, &others))
		require.Zero(t, left, table)
		if table != "edges" && table != "graph_published" {
			require.Positive(t, others, table)
		}
	}
	tx := w.begin(t, 64, postgres.GraphNeeds{Workspace: gone})
	defer tx.Rollback()
	require.Nil(t, tx.State(gone), "nothing is decided there any more")
}
