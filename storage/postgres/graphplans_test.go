package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres"
)

var graphWorkspace = uuid.MustParse("00000000-0000-7000-8000-000000000001")

// fillGraph makes a graph of so many nodes and edges, one of which is a hub of every
// fiftieth edge. The indexes are made anew afterwards: that is much quicker.
func fillGraph(t testing.TB, db *postgres.DB, nodes, edges int) {
	t.Helper()
	began := time.Now()
	exec := func(statement string, args ...any) {
		t.Helper()
		require.NoError(t, db.Exec(t.Context(), statement, args...))
	}
	exec(`INSERT INTO workspaces (id, name, plan, mode) VALUES ($1, 'large', 'enterprise', 'live') ON CONFLICT DO NOTHING`, graphWorkspace)
	indexes, err := db.Strings(t.Context(), `SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND tablename IN ('nodes', 'edges') AND indexname NOT LIKE '%_pkey' ORDER BY 1`)
	require.NoError(t, err)
	definitions, err := db.Strings(t.Context(), `SELECT indexdef FROM pg_indexes WHERE indexname = ANY($1)`, indexes)
	require.NoError(t, err)
	exec(`DROP INDEX ` + strings.Join(indexes, ", "))
	// Ids that grow with time, as UUIDs of version 7 do.
	exec(`CREATE OR REPLACE FUNCTION pg_temp.made(prefix text, i bigint, each int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
		SELECT (lpad(to_hex(1760000000 + i / each), 8, '0') || '-' || substr(m, 1, 4) || '-7' || substr(m, 5, 3) || '-8' || substr(m, 8, 3) || '-' || substr(m, 11, 12))::uuid
		FROM (SELECT md5(prefix || i) AS m) x $$`)
	// In parts: a statement may take thirty seconds.
	const part = 200_000
	for from := 1; from <= nodes; from += part {
		exec(fillNodes, graphWorkspace, from, min(from+part-1, nodes))
	}
	for from := 1; from <= edges; from += part {
		exec(fillEdges, graphWorkspace, from, min(from+part-1, edges), nodes)
	}
	exec(`SET statement_timeout = 0`)
	for _, definition := range definitions {
		exec(definition)
	}
	exec(`INSERT INTO graph_totals SELECT workspace_id, 1, entity_type, count(*) FROM nodes WHERE workspace_id = $1 GROUP BY 1, 3`, graphWorkspace)
	exec(`INSERT INTO graph_totals SELECT workspace_id, 2, relation_type, count(*) FROM edges WHERE workspace_id = $1 GROUP BY 1, 3`, graphWorkspace)
	exec(`INSERT INTO graph_heads VALUES ($1, $2, $2)`, graphWorkspace, edges)
	exec(`VACUUM ANALYZE nodes`)
	exec(`VACUUM ANALYZE edges`)
	t.Logf("%d nodes and %d edges in %s", nodes, edges, time.Since(began).Round(time.Second))
}

const (
	fillNodes = `INSERT INTO nodes (workspace_id, id, name, entity_type, description, properties, created_at, updated_at, version, changed_by, created_by)
		SELECT $1, pg_temp.made('n', i, 100),
			(ARRAY['Pump','Valve','Boiler','Motor','Sensor','Turbine','Conveyor','Compressor'])[1 + i % 8] || ' ' || substr(md5(i::text), 1, 6) || ' hall ' || i % 250,
			(ARRAY['object','object','process','concept','actor'])[1 + i * 7 % 5],
			CASE WHEN i % 3 = 0 THEN 'Installed in hall ' || i % 250 || ', serviced by team ' || i % 40 END,
			jsonb_build_object('status', (ARRAY['ok','ok','ok','warn','fail'])[1 + i * 13 % 5], 'line', i % 100, 'serial', 'SN-' || i, 'active', i % 2 = 0),
			at, at + CASE WHEN i % 5 = 0 THEN i % 7919 * interval '1 minute' ELSE interval '0' END, CASE WHEN i % 5 = 0 THEN 2 + i % 7 ELSE 1 END, i, i
		FROM generate_series($2::bigint, $3::bigint) i, LATERAL (SELECT '2026-01-01T00:00:00Z'::timestamptz + i / 100 * interval '1 second' AS at) t`
	fillEdges = `INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, properties, created_at, updated_at, version, changed_by, created_by, newest)
		SELECT $1, pg_temp.made('e', i, 500), pg_temp.made('n', CASE WHEN i % 50 = 0 THEN 1 ELSE 1 + i * 7919 % $4::bigint END, 100),
			pg_temp.made('n', 1 + (i * 104729 + i / $4::bigint) % $4::bigint, 100),
			(ARRAY['feeds','feeds','feeds','part_of','part_of','controls','controls','monitors','owns','near'])[1 + i * 3 % 10],
			jsonb_build_object('weight', i % 1000, 'kind', (ARRAY['a','b','c'])[1 + i % 3]),
			at, at + CASE WHEN i % 5 = 0 THEN i % 7919 * interval '1 minute' ELSE interval '0' END, CASE WHEN i % 5 = 0 THEN 2 + i % 7 ELSE 1 END, i, i, i
		FROM generate_series($2::bigint, $3::bigint) i, LATERAL (SELECT '2026-01-01T00:00:00Z'::timestamptz + i / 500 * interval '1 second' AS at) t`
)

// What a list is made of never reads a whole table where an index has it.
func TestEachListIsServedByTheIndexThatIsMeantForIt(t *testing.T) {
	db := openOne(t)
	fillGraph(t, db, 20_000, 60_000)
	r, err := db.Recorder(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	property := postgres.GraphFilter{Properties: map[string][]string{"serial": {"SN-7"}}}
	node := func(filter postgres.NodeFilter, by ...string) func() error {
		return func() error {
			l, err := r.Nodes(t.Context(), graphWorkspace, filter, postgres.GraphPage{Order: order(by...), Limit: 50})
			if err != nil || l.Next == nil {
				return err
			}
			_, err = r.Nodes(t.Context(), graphWorkspace, filter, postgres.GraphPage{Order: order(by...), Limit: 50, After: l.Next})
			return err
		}
	}
	edge := func(filter postgres.EdgeFilter, by ...string) func() error {
		return func() error {
			_, err := r.Edges(t.Context(), graphWorkspace, filter, postgres.GraphPage{Order: order(by...), Limit: 50})
			return err
		}
	}
	some := []uuid.UUID{uuid.New()}
	for index, read := range map[string]func() error{
		"nodes_created":                     node(postgres.NodeFilter{}),
		"Backward using nodes_created":      node(postgres.NodeFilter{}, "-createdAt"),
		"nodes_updated":                     node(postgres.NodeFilter{}, "updatedAt"),
		"nodes_name":                        node(postgres.NodeFilter{}, "name"),
		"nodes_type":                        node(postgres.NodeFilter{}, "entityType"),
		"nodes_version":                     node(postgres.NodeFilter{}, "version"),
		"edges_created":                     edge(postgres.EdgeFilter{}),
		"edges_updated":                     edge(postgres.EdgeFilter{}, "-updatedAt"),
		"edges_type":                        edge(postgres.EdgeFilter{}, "relationType"),
		"edges_version":                     edge(postgres.EdgeFilter{}, "version"),
		"nodes_words/name":                  node(postgres.NodeFilter{Name: "c4ca42"}),
		"nodes_words/property":              node(postgres.NodeFilter{GraphFilter: property}),
		"edges_words":                       edge(postgres.EdgeFilter{GraphFilter: postgres.GraphFilter{Properties: map[string][]string{"weight": {"7"}}}}),
		"edges_source":                      edge(postgres.EdgeFilter{SourceIDs: some}),
		"edges_target":                      edge(postgres.EdgeFilter{TargetIDs: some, RelationTypes: []string{"feeds"}}),
		"edges_source/either":               edge(postgres.EdgeFilter{NodeIDs: some}),
		"nodes_pkey":                        node(postgres.NodeFilter{GraphFilter: postgres.GraphFilter{IDs: some}}),
		"nodes_name/of one type":            node(postgres.NodeFilter{}, "entityType", "name"),
		"edges_updated/of one relationType": edge(postgres.EdgeFilter{}, "relationType", "-updatedAt"),
	} {
		require.NoError(t, read(), index)
		plans, err := r.Plans(t.Context(), db)
		require.NoError(t, err)
		all := strings.Join(plans, "\n\n")
		wanted, _, _ := strings.Cut(index, "/")
		require.Contains(t, all, wanted, index)
		require.NotContains(t, all, "Seq Scan on nodes", index)
		require.NotContains(t, all, "Seq Scan on edges", index)
	}
	_, err = r.Neighbors(t.Context(), graphWorkspace, postgres.NeighborQuery{Node: someNode(t, db, graphWorkspace), Depth: 2, Out: true, In: true, Limit: 50})
	require.NoError(t, err)
	plans, err := r.Plans(t.Context(), db)
	require.NoError(t, err)
	require.Contains(t, strings.Join(plans, "\n"), "edges_source")
	require.Contains(t, strings.Join(plans, "\n"), "edges_target")
	require.NotContains(t, strings.Join(plans, "\n"), "Seq Scan on edges")
}
