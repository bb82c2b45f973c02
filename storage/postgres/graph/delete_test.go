package graphstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
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
		"nodes", "edges", "journal", "journal_nodes", "undo_entries", "command_outcomes", "graph_totals", "graph_published",
		"graph_heads",
	} {
		var left, others int
		require.NoError(t, w.look.QueryRow(context.Background(), `SELECT count(*) FILTER (WHERE workspace_id = $1),
			count(*) FILTER (WHERE workspace_id = $2) FROM `+table, gone, stays).Scan(&left, &others))
		require.Zero(t, left, table)
		if table != "edges" && table != "graph_published" {
			require.Positive(t, others, table)
		}
	}
	tx := w.begin(t, 64, graphstore.Needs{Workspace: gone})
	defer tx.Rollback()
	require.Nil(t, tx.State(gone), "nothing is decided there any more")
}

// Each batch begins behind the one before, not at the entries of what is removed.
func TestAWorkspaceIsErasedByItsKeys(t *testing.T) {
	const changes = 12_000 // more than two batches
	w := newGraphWorld(t)
	gone := w.workspace(t)
	require.NoError(t, w.db.Exec(
		t.Context(), `INSERT INTO journal SELECT $1, n, gen_random_uuid(), now(), 'x' FROM generate_series(1, $2) n`, gone,
		changes,
	))
	require.NoError(t, w.db.Exec(
		t.Context(), `INSERT INTO journal_nodes SELECT $1, gen_random_uuid(), n FROM generate_series(1, $2) n`, gone, changes,
	))
	require.NoError(
		t,
		w.db.Exec(
			t.Context(),
			`INSERT INTO idempotency_keys (workspace_id, actor_id, route, key, body_hash, reserved_id, received_at,
				running_until)
		SELECT $1, gen_random_uuid(), 'r', 'k', sha256(''), gen_random_uuid(), now(), now() FROM generate_series(1, 3)`, gone,
		),
	)
	require.NoError(t, w.db.DeleteWorkspace(t.Context(), gone, "test"))
	r, err := w.db.Recorder(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	var removed int64
	require.NoError(t, r.EraseWorkspace(t.Context(), gone, func(n int64) error { removed += n; return nil }))
	require.EqualValues(t, 2*changes+3, removed)
	behind := map[string]int{}
	for _, q := range r.Statements {
		for _, keys := range []string{
			"FROM journal t WHERE t.workspace_id = $1 AND (sequence) > ($3)", "(node_id, sequence) > ($3, $4)",
		} {
			if strings.Contains(q.SQL, keys) {
				behind[keys]++
			}
		}
	}
	require.Len(t, behind, 2)
	for keys, batches := range behind {
		require.GreaterOrEqual(t, batches, 3, keys)
	}
}
