package pgtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/graphdata"
)

// HubNode returns the id of the node that FillGraph connects with the most edges.
func HubNode(b testing.TB, db *DB, ws uuid.UUID) uuid.UUID {
	b.Helper()
	l, err := db.Nodes(
		b.Context(), ws,
		graphread.NodeFilter{Filter: PropertyFilter("serial", "SN-1")},
		graphread.Page{Limit: 1},
	)
	require.NoError(b, err)
	return l.Items[0].ID
}

// Epoch is the time at which the first resource of a test was created.
var Epoch = time.Date(2026, 11, 21, 7, 40, 8, 290_296_000, time.UTC)

// RandomNodes returns random nodes with few different values, so that lists have ties.
func RandomNodes(r *rand.Rand, n int) []graph.Node {
	names := []string{"Pump 1", "pump_1", "100% load", `back\slash`, "ÉTAGE", "étage 2", "🚀", "a"}
	entityTypes := graph.EntityTypes()
	list := make([]graph.Node, n)
	for i := range list {
		created := Epoch.Add(time.Duration(r.IntN(10)) * time.Microsecond)
		list[i] = graph.Node{
			ID: uuid.New(), Name: names[r.IntN(len(names))],
			EntityType: graph.EntityType(entityTypes[r.IntN(len(entityTypes))]),
			Properties: RandomProperties(r),
			Lifecycle: graph.Lifecycle{CreatedAt: created, UpdatedAt: created.Add(time.Duration(r.IntN(5)) * time.Microsecond),
				Version: 1 + r.Int64N(4), Deleted: r.IntN(5) == 0},
		}
		if r.IntN(2) == 0 {
			list[i].Description = Ptr("of water")
		}
	}
	return list
}

// RandomProperties returns random properties with few different values.
func RandomProperties(r *rand.Rand) graph.Properties {
	values := []string{`"5"`, `5`, `5.5`, `true`, `"true"`, `[5]`, `{"k":5}`, `"x"`, `-5`, `""`, `"a\"b"`}
	p, _ := graph.ParseProperties([]byte(fmt.Sprintf(
		`{"k":%s,"a.b":%s}`, values[r.IntN(len(values))], values[r.IntN(len(values))],
	)))
	return p
}

// InsertNodes writes nodes as a consumer would have written them.
func InsertNodes(t testing.TB, db *DB, ws uuid.UUID, list []graph.Node) {
	t.Helper()
	for _, n := range list {
		require.NoError(t, db.Exec(t.Context(), `
			INSERT INTO nodes (workspace_id, id, name, entity_type, description, properties, created_at, updated_at, version,
			changed_by, created_by, deleted)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, 1, $10)`,
			ws, n.ID, n.Name, string(n.EntityType), n.Description, string(n.Properties.Encode()), n.CreatedAt, n.UpdatedAt,
			n.Version, n.Deleted))
	}
	require.NoError(t, db.Exec(t.Context(), `
		INSERT INTO graph_totals SELECT workspace_id, 1, entity_type, count(*) FROM nodes WHERE workspace_id = $1
		AND NOT deleted GROUP BY 1, 3
		ON CONFLICT (workspace_id, kind, label) DO UPDATE SET standing = EXCLUDED.standing`, ws))
}

// InsertEdges writes edges as a consumer would have written them.
func InsertEdges(t testing.TB, db *DB, ws uuid.UUID, list []graph.Edge) {
	t.Helper()
	for _, e := range list {
		require.NoError(t, db.Exec(t.Context(), `
			INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, properties, created_at, updated_at,
			version, changed_by, created_by, deleted, newest)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, 1, $10, 1)`,
			ws, e.ID, e.SourceID, e.TargetID, e.RelationType, string(e.Properties.Encode()), e.CreatedAt, e.UpdatedAt, e.Version,
			e.Deleted))
	}
	require.NoError(t, db.Exec(t.Context(), `
		INSERT INTO graph_totals SELECT workspace_id, 2, relation_type, count(*) FROM edges WHERE workspace_id = $1
		AND NOT deleted GROUP BY 1, 3
		ON CONFLICT (workspace_id, kind, label) DO UPDATE SET standing = EXCLUDED.standing`, ws))
}

// GraphWorkspace is the workspace that FillGraph fills.
var GraphWorkspace = uuid.MustParse("00000000-0000-7000-8000-000000000001")

// FillGraph creates a graph in GraphWorkspace.
func FillGraph(t testing.TB, db *DB, url string, nodes, edges int) {
	t.Helper()
	start := time.Now()
	require.NoError(t, db.Exec(
		t.Context(),
		`INSERT INTO workspaces (id, name, plan, mode) VALUES ($1, 'large', 'enterprise', 'live') ON CONFLICT DO NOTHING`,
		GraphWorkspace,
	))
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	require.NoError(t, graphdata.Fill(t.Context(), conn, GraphWorkspace, nodes, edges))
	t.Logf("%d nodes and %d edges in %s", nodes, edges, time.Since(start).Round(time.Second))
}

// PropertyFilter returns the filter of a property that a list with these texts has.
func PropertyFilter(name string, texts ...string) graphread.Filter {
	var values []jsontext.Value
	for _, text := range texts {
		values = append(values, graphread.TextValues(text)...)
	}
	return graphread.Filter{Properties: map[string][]jsontext.Value{name: values}}
}
