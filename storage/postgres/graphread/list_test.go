package graphread_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
)

// limitCases are limits with which a list of a few hundred rows reaches each step.
var limitCases = [][3]int{{10_000, 100_000, 64}, {5, 20, 64}, {5, 1000, 2}, {1000, 3, 1}, {0, 0, 64}}

func TestListsOfNodesAreThoseOfAPlainModel(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 1, 1), pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(1, 2))
	all := pgtest.RandomNodes(r, 150)
	pgtest.InsertNodes(t, db, ws, all)
	pgtest.InsertNodes(t, db, other, pgtest.RandomNodes(r, 20))
	for round := range 150 {
		b := limitCases[round%len(limitCases)]
		db.SetListLimits(b[0], b[1], b[2])
		filter, passes := someNodeFilter(r, all)
		page := graphread.Page{Order: someOrder(r, graphread.NodeSortFields()), Limit: 1 + r.IntN(20)}
		if round%3 == 0 { // pages that end at their size, after one or two reads
			page.Limit, page.MaxBytes = 1+r.IntN(200), 1+r.IntN(20_000)
		}
		var want []graph.Node
		for _, n := range all {
			if !n.Deleted && passes(&n) {
				want = append(want, n)
			}
		}
		slices.SortFunc(want, func(a, b graph.Node) int {
			return compare(page.Order, nodeValues(&a), nodeValues(&b), a.ID, b.ID)
		})
		read := func(page graphread.Page) graphread.List[graph.Node] {
			got, err := db.Nodes(t.Context(), ws, filter, page)
			require.NoError(t, err)
			require.EqualValues(t, len(want), got.Total, "%+v %+v", filter, b)
			return got
		}
		var walked []graph.Node
		for walk := page; ; {
			got := read(walk)
			walked = append(walked, got.Items...)
			if page.MaxBytes > 0 {
				require.LessOrEqual(t, len(got.Items), graphread.FetchItems+page.MaxBytes/200)
				require.GreaterOrEqual(t, got.Bytes, 200*len(got.Items))
			}
			require.LessOrEqual(t, len(walked), len(want), "a walk ends")
			require.Equal(t, len(walked) < len(want), got.Next != nil)
			if walk.After = got.Next; got.Next == nil {
				break
			}
		}
		require.Equal(t, want, walked, "%+v %+v %+v", filter, page.Order, b)
		page.Offset, page.MaxBytes = r.IntN(len(want)+3), 0
		end := min(page.Offset+page.Limit, len(want))
		require.Equal(t, slices.Concat(want[min(page.Offset, end):end]), read(page).Items, "%+v %+v %+v", filter, page, b)
	}
}

func someOrder(r *rand.Rand, fields []string) (by []graphread.Order) {
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for _, field := range fields[:r.IntN(len(fields)+1)] {
		by = append(by, graphread.Order{Field: field, Descending: r.IntN(2) == 0})
	}
	return by
}

func nodeValues(n *graph.Node) map[string]any {
	return map[string]any{
		"createdAt": n.CreatedAt, "updatedAt": n.UpdatedAt, "name": n.Name, "entityType": string(n.EntityType),
		"version": n.Version,
	}
}

func edgeValues(e *graph.Edge) map[string]any {
	return map[string]any{
		"createdAt": e.CreatedAt, "updatedAt": e.UpdatedAt, "relationType": e.RelationType, "version": e.Version,
	}
}

func compare(by []graphread.Order, a, b map[string]any, idA, idB uuid.UUID) (c int) {
	last := false
	if len(by) == 0 {
		by = order("createdAt")
	}
	for _, o := range by {
		switch x := a[o.Field].(type) {
		case time.Time:
			c = x.Compare(b[o.Field].(time.Time))
		case string:
			c = strings.Compare(x, b[o.Field].(string))
		case int64:
			c = cmp.Compare(x, b[o.Field].(int64))
		}
		if last = o.Descending; last {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	if c = strings.Compare(idA.String(), idB.String()); last {
		c = -c
	}
	return c
}

func someNodeFilter(r *rand.Rand, all []graph.Node) (graphread.NodeFilter, func(*graph.Node) bool) {
	var f graphread.NodeFilter
	common := someGraphFilter(r, &f.Filter, func() uuid.UUID { return all[r.IntN(len(all))].ID })
	if r.IntN(3) == 0 {
		f.EntityTypes = graph.EntityTypes()[r.IntN(3):]
	}
	if r.IntN(3) == 0 {
		f.Name = []string{"p", "UMP", "_", "%", `\`, "é", "🚀", "1", "' OR 1=1 --"}[r.IntN(9)]
	}
	return f, func(n *graph.Node) bool {
		return common(n.ID, &n.Lifecycle, n.Properties) &&
			(f.EntityTypes == nil || slices.Contains(f.EntityTypes, string(n.EntityType))) &&
			strings.Contains(strings.ToLower(n.Name), strings.ToLower(f.Name))
	}
}

func someGraphFilter(
	r *rand.Rand, f *graphread.Filter, someID func() uuid.UUID,
) func(uuid.UUID, *graph.Lifecycle, graph.Properties) bool {
	if r.IntN(5) == 0 {
		f.IDs = []uuid.UUID{uuid.New()}
		for range 30 {
			f.IDs = append(f.IDs, someID())
		}
	}
	for _, at := range []**time.Time{&f.CreatedAfter, &f.CreatedBefore, &f.UpdatedAfter, &f.UpdatedBefore} {
		if r.IntN(5) == 0 {
			*at = pgtest.Ptr(pgtest.Epoch.Add(time.Duration(r.IntN(10_000)) * time.Nanosecond))
		}
	}
	properties := map[string][]string{}
	if r.IntN(3) == 0 {
		texts := []string{"5", "5.5", "true", "x", "-5", "", `a"b`, "5.50", "[5]", "null"}
		properties[[]string{"k", "a.b", "none", "k')"}[r.IntN(4)]] = []string{
			texts[r.IntN(len(texts))], texts[r.IntN(len(texts))],
		}
	}
	for name, texts := range properties { // at most one
		f.Properties = pgtest.PropertyFilter(name, texts...).Properties
	}
	return func(id uuid.UUID, life *graph.Lifecycle, p graph.Properties) bool {
		if f.IDs != nil && !slices.Contains(f.IDs, id) {
			return false
		}
		if f.CreatedAfter != nil && !life.CreatedAt.After(*f.CreatedAfter) ||
			f.CreatedBefore != nil && !life.CreatedAt.Before(*f.CreatedBefore) ||
			f.UpdatedAfter != nil && !life.UpdatedAt.After(*f.UpdatedAfter) ||
			f.UpdatedBefore != nil && !life.UpdatedAt.Before(*f.UpdatedBefore) {

			return false
		}
		for name, texts := range properties {
			value := string(p[name])
			if value == "" || !slices.ContainsFunc(texts, func(text string) bool {
				return value == fmt.Sprintf("%q", text) || value == text && value[0] != '[' && value != "null"
			}) {
				return false
			}
		}
		return true
	}
}

func TestListsOfEdgesAreThoseOfAPlainModel(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(3, 4))
	ends := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	var all []graph.Edge
	for _, n := range pgtest.RandomNodes(r, 150) { // use their lifecycles and properties for edges
		all = append(all, graph.Edge{ID: n.ID, SourceID: ends[r.IntN(4)], TargetID: ends[r.IntN(4)], RelationType: []string{
			"feeds", "a,b", "Feeds", "é",
		}[r.IntN(4)],
			Properties: n.Properties, Lifecycle: n.Lifecycle})
	}
	pgtest.InsertEdges(t, db, ws, all)
	for round := range 150 {
		b := limitCases[round%len(limitCases)]
		db.SetListLimits(b[0], b[1], b[2])
		var f graphread.EdgeFilter
		common := someGraphFilter(r, &f.Filter, func() uuid.UUID { return all[r.IntN(len(all))].ID })
		for _, ids := range []*[]uuid.UUID{&f.SourceIDs, &f.TargetIDs, &f.NodeIDs} {
			if r.IntN(4) == 0 {
				*ids = ends[r.IntN(4):]
			}
		}
		if r.IntN(3) == 0 {
			f.RelationTypes = []string{"a,b", "feeds"}
		}
		page := graphread.Page{Order: someOrder(r, graphread.EdgeSortFields()), Limit: 1 + r.IntN(20)}
		in := func(list []uuid.UUID, ids ...uuid.UUID) bool {
			return list == nil || slices.ContainsFunc(ids, func(id uuid.UUID) bool { return slices.Contains(list, id) })
		}
		var want []graph.Edge
		for _, e := range all {
			if !e.Deleted && common(e.ID, &e.Lifecycle, e.Properties) && in(f.SourceIDs, e.SourceID) &&
				in(f.TargetIDs, e.TargetID) && in(f.NodeIDs, e.SourceID, e.TargetID) &&
				(f.RelationTypes == nil || slices.Contains(f.RelationTypes, e.RelationType)) {
				want = append(want, e)
			}
		}
		slices.SortFunc(want, func(a, b graph.Edge) int {
			return compare(page.Order, edgeValues(&a), edgeValues(&b), a.ID, b.ID)
		})
		var walked []graph.Edge
		for {
			got, err := db.Edges(t.Context(), ws, f, page)
			require.NoError(t, err)
			require.EqualValues(t, len(want), got.Total, "%+v %+v", f, b)
			walked = append(walked, got.Items...)
			require.LessOrEqual(t, len(walked), len(want), "a walk ends")
			if page.After = got.Next; got.Next == nil {
				break
			}
		}
		require.Equal(t, want, walked, "%+v %+v %+v", f, page.Order, b)
	}
}

func TestATotalIsRememberedOnlyWhileTheGraphIsTheSame(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	db.SetListLimits(2, 100, 64)
	total := func() int64 {
		l, err := db.Nodes(t.Context(), ws, graphread.NodeFilter{Name: "node"}, graphread.Page{Limit: 1})
		require.NoError(t, err)
		return l.Total
	}
	add := func(sequence int) {
		pgtest.InsertNodes(t, db, ws, []graph.Node{
			{
				ID: uuid.New(), Name: "node", EntityType: graph.Object,
				Lifecycle: graph.Lifecycle{CreatedAt: pgtest.Epoch, UpdatedAt: pgtest.Epoch, Version: 1},
			},
		})
		require.NoError(t, db.Exec(t.Context(), `INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, $2)
			ON CONFLICT (workspace_id) DO UPDATE SET sequence = $2`, ws, sequence))
	}
	for i := range 8 {
		add(i + 1)
		require.EqualValues(t, i+1, total())
		require.EqualValues(t, i+1, total())
	}
	add(8) // a change without a new sequence, which no command makes
	require.EqualValues(t, 8, total(), "the total is cached")
}

func TestTotalsOfDifferentFiltersAreNotMixedUp(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	db.SetListLimits(0, 100, 64)
	var list []graph.Edge
	for _, relation := range []string{"a", "a", "b", "a b"} {
		list = append(list, graph.Edge{ID: uuid.New(), RelationType: relation, Lifecycle: graph.Lifecycle{
			CreatedAt: pgtest.Epoch, UpdatedAt: pgtest.Epoch, Version: 1,
		}})
	}
	pgtest.InsertEdges(t, db, ws, list)
	require.NoError(t, db.Exec(t.Context(), `INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, 4)`, ws))
	total := func(relations ...string) int64 {
		f := graphread.EdgeFilter{
			RelationTypes: relations, Filter: graphread.Filter{CreatedBefore: pgtest.Ptr(pgtest.Epoch.Add(1))},
		}
		l, err := db.Edges(t.Context(), ws, f, graphread.Page{Limit: 1})
		require.NoError(t, err)
		return l.Total
	}
	for range 2 {
		require.EqualValues(t, 3, total("a", "b"))
		require.EqualValues(t, 1, total("a b"))
		require.EqualValues(t, 1, total("b"))
	}
}

func TestOneResourceIsReadWhileItIsLive(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 1, 1), pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range pgtest.RandomNodes(r, 20) {
		e := graph.Edge{
			ID: n.ID, SourceID: uuid.New(), TargetID: uuid.New(), RelationType: "feeds", Properties: n.Properties,
			Lifecycle: n.Lifecycle,
		}
		pgtest.InsertNodes(t, db, ws, []graph.Node{n})
		pgtest.InsertEdges(t, db, ws, []graph.Edge{e})
		node, nodeErr := db.Node(t.Context(), ws, n.ID)
		edge, edgeErr := db.Edge(t.Context(), ws, n.ID)
		if n.Deleted {
			require.Equal(t, fault.NotFound, fault.KindOf(nodeErr))
			require.Equal(t, fault.NotFound, fault.KindOf(edgeErr))
			continue
		}
		require.NoError(t, nodeErr)
		require.NoError(t, edgeErr)
		require.Equal(t, n, node)
		require.Equal(t, e, edge)
		_, err := db.Node(t.Context(), other, n.ID)
		require.Equal(t, fault.NotFound, fault.KindOf(err), "another workspace does not see it")
		_, err = db.Edge(t.Context(), other, n.ID)
		require.Equal(t, fault.NotFound, fault.KindOf(err))
	}
}
