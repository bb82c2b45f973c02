package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/test/graphdata"
	"github.com/livegraph/livegraph/test/testenv"
)

var graphWorkspace = uuid.MustParse("00000000-0000-7000-8000-000000000001")

// fillGraph makes a graph, in a workspace of its own.
func fillGraph(t testing.TB, db *postgres.DB, url string, nodes, edges int) {
	t.Helper()
	began := time.Now()
	require.NoError(t, db.Exec(
		t.Context(),
		`INSERT INTO workspaces (id, name, plan, mode) VALUES ($1, 'large', 'enterprise', 'live') ON CONFLICT DO NOTHING`,
		graphWorkspace,
	))
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	require.NoError(t, graphdata.Fill(t.Context(), conn, graphWorkspace, nodes, edges))
	t.Logf("%d nodes and %d edges in %s", nodes, edges, time.Since(began).Round(time.Second))
}

// What a list is made of never reads a whole table where an index has it.
func TestEachListIsServedByTheIndexThatIsMeantForIt(t *testing.T) {
	url := testenv.MigratedPostgres(t)
	db := openAt(t, url)
	fillGraph(t, db, url, 20_000, 60_000)
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
			_, err = r.Nodes(t.Context(), graphWorkspace, filter, postgres.GraphPage{
				Order: order(by...), Limit: 50, After: l.Next,
			})
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
		"nodes_created":                node(postgres.NodeFilter{}),
		"Backward using nodes_created": node(postgres.NodeFilter{}, "-createdAt"),
		"nodes_updated":                node(postgres.NodeFilter{}, "updatedAt"),
		"nodes_name":                   node(postgres.NodeFilter{}, "name"),
		"nodes_type":                   node(postgres.NodeFilter{}, "entityType"),
		"nodes_version":                node(postgres.NodeFilter{}, "version"),
		"edges_created":                edge(postgres.EdgeFilter{}),
		"edges_updated":                edge(postgres.EdgeFilter{}, "-updatedAt"),
		"edges_type":                   edge(postgres.EdgeFilter{}, "relationType"),
		"edges_version":                edge(postgres.EdgeFilter{}, "version"),
		"nodes_words/name":             node(postgres.NodeFilter{Name: "c4ca42"}),
		"nodes_words/property":         node(postgres.NodeFilter{GraphFilter: property}),
		"edges_words": edge(postgres.EdgeFilter{GraphFilter: postgres.GraphFilter{
			Properties: map[string][]string{"weight": {"7"}},
		}}),
		"edges_out":                         edge(postgres.EdgeFilter{SourceIDs: some}),
		"edges_in":                          edge(postgres.EdgeFilter{TargetIDs: some, RelationTypes: []string{"feeds"}}),
		"edges_out/either":                  edge(postgres.EdgeFilter{NodeIDs: some}),
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
	_, err = r.Neighbors(t.Context(), graphWorkspace, postgres.NeighborQuery{
		Node: someNode(t, db, graphWorkspace), Depth: 2, Out: true, In: true, Limit: 50,
	})
	require.NoError(t, err)
	plans, err := r.Plans(t.Context(), db)
	require.NoError(t, err)
	require.Contains(t, strings.Join(plans, "\n"), "edges_out")
	require.Contains(t, strings.Join(plans, "\n"), "edges_in")
	require.NotContains(t, strings.Join(plans, "\n"), "Seq Scan on edges")
}

// That more than a few rows pass a filter can take as long to find out as to count
// them: where many are expected they are counted at once.
func TestAFilterThatManyPassIsCountedWithoutBeingTriedFirst(t *testing.T) {
	url := testenv.MigratedPostgres(t)
	db := openAt(t, url)
	fillGraph(t, db, url, 5_000, 20_000)
	db.BoundLists(100, 1000, 64)
	r, err := db.Recorder(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	for name, of := range map[string]struct {
		filter postgres.EdgeFilter
		total  int64
		tried  int
	}{
		"many": {
			postgres.EdgeFilter{
				GraphFilter: postgres.GraphFilter{Properties: map[string][]string{"kind": {"b"}}}, RelationTypes: []string{"feeds"},
			},
			2001, 0,
		},
		"a few": {
			postgres.EdgeFilter{GraphFilter: postgres.GraphFilter{Properties: map[string][]string{"weight": {"7"}}}}, 20, 1,
		},
		"none": {
			postgres.EdgeFilter{GraphFilter: postgres.GraphFilter{Properties: map[string][]string{"kind": {"z"}}}}, 0, 1,
		},
	} {
		r.Statements = nil
		list, err := r.Edges(t.Context(), graphWorkspace, of.filter, postgres.GraphPage{Limit: 50})
		require.NoError(t, err)
		require.Equal(t, of.total, list.Total, name)
		require.Len(t, list.Items, int(min(of.total, 50)), name)
		tried := 0
		for _, statement := range r.Statements {
			tried += strings.Count(statement.SQL, "WITH hits")
		}
		require.Equal(t, of.tried, tried, name)
	}
}
