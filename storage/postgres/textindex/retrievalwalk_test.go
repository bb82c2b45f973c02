package textindex_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/test/pgtest"
)

func TestAStepByRelationHasSomeOfEachAndReportsNodesWithMore(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("node %d", i))
	}
	list, _ := plainNodes(names)
	pgtest.InsertNodes(t, db, ws, list)
	relation := map[uuid.UUID]string{}
	var edges []graph.Edge
	link := func(from, to int, kind string, deleted bool) {
		e := linkOf(list[from], list[to])
		e.RelationType, e.Deleted = kind, deleted
		relation[e.ID] = kind
		edges = append(edges, e)
	}
	for i := 10; i < 250; i++ {
		link(0, i, "a", false)
	}
	link(0, 250, "b", true)
	for i := 251; i < 254; i++ {
		link(0, i, "c", false)
	}
	link(0, 260, "d", false)
	link(261, 0, "a", false)
	link(1, 262, "a", false)
	pgtest.InsertEdges(t, db, ws, edges)

	step := retrieval.Step{
		Frontier: []uuid.UUID{list[1].ID, list[0].ID}, Direction: retrieval.AnyDirection, MaxPerNode: 30, ByRelation: true,
		Limit: 1_000,
	}
	count := func(step retrieval.Step) (map[string]int, retrieval.WalkResult) {
		walked, err := db.WalkEdges(t.Context(), ws, step)
		require.NoError(t, err)
		counts := map[string]int{}
		for _, e := range walked.Edges {
			counts[relation[e.Edge]]++
		}
		return counts, walked
	}
	counts, walked := count(step)
	require.Equal(t, map[string]int{"a": 10 + 1 + 1, "c": 3, "d": 1}, counts)
	require.True(t, walked.Truncated)
	require.Equal(t, []uuid.UUID{list[0].ID}, walked.TruncatedNodes)
	step.RelationTypes = []string{"c", "b"}
	counts, walked = count(step)
	require.Equal(t, map[string]int{"c": 3}, counts)
	require.False(t, walked.Truncated)
	require.Empty(t, walked.TruncatedNodes)
	step.RelationTypes, step.ByRelation = nil, false
	counts, walked = count(step)
	require.Equal(t, map[string]int{"a": 32}, counts, "in the index's order")
	require.Equal(t, []uuid.UUID{list[0].ID}, walked.TruncatedNodes)
	step.Direction, step.ByRelation = retrieval.Outgoing, true
	step.MaxPerNode = 1_000
	counts, _ = count(step)
	require.Equal(t, map[string]int{"a": 241, "c": 3, "d": 1}, counts)
}
