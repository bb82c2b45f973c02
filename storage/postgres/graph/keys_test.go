package graphstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
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
	_, err = tx.State(workspace).NodesByKey(serial("1"), 1)
	require.ErrorIs(t, err, graphstore.ErrManyNodes)
}

func serial(value string) graph.NodeKey {
	return graph.NodeKey{EntityType: graph.Object, Property: "serial", Value: value}
}

// fill creates nodes with the same key, and as many edges between the first two of them.
func (w *graphFixture) fill(t *testing.T, workspace uuid.UUID, count int) (nodes, edges []uuid.UUID) {
	t.Helper()
	tx := w.begin(t, 64, graphstore.Needs{Workspace: workspace})
	defer tx.Rollback()
	for i := range count {
		nodes, edges = append(nodes, graphID(1, i+1)), append(edges, graphID(2, i+1))
		decide(t, tx, workspace, graph.CreateNode{
			ID: nodes[i], Name: "n", EntityType: graph.Object, Properties: []byte(`{"serial":1}`),
		})
	}
	for _, id := range edges {
		decide(t, tx, workspace, graph.CreateEdge{ID: id, SourceID: nodes[0], TargetID: nodes[1], RelationType: "feeds"})
	}
	w.commit(t, tx)
	return nodes, edges
}

func idsOf[R any](t *testing.T, rows []R, err error, id func(R) uuid.UUID) (ids []uuid.UUID) {
	t.Helper()
	require.NoError(t, err)
	for _, row := range rows {
		ids = append(ids, id(row))
	}
	return ids
}

func nodesByKey(t *testing.T, s *graphstore.State, key graph.NodeKey) []uuid.UUID {
	t.Helper()
	found, err := s.NodesByKey(key, 2)
	return idsOf(t, found, err, func(n *graph.Node) uuid.UUID { return n.ID })
}

func edgesBetween(t *testing.T, s *graphstore.State, source, target uuid.UUID) []uuid.UUID {
	t.Helper()
	found, err := s.EdgesBetween(source, target, "feeds", 2)
	return idsOf(t, found, err, func(e *graph.Edge) uuid.UUID { return e.ID })
}

func TestMatchesBeyondTheFirstOnesAreFoundWhenThoseAreGone(t *testing.T) {
	w := newGraphFixture(t)
	workspace := w.workspace(t)
	nodes, edges := w.fill(t, workspace, 5)
	tx := w.begin(t, -1, graphstore.Needs{Workspace: workspace})
	defer tx.Rollback()
	s := tx.State(workspace)
	require.Equal(t, edges[:2], edgesBetween(t, s, nodes[0], nodes[1]))
	for _, id := range edges[:4] {
		decide(t, tx, workspace, graph.DeleteEdge{ID: id})
	}
	require.Equal(t, edges[4:], edgesBetween(t, s, nodes[0], nodes[1]))
	require.Equal(t, nodes[:2], nodesByKey(t, s, serial("1")))
	for _, id := range nodes[:4] {
		decide(t, tx, workspace, graph.DeleteNode{ID: id})
	}
	require.Equal(t, nodes[4:], nodesByKey(t, s, serial("1")))
}

// What a batch reads after its first rows were written is not valid when the batch fails.
func TestAFailedBatchLeavesNothingOfWhatItRead(t *testing.T) {
	w := newGraphFixture(t)
	workspace := w.workspace(t)
	nodes, edges := w.fill(t, workspace, 2)
	single := w.begin(t, 64, graphstore.Needs{Workspace: workspace})
	decide(t, single, workspace, graph.DeleteEdge{ID: edges[1]})
	decide(t, single, workspace, graph.UpdateNode{ID: nodes[1], Properties: []byte(`{"serial":5}`)})
	require.Equal(t, nodes[:1], nodesByKey(t, single.State(workspace), serial("1")))
	w.commit(t, single)

	tx := w.begin(t, -1, graphstore.Needs{Workspace: workspace})
	defer tx.Rollback()
	s, other := tx.State(workspace), "other"
	write := func(property string) { // the first use of a key writes what was changed
		key := serial("1")
		key.Property = property
		require.Empty(t, nodesByKey(t, s, key))
	}
	failure := errors.New("the batch fails")
	require.ErrorIs(t, s.Atomically(func() error {
		write("first")
		decide(t, tx, workspace, graph.UpdateNode{ID: nodes[0], Properties: []byte(`{"serial":2}`)})
		decide(t, tx, workspace, graph.UpdateEdge{ID: edges[0], RelationType: &other})
		write("second")
		require.Empty(t, nodesByKey(t, s, serial("1")))
		require.Empty(t, edgesBetween(t, s, nodes[0], nodes[1]))
		return failure
	}), failure)
	require.Equal(t, nodes[:1], nodesByKey(t, s, serial("1")))
	require.Equal(t, edges[:1], edgesBetween(t, s, nodes[0], nodes[1]))
	write("first") // it must be stored again
	var stored []string
	require.NoError(t, tx.QueryRow(
		`SELECT key_properties FROM graph_heads WHERE workspace_id = $1`, workspace,
	).Scan(&stored))
	require.Equal(t, []string{"serial", "first"}, stored)
}
