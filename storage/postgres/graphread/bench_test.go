package graphread_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/graphdata"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// openBench returns a database with the large graph, and its workspace. With
// LIVEGRAPH_BENCH_GRAPH_URL, the URL of a database, the graph is created there once and reused.
// Otherwise it is created for each run, which takes four minutes.
func openBench(b *testing.B) (*pgtest.DB, uuid.UUID) {
	b.Helper()
	url := os.Getenv("LIVEGRAPH_BENCH_GRAPH_URL")
	if url == "" {
		url = testenv.Postgres(b)
	}
	db := pgtest.OpenAt(b, url)
	l, err := db.Edges(b.Context(), pgtest.GraphWorkspace, graphread.EdgeFilter{}, graphread.Page{Limit: 1})
	if err != nil || l.Total != graphdata.LargeEdges {
		pgtest.FillGraph(b, db, url, graphdata.LargeNodes, graphdata.LargeEdges)
	}
	return db, pgtest.GraphWorkspace
}

func order(fields ...string) (by []graphread.Order) {
	for _, field := range fields {
		if field[0] == '-' {
			by = append(by, graphread.Order{Field: field[1:], Descending: true})
		} else {
			by = append(by, graphread.Order{Field: field})
		}
	}
	return by
}

// BenchmarkGraphLists reads pages of the large graph with many filters and orders, and reports the
// 95th percentile of each. "first" is the first read of a filter, before its total is cached.
func BenchmarkGraphLists(b *testing.B) {
	db, ws := openBench(b)
	at := func(hours int) *time.Time {
		t := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(hours) * time.Hour)
		return &t
	}
	minute := func(m int) *time.Time { return pgtest.Ptr(at(0).Add(time.Duration(m) * time.Minute)) }
	props := pgtest.PropertyFilter
	type nodeFilter = graphread.NodeFilter
	type edgeFilter = graphread.EdgeFilter
	list := func(name string, node *nodeFilter, edge *edgeFilter, by []graphread.Order, offset int) {
		b.Run(name, func(b *testing.B) {
			var after *graphread.Position
			read := func() int64 {
				page := graphread.Page{Order: by, Limit: 50, Offset: offset, After: after}
				var total int64
				if node != nil {
					l, err := db.Nodes(b.Context(), ws, *node, page)
					require.NoError(b, err)
					total, after = l.Total, l.Next
				} else {
					l, err := db.Edges(b.Context(), ws, *edge, page)
					require.NoError(b, err)
					total, after = l.Total, l.Next
				}
				if offset > 0 {
					after = nil
				}
				return total
			}
			start := time.Now()
			total := read()
			first := time.Since(start)
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				read()
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			p := func(q float64) float64 { return float64(times[int(q*float64(len(times)-1))].Microseconds()) / 1000 }
			b.ReportMetric(p(0.5), "p50-ms")
			b.ReportMetric(p(0.95), "p95-ms")
			b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
			b.ReportMetric(float64(total), "rows")
			b.ReportMetric(0, "ns/op")
		})
	}
	for _, field := range graphread.NodeSortFields() {
		list("fast/nodes/sort="+field, &nodeFilter{}, nil, order(field), 0)
		list("fast/nodes/sort=-"+field, &nodeFilter{}, nil, order("-"+field), 0)
	}
	for _, field := range graphread.EdgeSortFields() {
		list("fast/edges/sort="+field, nil, &edgeFilter{}, order(field), 0)
		list("fast/edges/sort=-"+field, nil, &edgeFilter{}, order("-"+field), 0)
	}
	list("fast/nodes/name=4000", &nodeFilter{Name: "HALL 17"}, nil, order("name"), 0)
	list("fast/nodes/name=rare", &nodeFilter{Name: "c4ca42"}, nil, nil, 0)
	list(
		"fast/nodes/name+type", &nodeFilter{Name: "hall 171", EntityTypes: []string{"concept", "actor"}}, nil,
		order("-updatedAt"), 0,
	)
	list("fast/nodes/property=10000", &nodeFilter{Filter: props("line", "7")}, nil, order("-updatedAt"), 0)
	list("fast/nodes/property=one", &nodeFilter{Filter: props("serial", "SN-4711")}, nil, nil, 0)
	list(
		"fast/nodes/created=10000",
		&nodeFilter{Filter: graphread.Filter{CreatedAfter: minute(60), CreatedBefore: pgtest.Ptr(minute(61).Add(
			39 * time.Second,
		))}},
		nil, order("name"), 0,
	)
	list(
		"fast/nodes/updated=few",
		&nodeFilter{Filter: graphread.Filter{
			UpdatedAfter: at(24 * 5), UpdatedBefore: pgtest.Ptr(at(24 * 5).Add(time.Hour)),
		}},
		nil, order("name", "-version"), 0,
	)
	list("fast/edges/source", nil, &edgeFilter{SourceIDs: []uuid.UUID{someNode(b, db, ws)}}, order("-createdAt"), 0)
	list(
		"fast/edges/node+type", nil, &edgeFilter{NodeIDs: []uuid.UUID{someNode(b, db, ws)}, RelationTypes: []string{"feeds"}},
		nil, 0,
	)
	list("fast/edges/property=5000", nil, &edgeFilter{Filter: props("weight", "77")}, order("-updatedAt"), 0)
	list(
		"fast/edges/created=10000", nil,
		&edgeFilter{Filter: graphread.Filter{CreatedAfter: minute(60), CreatedBefore: pgtest.Ptr(minute(60).Add(
			20 * time.Second,
		))}},
		order("relationType"), 0,
	)

	hub := pgtest.HubNode(b, db, ws)
	list("broad/edges/hub", nil, &edgeFilter{NodeIDs: []uuid.UUID{hub}}, order("-createdAt"), 0)
	list(
		"broad/edges/hub+type", nil, &edgeFilter{SourceIDs: []uuid.UUID{hub}, RelationTypes: []string{"owns", "near"}},
		order("version", "-updatedAt"), 0,
	)
	list("broad/nodes/name=e", &nodeFilter{Name: "e"}, nil, order("name"), 0)
	list("broad/nodes/name=zq", &nodeFilter{Name: "zq"}, nil, order("name"), 0)
	list("broad/nodes/name=pump", &nodeFilter{Name: "pump"}, nil, order("-updatedAt"), 0)
	list("broad/nodes/type+sort", &nodeFilter{EntityTypes: []string{"actor"}}, nil, order("-updatedAt"), 0)
	list("broad/nodes/property", &nodeFilter{Filter: props("status", "warn", "fail")}, nil, order("-createdAt"), 0)
	list(
		"broad/nodes/property+name", &nodeFilter{Filter: props("active", "true"), Name: "boiler"}, nil,
		order("entityType", "name"), 0,
	)
	list(
		"broad/nodes/updated-half", &nodeFilter{Filter: graphread.Filter{UpdatedAfter: at(2)}}, nil,
		order("createdAt"), 0,
	)
	list("broad/nodes/sort=entityType,name", &nodeFilter{}, nil, order("entityType", "name"), 0)
	list("broad/nodes/sort=version,entityType,-name", &nodeFilter{}, nil, order("version", "entityType", "-name"), 0)
	list("broad/nodes/sort=createdAt,-name", &nodeFilter{}, nil, order("createdAt", "-name"), 0)
	list("broad/nodes/offset=500000", &nodeFilter{}, nil, order("name"), 500_000)
	list("broad/nodes/offset=900000", &nodeFilter{}, nil, order("name"), 900_000)
	list("broad/edges/sort=relationType,-updatedAt", nil, &edgeFilter{}, order("relationType", "-updatedAt"), 0)
	list("broad/edges/sort=version,createdAt", nil, &edgeFilter{}, order("version", "createdAt"), 0)
	list(
		"broad/edges/sort=-version,relationType,updatedAt", nil, &edgeFilter{},
		order("-version", "relationType", "updatedAt"), 0,
	)
	list("broad/edges/type", nil, &edgeFilter{RelationTypes: []string{"owns"}}, order("-createdAt"), 0)
	list("broad/edges/property", nil, &edgeFilter{Filter: props("kind", "b")}, order("-createdAt"), 0)
	list(
		"broad/edges/property+type", nil, &edgeFilter{Filter: props("kind", "b"), RelationTypes: []string{"part_of"}},
		order("version"), 0,
	)
	list(
		"broad/edges/created-half", nil, &edgeFilter{Filter: graphread.Filter{CreatedAfter: minute(80)}},
		order("updatedAt"), 0,
	)
	list(
		"broad/edges/updated-late+created-order", nil,
		&edgeFilter{Filter: graphread.Filter{UpdatedAfter: at(24 * 2), CreatedAfter: minute(150)}},
		order("createdAt"), 0,
	)
	list("broad/edges/offset=2500000", nil, &edgeFilter{}, order("-createdAt"), 2_500_000)
	list("broad/edges/offset=2500000/two", nil, &edgeFilter{}, order("relationType", "-createdAt"), 2_500_000)
}

func someNode(b testing.TB, db *pgtest.DB, ws uuid.UUID) uuid.UUID {
	b.Helper()
	l, err := db.Nodes(b.Context(), ws, graphread.NodeFilter{}, graphread.Page{Limit: 1, Offset: 4242})
	require.NoError(b, err)
	return l.Items[0].ID
}

// BenchmarkNeighbors walks from ordinary nodes and from a hub of 100,000 edges.
func BenchmarkNeighbors(b *testing.B) {
	db, ws := openBench(b)
	hub := pgtest.HubNode(b, db, ws)
	l, err := db.Nodes(b.Context(), ws, graphread.NodeFilter{}, graphread.Page{Limit: 100, Offset: 4242})
	require.NoError(b, err)
	for depth := 1; depth <= 3; depth++ {
		for _, start := range []string{"ordinary", "hub"} {
			b.Run(fmt.Sprintf("%s/depth=%d", start, depth), func(b *testing.B) {
				var times []time.Duration
				total, n := int64(0), 0
				for b.Loop() {
					id := hub
					if start == "ordinary" {
						id = l.Items[n%len(l.Items)].ID
						n++
					}
					start := time.Now()
					found, err := db.Neighbors(b.Context(), ws, graphread.NeighborQuery{
						Node: id, Depth: depth, Out: true, In: true, Limit: 50,
					})
					require.NoError(b, err)
					times = append(times, time.Since(start))
					total += found.Total
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(times[int(0.95*float64(len(times)-1))].Microseconds())/1000, "p95-ms")
				b.ReportMetric(float64(total)/float64(len(times)), "rows")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkPaths searches paths between ordinary nodes, and from a hub of 20,000 edges, in a graph
// of 100,000 nodes and a million edges.
func BenchmarkPaths(b *testing.B) {
	url := testenv.Postgres(b)
	db := pgtest.OpenAt(b, url)
	pgtest.FillGraph(b, db, url, 100_000, 1_000_000)
	hub := pgtest.HubNode(b, db, pgtest.GraphWorkspace)
	nodes := func(offset int) []graph.Node {
		l, err := db.Nodes(b.Context(), pgtest.GraphWorkspace, graphread.NodeFilter{}, graphread.Page{
			Limit: 100, Offset: offset,
		})
		require.NoError(b, err)
		return l.Items
	}
	from, to := nodes(4_242), nodes(70_000)
	for _, c := range []struct {
		name  string
		query graphread.PathQuery
		hub   bool
	}{
		{"shortest", graphread.PathQuery{Limit: 1, Out: true, In: true}, false},
		{"shortest/out", graphread.PathQuery{Limit: 1, Out: true}, false},
		{"shortest/hub", graphread.PathQuery{Limit: 1, Out: true, In: true}, true},
		{"shortest/types", graphread.PathQuery{
			Limit: 1, Out: true, RelationTypes: []string{"feeds", "owns"}, EntityTypes: []string{"object"},
		}, false},
		{"20", graphread.PathQuery{Limit: 20, Out: true, In: true}, false},
		{"20/out", graphread.PathQuery{Limit: 20, Out: true}, false},
		{"20/depth=10", graphread.PathQuery{Limit: 20, Out: true, In: true, MaxDepth: 10}, true},
		{"weighted", graphread.PathQuery{Limit: 1, Out: true, In: true, Weight: "weight"}, false},
		{"weighted/out", graphread.PathQuery{Limit: 1, Out: true, Weight: "weight"}, false},
		{"weighted/20", graphread.PathQuery{Limit: 20, Out: true, In: true, Weight: "weight"}, false},
		{"weighted/20/depth=10", graphread.PathQuery{Limit: 20, Out: true, Weight: "weight", MaxDepth: 10}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			var times []time.Duration
			found, truncated, edges := 0, 0, 0
			for n := 0; b.Loop(); n++ {
				q := c.query
				q.From, q.To, q.MaxDepth = from[n%len(from)].ID, to[n%len(to)].ID, cmp.Or(q.MaxDepth, 6)
				if c.hub {
					q.From = hub
				}
				start := time.Now()
				list, err := db.Paths(b.Context(), pgtest.GraphWorkspace, q)
				require.NoError(b, err)
				times = append(times, time.Since(start))
				if list.Truncated {
					truncated++
				}
				if found += len(list.Items); len(list.Items) > 0 {
					edges += len(list.Items[0].Edges)
				}
			}
			slices.Sort(times)
			runs := float64(len(times))
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(times[int(0.95*float64(len(times)-1))].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(found)/runs, "paths")
			b.ReportMetric(float64(edges)/runs, "length")
			b.ReportMetric(float64(truncated)/runs, "truncated")
			b.ReportMetric(0, "ns/op")
		})
	}
}
