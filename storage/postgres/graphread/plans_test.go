package graphread_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
)

// No step of a list scans a whole table where an index can be used.
func TestEachListIsServedByTheIndexThatIsMeantForIt(t *testing.T) {
	url := pgtest.Migrated(t)
	db := pgtest.OpenAt(t, url)
	pgtest.FillGraph(t, db, url, 20_000, 60_000)
	r, err := db.Recorder(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	property := pgtest.PropertyFilter("serial", "SN-7")
	node := func(filter graphread.NodeFilter, by ...string) func() error {
		return func() error {
			l, err := r.Nodes(t.Context(), pgtest.GraphWorkspace, filter, graphread.Page{Order: order(by...), Limit: 50})
			if err != nil || l.Next == nil {
				return err
			}
			_, err = r.Nodes(t.Context(), pgtest.GraphWorkspace, filter, graphread.Page{
				Order: order(by...), Limit: 50, After: l.Next,
			})
			return err
		}
	}
	edge := func(filter graphread.EdgeFilter, by ...string) func() error {
		return func() error {
			_, err := r.Edges(t.Context(), pgtest.GraphWorkspace, filter, graphread.Page{Order: order(by...), Limit: 50})
			return err
		}
	}
	unknown := []uuid.UUID{uuid.New()}
	for index, read := range map[string]func() error{
		"nodes_created":                node(graphread.NodeFilter{}),
		"Backward using nodes_created": node(graphread.NodeFilter{}, "-createdAt"),
		"nodes_updated":                node(graphread.NodeFilter{}, "updatedAt"),
		"nodes_name":                   node(graphread.NodeFilter{}, "name"),
		"nodes_type":                   node(graphread.NodeFilter{}, "entityType"),
		"nodes_version":                node(graphread.NodeFilter{}, "version"),
		"edges_created":                edge(graphread.EdgeFilter{}),
		"edges_updated":                edge(graphread.EdgeFilter{}, "-updatedAt"),
		"edges_type":                   edge(graphread.EdgeFilter{}, "relationType"),
		"edges_version":                edge(graphread.EdgeFilter{}, "version"),
		"nodes_words/name":             node(graphread.NodeFilter{Name: "c4ca42"}),
		"nodes_words/property":         node(graphread.NodeFilter{Filter: property}),
		"edges_words": edge(graphread.EdgeFilter{Filter: graphread.Filter{
			Properties: map[string][]jsontext.Value{"weight": graphread.TextValues("7")},
		}}),
		"edges_out":                         edge(graphread.EdgeFilter{SourceIDs: unknown}),
		"edges_in":                          edge(graphread.EdgeFilter{TargetIDs: unknown, RelationTypes: []string{"feeds"}}),
		"edges_out/either":                  edge(graphread.EdgeFilter{NodeIDs: unknown}),
		"nodes_pkey":                        node(graphread.NodeFilter{Filter: graphread.Filter{IDs: unknown}}),
		"nodes_name/of one type":            node(graphread.NodeFilter{}, "entityType", "name"),
		"edges_updated/of one relationType": edge(graphread.EdgeFilter{}, "relationType", "-updatedAt"),
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
	_, err = r.Neighbors(t.Context(), pgtest.GraphWorkspace, graphread.NeighborQuery{
		Node: someNode(t, db, pgtest.GraphWorkspace), Depth: 2, Out: true, In: true, Limit: 50,
	})
	require.NoError(t, err)
	requireWalkPlans(t, db, r)
	for _, weight := range []string{"", "weight"} {
		_, err = r.Paths(t.Context(), pgtest.GraphWorkspace, graphread.PathQuery{
			From: someNode(t, db, pgtest.GraphWorkspace), To: pgtest.HubNode(t, db, pgtest.GraphWorkspace), MaxDepth: 4,
			Limit: 20, Out: true, In: true, EntityTypes: []string{"object"}, Weight: weight,
		})
		require.NoError(t, err)
		requireWalkPlans(t, db, r)
	}
}

// requireWalkPlans requires that the recorded statements find edges and nodes by indexes.
func requireWalkPlans(t *testing.T, db *pgtest.DB, r *pgtest.Recorder) {
	t.Helper()
	plans, err := r.Plans(t.Context(), db)
	require.NoError(t, err)
	require.Contains(t, strings.Join(plans, "\n"), "edges_out")
	require.Contains(t, strings.Join(plans, "\n"), "edges_in")
	require.NotContains(t, strings.Join(plans, "\n"), "Seq Scan on edges")
	require.NotContains(t, strings.Join(plans, "\n"), "Seq Scan on nodes")
}

// Finding out that more than a few rows pass a filter can take as long as counting them, so they
// are counted at once where many are expected.
func TestAFilterThatManyPassIsCountedWithoutBeingTriedFirst(t *testing.T) {
	url := pgtest.Migrated(t)
	db := pgtest.OpenAt(t, url)
	pgtest.FillGraph(t, db, url, 5_000, 20_000)
	r, err := db.Recorder(t.Context())
	require.NoError(t, err)
	r.SetListLimits(100, 1000, 64)
	t.Cleanup(r.Close)
	for name, c := range map[string]struct {
		filter graphread.EdgeFilter
		total  int64
		tried  int
	}{
		"many": {
			graphread.EdgeFilter{
				Filter: pgtest.PropertyFilter("kind", "b"), RelationTypes: []string{"feeds"},
			},
			2001, 0,
		},
		"a few": {
			graphread.EdgeFilter{Filter: pgtest.PropertyFilter("weight", "7")}, 20, 1,
		},
		"none": {
			graphread.EdgeFilter{Filter: pgtest.PropertyFilter("kind", "z")}, 0, 1,
		},
	} {
		r.Statements = nil
		list, err := r.Edges(t.Context(), pgtest.GraphWorkspace, c.filter, graphread.Page{Limit: 50})
		require.NoError(t, err)
		require.Equal(t, c.total, list.Total, name)
		require.Len(t, list.Items, int(min(c.total, 50)), name)
		tried := 0
		for _, statement := range r.Statements {
			tried += strings.Count(statement.SQL, "WITH hits")
		}
		require.Equal(t, c.tried, tried, name)
	}
}
