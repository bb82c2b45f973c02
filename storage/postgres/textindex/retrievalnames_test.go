package textindex_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/test/pgtest"
)

// plainNodes returns nodes with names, and with descriptions as far as there are any.
func plainNodes(names []string, descriptions ...string) (list []graph.Node, all map[uuid.UUID]graph.Node) {
	all = map[uuid.UUID]graph.Node{}
	for i, name := range names {
		n := graph.Node{
			ID: uuid.New(), Name: name, EntityType: graph.Object,
			Lifecycle: graph.Lifecycle{CreatedAt: pgtest.Epoch, UpdatedAt: pgtest.Epoch, Version: 1},
		}
		if i < len(descriptions) {
			n.Description = &descriptions[i]
		}
		list = append(list, n)
		all[n.ID] = n
	}
	return list, all
}

// hybridOf runs a hybrid search with the text lane and the graph only.
func hybridOf(t *testing.T, l *lanes, ws uuid.UUID, text string) []string {
	t.Helper()
	r, err := l.engine().Hybrid(t.Context(), retrieval.HybridQuery{
		Query: retrieval.Query{Workspace: ws, Text: text, Limit: 100}, Hops: 1, Direction: retrieval.AnyDirection,
		Weights: retrieval.Weights{Text: 1, Graph: 1},
	})
	require.NoError(t, err)
	return namesOf(r.Hits)
}

func namesOf(hits []retrieval.Hit) (names []string) {
	for _, h := range hits {
		names = append(names, h.Node.Name)
	}
	return names
}

func TestANameOfManyNodesWeighsNoMoreThanOneOfOne(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	names := []string{"Turbine 7", "Hall of the turbine", "Depot"}
	for range 40 {
		names = append(names, "Pump")
	}
	list, all := plainNodes(names)
	pgtest.InsertNodes(t, db, ws, list)
	links := []graph.Edge{linkOf(list[0], list[1])}
	for _, pump := range list[3:] {
		links = append(links, linkOf(pump, list[2]))
	}
	pgtest.InsertEdges(t, db, ws, links)
	l := newLanes(t, db)
	l.index(t, ws, all)
	found := hybridOf(t, l, ws, "which pump belongs to Turbine 7")
	require.Equal(t, "Turbine 7", found[0], "the node that alone has its name")
	require.Less(t, slices.Index(found, "Hall of the turbine"), slices.Index(found, "Depot"),
		"the neighbor of a node with a unique name comes before the neighbor of all nodes with a common name")
}

// linkOf returns an edge between two nodes.
func linkOf(from, to graph.Node) graph.Edge {
	return graph.Edge{ID: uuid.New(), SourceID: from.ID, TargetID: to.ID, RelationType: "feeds", Lifecycle: from.Lifecycle}
}

func TestANameOfManyNodesLeavesRoomForOthers(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	names := []string{"Rack"}
	for range 60 {
		names = append(names, "Cold water pump")
	}
	list, all := plainNodes(names)
	pgtest.InsertNodes(t, db, ws, list)
	newLanes(t, db).index(t, ws, all)
	found, err := newLanes(t, db).SearchText(
		t.Context(), ws, "the cold water pump in the rack", retrieval.Filter{}, 100, 50,
	)
	require.NoError(t, err)
	require.Len(t, found.Named, 50)
	require.Equal(
		t, retrieval.NamedNode{Node: list[0].ID, Certainty: 1}, found.Named[0],
		"the name that one node has is not crowded out by that of many",
	)
}

func TestAShortNameCountsByWhatItsWordWeighs(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	names, texts := []string{"The", "Valve 12", "CPU"}, []string{"", "The relief valve of the boiler.", ""}
	for i := range 60 {
		names = append(names, fmt.Sprintf("Part %d", i))
		texts = append(texts, fmt.Sprintf("The part of the machine in the hall of line %d.", i))
	}
	list, all := plainNodes(names, texts...)
	pgtest.InsertNodes(t, db, ws, list)
	l := newLanes(t, db)
	l.index(t, ws, all)
	search := func(text string) retrieval.Result {
		r, err := l.engine().Search(t.Context(), retrieval.Query{Workspace: ws, Text: text, Limit: 10})
		require.NoError(t, err)
		return r
	}
	const query = "who closed the relief valve of the boiler"
	require.Equal(t, "Valve 12", search(query).Hits[0].Node.Name, "a name that is a word of every text has little weight")
	require.Equal(t, "Valve 12", hybridOf(t, l, ws, query)[0])
	require.Equal(
		t, "CPU", search("the load of the CPU in the hall").Hits[0].Node.Name, "a rare short name has a high weight",
	)
	require.Equal(t, "The", search("the").Hits[0].Node.Name, "the query is its name")
}
