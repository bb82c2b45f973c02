package textindex_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/test/pgtest"
)

func insertNamed(t testing.TB, db *pgtest.DB, ws uuid.UUID, names ...string) map[string]uuid.UUID {
	t.Helper()
	ids := map[string]uuid.UUID{}
	var nodes []graph.Node
	for i, name := range names {
		n := graph.Node{
			ID: uuid.New(), Name: name, EntityType: graph.EntityType(graph.EntityTypes()[i%4]),
			Lifecycle: graph.Lifecycle{Version: 1},
		}
		ids[name] = n.ID
		nodes = append(nodes, n)
	}
	pgtest.InsertNodes(t, db, ws, nodes)
	index(t, db, ws, idsOf(nodes)...)
	return ids
}

func TestNodesThatTheQueryNamesAreFound(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 1, 1), pgtest.LimitedWorkspace(t, db, 1, 1)
	ids := insertNamed(t, db, ws, "Rack 7", "Server", "Server Rack 7", "Łódź plant", "東京タワー", "valve")
	insertNamed(t, db, other, "Rack 7", "Server Rack 7")
	called := func(query string, f retrieval.Filter, most int) (ids []uuid.UUID) {
		found, err := db.SearchText(t.Context(), ws, lexical.Parse(query), f, 1, most)
		require.NoError(t, err)
		for _, n := range found.Named {
			require.Positive(t, n.Certainty)
			require.LessOrEqual(t, n.Certainty, 1.0)
			ids = append(ids, n.Node)
		}
		return ids
	}
	for query, want := range map[string][]string{
		"what is in server rack 7?":             {"Server Rack 7"},
		"is the server in server rack 7?":       {"Server Rack 7", "Server"},
		"what hangs on rack-7":                  {"Rack 7"},
		"who runs the LODZ plant and the valve": {"Łódź plant", "valve"},
		"東京タワーの高さは":                             {"東京タワー"},
		"rack 77":                               nil,
	} {
		got := called(query, retrieval.Filter{}, 10)
		var wanted []uuid.UUID
		for _, name := range want {
			wanted = append(wanted, ids[name])
		}
		require.Equal(t, wanted, got, query)
	}
	const query = "what is in server rack 7?"
	got := called(query, retrieval.Filter{EntityTypes: graph.EntityTypes()[:2]}, 10)
	require.Equal(t, []uuid.UUID{ids["Rack 7"], ids["Server"]}, got, "a longer name that does not pass hides no other")
	require.NoError(t, db.Exec(t.Context(), `UPDATE nodes SET deleted = true WHERE id = $1`, ids["Server Rack 7"]))
	require.Equal(
		t, []uuid.UUID{ids["Rack 7"]}, called(query, retrieval.Filter{}, 1),
		"a deleted node is not returned, even if indexed",
	)
}

func TestExactNamesComeFirstAndBeginningsOfWordsAreFound(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	names := []string{"pump", "pump pump station", "the pump house pump", "turbine", "turbid water", "turtle"}
	ids := insertNamed(t, db, ws, names...)
	search := func(query string) (found []uuid.UUID) {
		hits := byWords(t, db, ws, lexical.Parse(query), retrieval.Filter{}, 10)
		for _, h := range hits {
			require.Positive(t, h.Score)
			found = append(found, h.Node)
		}
		return found
	}
	require.Equal(t, ids["pump"], search("pump")[0])
	require.Equal(t, ids["the pump house pump"], search("The Pump-House pump")[0])
	require.ElementsMatch(t, []uuid.UUID{ids["turbine"], ids["turbid water"]}, search("turb"))
	require.Equal(t, ids["turbine"], search("turbine")[0])
	require.Empty(t, search("turb "), "the space ends the word")
	require.NotEmpty(t, search("the"), "a query of frequent words has results")
	require.Empty(t, search("nowhere"))
	require.Empty(t, search("!?"))
}
