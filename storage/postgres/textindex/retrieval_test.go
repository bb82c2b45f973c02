package textindex_test

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/test/pgtest"
)

// someGraph creates a workspace with random nodes and edges, some of them deleted.
func someGraph(
	t *testing.T, db *pgtest.DB, r *rand.Rand, nodes, edges int,
) (uuid.UUID, map[uuid.UUID]graph.Node, map[uuid.UUID]graph.Edge) {
	t.Helper()
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	list := pgtest.RandomNodes(r, nodes)
	live := slices.DeleteFunc(slices.Clone(list), func(n graph.Node) bool { return n.Deleted })
	var links []graph.Edge
	for _, life := range pgtest.RandomNodes(r, edges) {
		links = append(links, graph.Edge{ID: life.ID, SourceID: live[r.IntN(len(live))].ID,
			TargetID:     live[r.IntN(len(live))].ID,
			RelationType: []string{"feeds", "owns", "near"}[r.IntN(3)], Lifecycle: life.Lifecycle})
	}
	pgtest.InsertNodes(t, db, ws, list)
	pgtest.InsertEdges(t, db, ws, links)
	byID, edgeByID := map[uuid.UUID]graph.Node{}, map[uuid.UUID]graph.Edge{}
	for _, n := range list {
		byID[n.ID] = n
	}
	for _, e := range links {
		edgeByID[e.ID] = e
	}
	return ws, byID, edgeByID
}

func TestFoundNodesAreReadAsTheyAreAndPass(t *testing.T) {
	db := pgtest.Open(t)
	r := rand.New(rand.NewPCG(3, 4))
	ws, nodes, edges := someGraph(t, db, r, 120, 60)
	other, foreign, _ := someGraph(t, db, r, 20, 5)
	ids := append(slices.Collect(maps.Keys(nodes)), slices.Collect(maps.Keys(foreign))...)
	ids = append(ids, uuid.New(), ids[0])
	for range 150 {
		f := someFilter(r)
		want := map[uuid.UUID]graph.Node{}
		for id, n := range nodes {
			if passesFilter(n, f) {
				want[id] = n
			}
		}
		found, err := db.ReadNodes(t.Context(), ws, ids, f)
		require.NoError(t, err)
		require.Equal(t, want, found, f)
		passing, err := db.FilterNodes(t.Context(), ws, ids, f)
		require.NoError(t, err)
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), passing)
		matching, more, err := db.MatchingNodes(t.Context(), ws, f, 30)
		require.NoError(t, err)
		require.Equal(t, len(want) > 30, more)
		require.Len(t, matching, min(30, len(want)))
		for _, id := range matching {
			require.Contains(t, want, id)
		}
	}
	found, err := db.ReadEdges(t.Context(), ws, slices.Collect(maps.Keys(edges)))
	require.NoError(t, err)
	for id, e := range edges {
		require.Equal(t, !e.Deleted, found[id].ID == id)
	}
	found, err = db.ReadEdges(t.Context(), other, slices.Collect(maps.Keys(edges)))
	require.NoError(t, err)
	require.Empty(t, found, "another workspace has none of them")
}

func TestAWalkFollowsWhatPassesAndNothingElse(t *testing.T) {
	db := pgtest.Open(t)
	r := rand.New(rand.NewPCG(5, 6))
	ws, nodes, edges := someGraph(t, db, r, 60, 150)
	other := pgtest.LimitedWorkspace(t, db, 1, 1)
	all := slices.Collect(maps.Keys(nodes))
	slices.SortFunc(all, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	for range 200 {
		step := retrieval.Step{Filter: someFilter(r), MaxPerNode: 1_000, Limit: 10_000,
			Direction: []retrieval.Direction{retrieval.AnyDirection, retrieval.Outgoing, retrieval.Incoming}[r.IntN(3)]}
		if r.IntN(2) == 0 {
			step.RelationTypes = []string{"owns", "near"}[:1+r.IntN(2)]
		}
		for range 1 + r.IntN(12) {
			if id := all[r.IntN(len(all))]; !nodes[id].Deleted {
				step.Frontier = append(step.Frontier, id)
			}
		}
		var want []retrieval.Link
		for _, e := range edges {
			if e.Deleted || len(step.RelationTypes) > 0 && !slices.Contains(step.RelationTypes, e.RelationType) {
				continue
			}
			out := step.Direction != retrieval.Incoming && slices.Contains(step.Frontier, e.SourceID) &&
				passesFilter(nodes[e.TargetID], step.Filter)
			in := step.Direction != retrieval.Outgoing && slices.Contains(step.Frontier, e.TargetID) &&
				passesFilter(nodes[e.SourceID], step.Filter)
			if out || in {
				want = append(want, retrieval.Link{Edge: e.ID, Source: e.SourceID, Target: e.TargetID})
			}
		}
		walked, err := db.WalkEdges(t.Context(), ws, step)
		require.NoError(t, err)
		require.ElementsMatch(t, want, walked.Edges)
		require.False(t, walked.Truncated)
		require.True(t, slices.IsSortedFunc(walked.Edges, func(a, b retrieval.Link) int {
			return strings.Compare(a.Edge.String(), b.Edge.String())
		}))
		walked, err = db.WalkEdges(t.Context(), other, step)
		require.NoError(t, err)
		require.Empty(t, walked.Edges)

		step.MaxPerNode, step.Limit = 1+r.IntN(3), 1+r.IntN(10)
		limited, err := db.WalkEdges(t.Context(), ws, step)
		require.NoError(t, err)
		require.LessOrEqual(t, len(limited.Edges), step.Limit+1)
		require.Subset(t, want, limited.Edges)
		require.True(t, limited.Truncated || len(limited.Edges) == len(want))
	}
}

func TestAHubThatLetsNothingPassCostsNoMoreThanItsBound(t *testing.T) {
	url := pgtest.Migrated(t)
	db := pgtest.OpenAt(t, url)
	pgtest.FillGraph(t, db, url, 20_000, 60_000) // a hub with 1,200 edges
	hub := pgtest.HubNode(t, db, pgtest.GraphWorkspace)
	step := retrieval.Step{Frontier: []uuid.UUID{hub}, Direction: retrieval.AnyDirection, MaxPerNode: 100, Limit: 10_000}
	walked, err := db.WalkEdges(t.Context(), pgtest.GraphWorkspace, step)
	require.NoError(t, err)
	require.True(t, walked.Truncated)
	require.GreaterOrEqual(t, len(walked.Edges), 100)
	require.LessOrEqual(t, len(walked.Edges), 200)
	second, err := db.WalkEdges(t.Context(), pgtest.GraphWorkspace, step)
	require.NoError(t, err)
	require.Equal(t, walked, second)

	r, err := db.Recorder(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	step.Filter = retrieval.Filter{
		EntityTypes: []string{"object"}, Properties: map[string][]jsontext.Value{"serial": {jsontext.Value(`"SN-7"`)}},
	}
	step.RelationTypes = []string{"feeds", "owns"}
	for range 400 {
		step.Frontier = append(step.Frontier, uuid.New())
	}
	walked, err = r.WalkEdges(t.Context(), pgtest.GraphWorkspace, step)
	require.NoError(t, err)
	require.Empty(t, walked.Edges)
	require.True(t, walked.Truncated, "there were more than were looked at")
	_, err = r.ReadNodes(t.Context(), pgtest.GraphWorkspace, step.Frontier, step.Filter)
	require.NoError(t, err)
	_, err = r.FilterNodes(t.Context(), pgtest.GraphWorkspace, step.Frontier, retrieval.Filter{})
	require.NoError(t, err)
	_, _, err = r.MatchingNodes(t.Context(), pgtest.GraphWorkspace, step.Filter, 5_000)
	require.NoError(t, err)
	_, err = r.ReadEdges(t.Context(), pgtest.GraphWorkspace, step.Frontier)
	require.NoError(t, err)
	plans, err := r.Plans(t.Context(), db)
	require.NoError(t, err)
	require.Len(t, plans, 5)
	for _, plan := range plans {
		require.NotContains(t, plan, "Seq Scan", plan)
	}
	require.Contains(t, plans[0], "edges_out")
	require.Contains(t, plans[0], "edges_in")
	require.Contains(t, plans[0], "nodes_pkey")
}

// lanes has the text lane of Postgres, and a vector lane of the static model in memory.
type lanes struct {
	*pgtest.DB
	embed.Static
	vectors map[uuid.UUID]embed.Vector
	observe func(lane string, took time.Duration, err error)
}

func (l *lanes) SearchText(
	ctx context.Context, ws uuid.UUID, text string, f retrieval.Filter, limit, named int,
) (retrieval.TextFindings, error) {
	return l.DB.SearchText(ctx, ws, lexical.Parse(text), f, limit, named)
}

// LiveIndex implements retrieval.VectorLane.
func (l *lanes) LiveIndex(context.Context) (retrieval.Index, error) {
	return retrieval.Index{Collection: "memory", Model: l.Model()}, nil
}

// Nearest ignores workspaces and filters, as an index with old data could.
func (l *lanes) Nearest(
	_ context.Context, _ retrieval.Index, _ uuid.UUID, v embed.Vector, _ retrieval.VectorFilter, limit int,
) ([]retrieval.VectorHit, error) {
	hits := make([]retrieval.VectorHit, 0, len(l.vectors))
	for id, other := range l.vectors {
		sum := float32(0)
		for i, x := range other {
			sum += x * v[i]
		}
		hits = append(hits, retrieval.VectorHit{Node: id, Cosine: float64(sum)})
	}
	slices.SortFunc(hits, func(a, b retrieval.VectorHit) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), bytes.Compare(a.Node[:], b.Node[:]))
	})
	return hits[:min(len(hits), limit)], nil
}

func newLanes(t testing.TB, db *pgtest.DB) *lanes {
	t.Helper()
	return &lanes{DB: db, Static: *embed.NewStatic(), vectors: map[uuid.UUID]embed.Vector{}}
}

func (l *lanes) engine() *retrieval.Engine {
	// The timeouts are long, so that no test fails because the machine is busy.
	return retrieval.New(retrieval.Deps{
		Text: l, Vectors: l, Graph: l.DB,
		Embedder: embed.NewQueries(embed.QueryOptions{Embedder: &l.Static, Timeout: time.Minute}),
		Observe:  l.observe, LaneTimeout: time.Minute, WalkTimeout: time.Minute,
	})
}

// index adds nodes to both lanes, including deleted ones.
func (l *lanes) index(t testing.TB, ws uuid.UUID, nodes map[uuid.UUID]graph.Node) {
	t.Helper()
	var ids []uuid.UUID
	var texts []string
	for id, n := range nodes {
		text := n.Name
		if n.Description != nil {
			text += "\n" + *n.Description
		}
		ids, texts = append(ids, id), append(texts, text)
	}
	vectors, err := l.Embed(t.Context(), texts)
	require.NoError(t, err)
	for i, id := range ids {
		l.vectors[id] = vectors[i]
	}
	for part := range slices.Chunk(ids, 1_000) {
		_, err := l.ApplyLexical(t.Context(), []textindex.LexicalWork{{Workspace: ws, Nodes: part}})
		require.NoError(t, err)
	}
}

// TestNothingInAnAnswerLeavesTheFilterOrTheWorkspace runs random queries on random graphs, with a vector
// lane that ignores the filter and the workspace.
func TestNothingInAnAnswerLeavesTheFilterOrTheWorkspace(t *testing.T) {
	db := pgtest.Open(t)
	r := rand.New(rand.NewPCG(7, 9))
	l := newLanes(t, db)
	ws, nodes, edges := someGraph(t, db, r, 80, 200)
	other, foreign, _ := someGraph(t, db, r, 40, 80)
	l.index(t, ws, nodes)
	l.index(t, other, foreign)
	e := l.engine()
	all := slices.Concat(slices.Collect(maps.Keys(nodes)), slices.Collect(maps.Keys(foreign)))
	shown, walked := 0, 0
	for range 150 {
		q := retrieval.HybridQuery{
			Query: retrieval.Query{
				Workspace: ws, Text: []string{"pump water", "Étage 2 load", "of the", "🚀", "slash a"}[r.IntN(5)],
				Filter: someFilter(r), Limit: 100,
			},
			Hops: r.IntN(4), Explain: true,
			Direction: []retrieval.Direction{retrieval.AnyDirection, retrieval.Outgoing, retrieval.Incoming}[r.IntN(3)],
			Weights:   retrieval.Weights{Text: float64(r.IntN(2)), Vector: float64(r.IntN(2)), Graph: 1},
		}
		if r.IntN(2) == 0 {
			q.RelationTypes = []string{"owns", "near"}[:1+r.IntN(2)]
		}
		for range r.IntN(3) {
			q.Starts = append(q.Starts, all[r.IntN(len(all))])
		}
		hybrid, err := e.Hybrid(t.Context(), q)
		require.NoError(t, err)
		require.Empty(t, hybrid.Degraded)
		for i, h := range hybrid.Hits {
			require.True(t, passesFilter(nodes[h.Node.ID], q.Filter))
			require.Equal(t, nodes[h.Node.ID], h.Node)
			require.InDelta(t, 0.5, h.Score, 0.5)
			require.True(t, i == 0 || h.Score <= hybrid.Hits[i-1].Score)
			requirePath(t, q, h, nodes, edges)
			require.LessOrEqual(t, len(h.Path), q.Hops)
			walked += len(h.Path)
			for _, reason := range h.Reasons {
				require.True(t, reason.From == uuid.Nil || passesFilter(nodes[reason.From], q.Filter))
			}
		}
		shown += len(hybrid.Hits)
		search, err := e.Search(t.Context(), q.Query)
		require.NoError(t, err)
		for _, h := range search.Hits {
			require.True(t, passesFilter(nodes[h.Node.ID], q.Filter))
		}
	}
	require.Positive(t, shown)
	require.Positive(t, walked)
}

// requirePath checks that every edge and every node of a path matches the query.
func requirePath(
	t *testing.T, q retrieval.HybridQuery, h retrieval.Hit, nodes map[uuid.UUID]graph.Node, edges map[uuid.UUID]graph.Edge,
) {
	t.Helper()
	at := h.Node.ID
	for i := len(h.Path) - 1; i >= 0; i-- {
		edge := h.Path[i]
		require.False(t, edges[edge.ID].Deleted)
		require.True(t, len(q.RelationTypes) == 0 || slices.Contains(q.RelationTypes, edge.RelationType))
		switch {
		case edge.TargetID == at && q.Direction != retrieval.Incoming:
			at = edge.SourceID
		case edge.SourceID == at && q.Direction != retrieval.Outgoing:
			at = edge.TargetID
		default:
			require.Fail(t, "a path has a gap, or goes against its direction")
		}
		require.True(t, passesFilter(nodes[at], q.Filter))
	}
}

// randomLanes are lanes that return random nodes, as many as requested.
type randomLanes struct {
	*lanes
	seed uint64
	ids  []string
}

// SearchText implements retrieval.TextLane.
func (d *randomLanes) SearchText(
	_ context.Context, _ uuid.UUID, _ string, _ retrieval.Filter, limit, _ int,
) (found retrieval.TextFindings, err error) {
	for i := range limit {
		score := 1 / float64(1+i)
		found.Hits = append(found.Hits, retrieval.TextHit{Node: d.draw(uint64(i)), Score: score, NormalisedScore: score})
	}
	return found, nil
}

// Nearest implements retrieval.VectorLane.
func (d *randomLanes) Nearest(
	_ context.Context, _ retrieval.Index, _ uuid.UUID, _ embed.Vector, _ retrieval.VectorFilter, limit int,
) (hits []retrieval.VectorHit, err error) {
	for i := range limit {
		hits = append(hits, retrieval.VectorHit{Node: d.draw(uint64(i) + 1<<32), Cosine: 1 / float64(1+i)})
	}
	return hits, nil
}

// draw returns a random node that depends only on the seed and the place.
func (d *randomLanes) draw(place uint64) uuid.UUID {
	return uuid.MustParse(d.ids[rand.New(rand.NewPCG(d.seed, place)).IntN(len(d.ids))])
}

func TestANodesShareOfAQueryGrowsWithWhatOfItItHas(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	nodes := map[uuid.UUID]graph.Node{}
	named := map[string]uuid.UUID{}
	for _, name := range []string{"boiler pump", "the boiler", "the pump", "the hall", "the valve", "the motor"} {
		n := graph.Node{
			ID: uuid.New(), Name: name, EntityType: graph.Object,
			Lifecycle: graph.Lifecycle{CreatedAt: pgtest.Epoch, UpdatedAt: pgtest.Epoch, Version: 1},
		}
		nodes[n.ID], named[name] = n, n.ID
	}
	pgtest.InsertNodes(t, db, ws, slices.Collect(maps.Values(nodes)))
	newLanes(t, db).index(t, ws, nodes)
	share := func(query, name string) float64 {
		hits := byWords(t, db, ws, lexical.Parse(query), retrieval.Filter{}, 10)
		for _, h := range hits {
			if h.Node == named[name] {
				return h.NormalisedScore
			}
		}
		return 0
	}
	require.Greater(t, share("boiler pump leaks badly", "boiler pump"), share("boiler pump leaks badly", "the boiler"))
	require.Greater(t, share("boiler pump", "boiler pump"), 0.9)
	require.Less(
		t, share("boiler zebra", "the boiler"), share("boiler", "the boiler"), "what no node has was asked for as well",
	)
	require.Less(t, share("the zebra eats", "the hall"), 0.2, "the best of a bad lot")
	require.InDelta(t, share("boiler", "boiler pump"), share("boiler", "the boiler"), 0.2, "names add nothing to it")
	require.Positive(t, share("where is the boi", "the boiler"), "an unfinished word")
}
