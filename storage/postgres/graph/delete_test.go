package graphstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

func TestErasingAWorkspaceErasesItsGraph(t *testing.T) {
	w := newGraphFixture(t)
	deleted, retained := w.workspace(t), w.workspace(t)
	w.group(t, deleted, newGroupNodes(20), false)
	w.group(t, retained, newGroupNodes(20), true)
	require.NoError(t, w.db.Published(t.Context(), map[uuid.UUID]int64{deleted: 20}))

	count := func(rows *int64) func(int64) error { return func(n int64) error { *rows += n; return nil } }
	var removed, removedFromRetained int64
	require.NoError(t, w.db.EraseWorkspace(t.Context(), retained, count(&removedFromRetained)))
	require.Zero(t, removedFromRetained, "nothing of a workspace that is not deleted is removed")
	require.NoError(t, w.db.DeleteWorkspace(t.Context(), deleted, "test"))
	found, err := w.db.WorkspaceRows(t.Context(), deleted)
	require.NoError(t, err)
	require.NoError(t, w.db.EraseWorkspace(t.Context(), deleted, count(&removed)))
	require.Equal(t, found, removed)
	for _, table := range []string{
		"nodes", "edges", "journal", "journal_nodes", "undo_entries", "command_outcomes", "graph_totals", "graph_published",
		"graph_heads",
	} {
		var deletedRows, retainedRows int
		require.NoError(t, w.conn.QueryRow(context.Background(), `SELECT count(*) FILTER (WHERE workspace_id = $1),
			count(*) FILTER (WHERE workspace_id = $2) FROM `+table, deleted, retained).Scan(&deletedRows, &retainedRows))
		require.Zero(t, deletedRows, table)
		if table != "edges" && table != "graph_published" {
			require.Positive(t, retainedRows, table)
		}
	}
	tx := w.begin(t, 64, graphstore.Needs{Workspace: deleted})
	defer tx.Rollback()
	require.Nil(t, tx.State(deleted), "no command of a deleted workspace is decided")
}

// Each batch begins after the keys of the previous one, so that it does not scan the index
// entries of the removed rows.
func TestAWorkspaceIsErasedByItsKeys(t *testing.T) {
	const changes = 12_000 // more than two batches
	w := newGraphFixture(t)
	deleted := w.workspace(t)
	require.NoError(t, w.db.Exec(
		t.Context(), `INSERT INTO journal SELECT $1, n, gen_random_uuid(), now(), 'x' FROM generate_series(1, $2) n`, deleted,
		changes,
	))
	require.NoError(t, w.db.Exec(
		t.Context(), `INSERT INTO journal_nodes SELECT $1, gen_random_uuid(), n FROM generate_series(1, $2) n`, deleted,
		changes,
	))
	require.NoError(
		t,
		w.db.Exec(
			t.Context(),
			`INSERT INTO idempotency_keys (workspace_id, actor_id, route, key, body_hash, reserved_id, received_at,
				running_until)
		SELECT $1, gen_random_uuid(), 'r', 'k', sha256(''), gen_random_uuid(), now(), now() FROM generate_series(1, 3)`,
			deleted,
		),
	)
	require.NoError(t, w.db.DeleteWorkspace(t.Context(), deleted, "test"))
	r, err := w.db.Recorder(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	var removed int64
	require.NoError(t, r.EraseWorkspace(t.Context(), deleted, func(n int64) error { removed += n; return nil }))
	require.EqualValues(t, 2*changes+3, removed)
	batchesByKeys := map[string]int{}
	for _, q := range r.Statements {
		for _, keys := range []string{
			"FROM journal t WHERE t.workspace_id = $1 AND (sequence) > ($3)", "(node_id, sequence) > ($3, $4)",
		} {
			if strings.Contains(q.SQL, keys) {
				batchesByKeys[keys]++
			}
		}
	}
	require.Len(t, batchesByKeys, 2)
	for keys, batches := range batchesByKeys {
		require.GreaterOrEqual(t, batches, 3, keys)
	}
}
