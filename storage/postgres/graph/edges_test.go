package graphstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// decide applies an action in a group's transaction and records its change.
func decide(t *testing.T, tx *graphstore.Tx, workspace uuid.UUID, payload graph.Payload) {
	t.Helper()
	state := tx.State(workspace)
	command := graph.Command{
		ID: uuid.New(), Action: graph.Action{Payload: payload},
		Origin: graph.Origin{Actor: uuid.UUID{1}, Scopes: []string{"write:nodes", "write:edges"}},
	}
	done, err := graph.Apply(state, command, state.Next(), time.Now())
	require.NoError(t, err)
	require.NotNil(t, done.Change)
	require.NoError(t, state.Record(done.Change))
}

// star creates a node with edges to as many new nodes, and returns the ids of the nodes.
func (w *graphFixture) star(t *testing.T, workspace uuid.UUID, edges int) (centre uuid.UUID, ends []uuid.UUID) {
	t.Helper()
	tx := w.begin(t, 64, graphstore.Needs{Workspace: workspace})
	defer tx.Rollback()
	centre = uuid.New()
	decide(t, tx, workspace, graph.CreateNode{ID: centre, Name: "centre", EntityType: graph.Object})
	for range edges {
		end := uuid.New()
		ends = append(ends, end)
		decide(t, tx, workspace, graph.CreateNode{ID: end, Name: "end", EntityType: graph.Object})
		decide(t, tx, workspace, graph.CreateEdge{ID: uuid.New(), SourceID: centre, TargetID: end, RelationType: "feeds"})
	}
	w.commit(t, tx)
	return centre, ends
}

func TestSavepointsOfBatchesEndWithThem(t *testing.T) {
	w := newGraphFixture(t)
	workspace := w.workspace(t)
	var centres []uuid.UUID
	for range 3 {
		centre, _ := w.star(t, workspace, 3)
		centres = append(centres, centre)
	}
	tx := w.begin(t, 1, graphstore.Needs{Workspace: workspace}) // their edges stay in the database
	defer tx.Rollback()
	for i, failure := range []error{nil, nil, errors.New("the batch fails")} {
		err := tx.State(workspace).Atomically(func() error {
			decide(t, tx, workspace, graph.DeleteNode{ID: centres[i]})
			return failure
		})
		require.Equal(t, failure, err)
		require.NoError(t, tx.Exec("savepoint mine"))
		require.ErrorContains(t, tx.Exec("release savepoint atomic"), "does not exist")
		require.NoError(t, tx.Exec("rollback to savepoint mine"))
		require.NoError(t, tx.Exec("release savepoint mine"))
	}
}

// TestRestoredEdgesAreSeenAfterAnEarlierRead deletes a node whose edges were read before the
// undo of a hub's deletion restored one of them.
func TestRestoredEdgesAreSeenAfterAnEarlierRead(t *testing.T) {
	w := newGraphFixture(t)
	workspace := w.workspace(t)
	hub, ends := w.star(t, workspace, 5)
	tx := w.begin(t, 2, graphstore.Needs{Workspace: workspace})
	decide(t, tx, workspace, graph.DeleteNode{ID: hub})
	w.commit(t, tx)

	tx = w.begin(t, 2, graphstore.Needs{Workspace: workspace, Nodes: ends[:1], Adjacency: ends[:1]})
	defer tx.Rollback()
	decide(t, tx, workspace, graph.Undo{})
	decide(t, tx, workspace, graph.DeleteNode{ID: ends[0]})
	w.commit(t, tx)
	m := w.read(t, workspace)
	standing := 0
	for _, e := range m.Edges {
		if !e.Deleted {
			standing++
			require.False(t, m.Nodes[e.TargetID].Deleted)
		}
	}
	require.Equal(t, 4, standing)
}

// The edges at a node are found without reading deleted ones.
func TestIndexesOfEdgesContainOnlyLiveEdges(t *testing.T) {
	w := newGraphFixture(t)
	definitions, err := w.db.Strings(t.Context(), `SELECT indexdef FROM pg_indexes WHERE tablename = 'edges'`)
	require.NoError(t, err)
	ends := 0
	for _, d := range definitions {
		if strings.Contains(d, "workspace_id, source_id") || strings.Contains(d, "workspace_id, target_id") {
			ends++
			require.Regexp(t, `INCLUDE \(source_id, id\)|target_id, id\)`, d)
			require.Contains(t, d, "WHERE (NOT deleted)")
		}
	}
	require.Equal(t, 2, ends)
}
