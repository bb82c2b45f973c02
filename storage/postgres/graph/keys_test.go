package graphstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// The look-ups of upserts use the index with all columns that select the rows, whatever the statistics are.
func TestUpsertsFindNodesAndEdgesByAnIndexOnAllColumns(t *testing.T) {
	w := newGraphFixture(t)
	ctx := context.Background()
	tx, err := w.conn.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	_, err = tx.Exec(ctx, postgres.UseIndexScans)
	require.NoError(t, err)
	for _, c := range []struct{ statement, types, values, condition string }{
		{
			graphstore.SelectKeyNodes, "uuid[], bytea[], bigint", "'{}', '{}', 3",
			"Index Cond: ((workspace_id = t.workspace_id) AND (key = t.key))",
		},
		{
			graphstore.SelectEdgesBetween, "uuid[], uuid[], uuid[], text[], bigint", "'{}', '{}', '{}', '{}', 3",
			"Index Cond: ((workspace_id = t.workspace_id) AND (source_id = t.source_id) AND " +
				"(relation_type = t.relation_type) AND (target_id = t.target_id))",
		},
	} {
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			var lines []string
			_, err = tx.Exec(ctx, fmt.Sprintf(`SET LOCAL plan_cache_mode = %s`, mode))
			require.NoError(t, err)
			_, err = tx.Exec(ctx, `PREPARE look_up (`+c.types+`) AS `+c.statement)
			require.NoError(t, err)
			rows, err := tx.Query(ctx, `EXPLAIN EXECUTE look_up (`+c.values+`)`)
			require.NoError(t, err)
			for rows.Next() {
				var line string
				require.NoError(t, rows.Scan(&line))
				lines = append(lines, line)
			}
			require.NoError(t, rows.Err())
			require.Contains(t, fmt.Sprint(lines), c.condition)
			require.NotContains(t, fmt.Sprint(lines), "Seq Scan")
			_, err = tx.Exec(ctx, `DEALLOCATE look_up`)
			require.NoError(t, err)
		}
	}
}

func TestTheFirstUpsertWithAPropertyIsRefusedInAGroupIfTheNodesAreMany(t *testing.T) {
	w := newGraphFixture(t)
	workspace := w.workspace(t)
	w.star(t, workspace, 3) // four nodes
	tx, err := w.db.BeginGraph(context.Background(), graphstore.Group{
		TopicID: graphTopic, Offsets: []graphstore.Offset{{From: w.nextOffset, To: w.nextOffset + 1}}, CascadeEdges: 3,
		Workspaces: []graphstore.Needs{{Workspace: workspace}},
	})
	require.NoError(t, err)
	defer tx.Rollback()
	key := graph.NodeKey{EntityType: graph.Object, Property: "serial", Value: "1"}
	_, err = tx.State(workspace).NodesByKey(key, 1)
	require.ErrorIs(t, err, graphstore.ErrManyNodes)
}
