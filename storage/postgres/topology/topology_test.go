package topology_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/topology"
	"github.com/livegraph/livegraph/test/pgtest"
)

// recorder stores what a Visitor receives.
type recorder struct {
	extent  topology.Extent
	nodes   []topology.Node
	edges   []topology.Edge
	onBegin func() error
}

func (v *recorder) Begin(whole topology.Extent) error {
	v.extent = whole
	return v.onBegin()
}

func (v *recorder) Node(n *topology.Node) error { v.nodes = append(v.nodes, *n); return nil }
func (v *recorder) Edge(e *topology.Edge) error { v.edges = append(v.edges, *e); return nil }

// TestATopologyIsThatOfOneMoment reads a graph of several pages, most of whose rows are deleted or not selected.
func TestATopologyIsThatOfOneMoment(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	require.NoError(t, db.Exec(t.Context(), `
		INSERT INTO nodes (workspace_id, id, name, entity_type, properties, created_at, updated_at, version, changed_by,
			created_by, deleted)
		SELECT $1, lpad(to_hex(i), 32, '0')::uuid, 'n', (ARRAY['object', 'actor'])[1 + i % 2],
			CASE WHEN i % 3 = 0 THEN jsonb_build_object('p', i) ELSE '{}' END, now(), now(), 1 + i % 5, 1, 1, i % 4 = 0
		FROM generate_series(0, 44999) i`, ws))
	require.NoError(t, db.Exec(t.Context(), `
		INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, properties, created_at, updated_at, version,
			changed_by, created_by, deleted, newest)
		SELECT $1, lpad(to_hex(i), 32, '0')::uuid, lpad(to_hex(i), 32, '0')::uuid, lpad(to_hex(i + 2), 32, '0')::uuid,
			(ARRAY['feeds', 'owns'])[1 + i % 2],
			CASE i % 3 WHEN 0 THEN '{"w": 0.5}' WHEN 1 THEN '{"w": "1"}' ELSE '{}' END::jsonb,
			now(), now(), 1, 1, 1, i % 4 = 0, 1 FROM generate_series(0, 44999) i`, ws))
	require.NoError(t, db.Exec(t.Context(), `INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, 42)`, ws))
	v := &recorder{onBegin: func() error { // concurrent writes
		return db.Exec(t.Context(), `WITH n AS (UPDATE nodes SET deleted = true WHERE workspace_id = $1),
			e AS (DELETE FROM edges WHERE workspace_id = $1)
			UPDATE graph_heads SET sequence = 43 WHERE workspace_id = $1`, ws)
	}}

	require.NoError(t, db.ReadTopology(t.Context(), ws, &topology.Query{
		EntityTypes: []string{"object"}, RelationTypes: []string{"owns", "none"}, Weight: "w", Property: "p",
	}, v))

	require.EqualValues(t, 42, v.extent.Sequence)
	require.Len(t, v.nodes, 45_000/4) // even, but not every fourth
	require.Equal(t, topology.Node{ID: nodeID(2), Version: 3}, v.nodes[0])
	require.Equal(t, topology.Node{ID: nodeID(6), Version: 2, Property: "6"}, v.nodes[1])
	require.Equal(t, nodeID(44_998), v.nodes[len(v.nodes)-1].ID)
	for i := 1; i < len(v.nodes); i++ {
		require.Negative(t, strings.Compare(v.nodes[i-1].ID.String(), v.nodes[i].ID.String()))
	}
	require.Len(t, v.edges, 45_000/2)
	require.Equal(t, []topology.Edge{
		{Source: nodeID(1), Target: nodeID(3)}, {Source: nodeID(3), Target: nodeID(5), Weight: "0.5"},
	}, v.edges[:2])
	require.Equal(t, nodeID(44_999), v.edges[len(v.edges)-1].Source)

	none := &recorder{onBegin: func() error { return nil }}
	require.NoError(t, db.ReadTopology(t.Context(), ws, &topology.Query{}, none))
	require.Empty(t, none.nodes)
	err := db.ReadTopology(t.Context(), uuid.New(), &topology.Query{}, none)
	require.True(t, fault.Is(err, fault.NotFound))
}

func nodeID(n int) (id uuid.UUID) {
	id[14], id[15] = byte(n>>8), byte(n)
	return id
}
