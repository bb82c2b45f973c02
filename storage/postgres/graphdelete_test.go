package postgres_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres"
)

func TestAWorkspaceTakesItsGraphWithIt(t *testing.T) {
	w := newGraphWorld(t)
	gone, stays := w.workspace(t), w.workspace(t)
	w.group(t, gone, newGroupNodes(20), false)
	w.group(t, stays, newGroupNodes(20), true)
	require.NoError(t, w.db.Published(t.Context(), gone, 20))

	var progress postgres.DeletionProgress
	require.NoError(t, w.db.DeleteWorkspace(t.Context(), gone, "test", func(p postgres.DeletionProgress) { progress = p }))
	require.Positive(t, progress.Graph)
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
