package milvus_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestSearchReturnsTheNearestFirstWithTheirCosines(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name, workspace := newCollection(t, db, 2), uuid.New()
	same, near, opposite := entry(workspace, 3, 0), entry(workspace, 1, 1), entry(workspace, -2, 0)
	near.Chunk = 70_000
	require.NoError(t, db.Upsert(t.Context(), name, []milvus.Entry{opposite, near, same}))

	hits := awaitHits(t, db, name, workspace, []float32{0.5, 0}, milvus.Filter{}, 3)
	want := []retrieval.VectorHit{
		{Node: same.Node, Cosine: 1}, {Node: near.Node, Chunk: 70_000, Cosine: math.Sqrt(0.5)},
		{Node: opposite.Node, Cosine: -1},
	}
	for i, hit := range hits {
		require.InDelta(t, want[i].Cosine, hit.Cosine, 1e-5)
		want[i].Cosine = hit.Cosine
	}
	require.Equal(t, want, hits)

	hits, err := db.Search(t.Context(), name, workspace, []float32{0.5, 0}, milvus.Filter{}, 1)
	require.NoError(t, err)
	require.Len(t, hits, 1)
	for _, limit := range []int{0, -1, 16_385} {
		_, err = db.Search(t.Context(), name, workspace, []float32{1, 0}, milvus.Filter{}, limit)
		require.Error(t, err)
	}
}

func TestSearchWithoutMatchesReturnsNothing(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name, workspace := newCollection(t, db, 2), uuid.New()
	requireNone := func(workspace uuid.UUID, filter milvus.Filter) {
		t.Helper()
		hits, err := db.Search(t.Context(), name, workspace, []float32{1, 0}, filter, 10)
		require.NoError(t, err)
		require.Empty(t, hits)
	}
	requireNone(workspace, milvus.Filter{}) // an empty collection
	require.NoError(t, db.Upsert(t.Context(), name, []milvus.Entry{entry(workspace, 1, 0)}))
	awaitHits(t, db, name, workspace, []float32{1, 0}, milvus.Filter{}, 1)
	requireNone(uuid.New(), milvus.Filter{})
	requireNone(workspace, milvus.Filter{EntityTypes: []string{"actor"}})
	requireNone(workspace, milvus.Filter{Nodes: []uuid.UUID{uuid.New()}})
	requireNone(workspace, milvus.Filter{Nodes: []uuid.UUID{}})
}

func TestSearchIsHeldToEntityTypesAndNodes(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name, workspace := newCollection(t, db, 2), uuid.New()
	var entries []milvus.Entry
	for _, entityType := range []string{"concept", "object", "process"} {
		for i := range 3 {
			e := entry(workspace, 1, float32(i))
			e.EntityType = entityType
			entries = append(entries, e)
		}
	}
	require.NoError(t, db.Upsert(t.Context(), name, entries))
	query := []float32{1, 0}
	awaitHits(t, db, name, workspace, query, milvus.Filter{}, 9)

	nodes := func(filter milvus.Filter) []uuid.UUID {
		t.Helper()
		hits, err := db.Search(t.Context(), name, workspace, query, filter, 100)
		require.NoError(t, err)
		var ids []uuid.UUID
		for _, hit := range hits {
			ids = append(ids, hit.Node)
		}
		return ids
	}
	nodesOf := func(from, to int) (ids []uuid.UUID) {
		for _, e := range entries[from:to] {
			ids = append(ids, e.Node)
		}
		return ids
	}
	require.ElementsMatch(t, nodesOf(0, 3), nodes(milvus.Filter{EntityTypes: []string{"concept"}}))
	require.ElementsMatch(t, nodesOf(0, 6), nodes(milvus.Filter{EntityTypes: []string{"concept", "object"}}))
	require.Equal(t, nodesOf(4, 5), nodes(milvus.Filter{Nodes: nodesOf(4, 5)}))
	require.ElementsMatch(t, nodesOf(2, 3), nodes(milvus.Filter{EntityTypes: []string{"concept"}, Nodes: nodesOf(2, 5)}))

	many := nodesOf(0, 9)
	for len(many) < 5_000 {
		many = append(many, uuid.New())
	}
	require.Len(t, nodes(milvus.Filter{Nodes: many}), 9)
	_, err := db.Search(t.Context(), name, workspace, query, milvus.Filter{Nodes: append(many, uuid.New())}, 10)
	require.ErrorContains(t, err, "5000")
}

// Operations on a workspace do not affect another one with the same nodes and vectors.
func TestWorkspacesNeverSeeEachOther(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name := newCollection(t, db, 8)
	mine, other := uuid.New(), uuid.New()
	var entries []milvus.Entry
	for i, vector := range random(1, 200, 8) {
		node := uuid.New()
		for _, workspace := range []uuid.UUID{mine, other} {
			entries = append(entries, milvus.Entry{
				Workspace: workspace, Node: node, Chunk: i % 3, EntityType: "object", Vector: vector,
			})
		}
	}
	require.NoError(t, db.Upsert(t.Context(), name, entries))
	require.NoError(t, db.Flush(t.Context(), name))
	requireCount(t, db, name, 400)
	nodesOf := func(workspace uuid.UUID) (nodes []uuid.UUID) {
		for _, e := range entries {
			if e.Workspace == workspace {
				nodes = append(nodes, e.Node)
			}
		}
		return nodes
	}
	requireHits := func(workspace uuid.UUID, filter milvus.Filter, n int) {
		t.Helper()
		var hits []retrieval.VectorHit
		require.Eventually(t, func() bool {
			var err error
			hits, err = db.Search(t.Context(), name, workspace, entries[0].Vector, filter, 1000)
			require.NoError(t, err)
			return len(hits) == n
		}, visibleTimeout, 20e6)
		for _, hit := range hits {
			require.Contains(t, nodesOf(workspace), hit.Node)
		}
	}
	requireHits(mine, milvus.Filter{}, 200)
	requireHits(other, milvus.Filter{}, 200)
	requireHits(mine, milvus.Filter{Nodes: nodesOf(other)}, 200)

	e := entries[0] // mine
	require.NoError(t, db.Delete(t.Context(), name, []milvus.EntryID{e.ID()}))
	requireCount(t, db, name, 399)
	requireHits(mine, milvus.Filter{}, 199)
	requireHits(other, milvus.Filter{}, 200)
	requireHits(mine, milvus.Filter{Nodes: []uuid.UUID{e.Node}}, 0)

	require.NoError(t, db.DeleteWorkspace(t.Context(), name, mine))
	requireCount(t, db, name, 200)
	requireHits(mine, milvus.Filter{}, 0)
	requireHits(other, milvus.Filter{}, 200)
	require.NoError(t, db.DeleteWorkspace(t.Context(), name, mine))
	require.NoError(t, db.Delete(t.Context(), name, []milvus.EntryID{e.ID(), {Workspace: mine, Node: uuid.New()}}))
	requireCount(t, db, name, 200)
}

func TestAnEntryIsReplacedByTheNextOfItsIdentity(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name, workspace := newCollection(t, db, 2), uuid.New()
	e := entry(workspace, 1, 0)
	second := e
	second.Chunk = 1
	require.NoError(t, db.Upsert(t.Context(), name, []milvus.Entry{e, second}))
	requireCount(t, db, name, 2)

	// The last entry replaces earlier ones, within a batch and across batches.
	between, last := e, e
	between.Vector, last.Vector, last.EntityType = []float32{-1, 0}, []float32{0, 1}, "actor"
	for range 2 {
		require.NoError(t, db.Upsert(t.Context(), name, []milvus.Entry{e, between, last}))
	}
	requireCount(t, db, name, 2)
	require.Eventually(t, func() bool {
		hits, err := db.Search(
			t.Context(), name, workspace, []float32{0, 1}, milvus.Filter{EntityTypes: []string{"actor"}}, 10,
		)
		require.NoError(t, err)
		return len(hits) == 1 && hits[0].Chunk == 0 && math.Abs(hits[0].Cosine-1) < 1e-5
	}, visibleTimeout, 20e6)
	require.NoError(t, db.Flush(t.Context(), name))
	requireCount(t, db, name, 2)
	awaitHits(t, db, name, workspace, []float32{0, 1}, milvus.Filter{}, 2)
}

func TestABatchOfAnySizeIsWrittenAndDeleted(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	const dimensions, n = 256, 6_000 // 6 MB: two calls to write, two to delete
	name, workspace := newCollection(t, db, dimensions), uuid.New()
	entries, keys := make([]milvus.Entry, n), make([]milvus.EntryID, n)
	for i, vector := range random(2, n, dimensions) {
		entries[i] = entry(workspace, vector...)
		keys[i] = entries[i].ID()
	}
	require.NoError(t, db.Upsert(t.Context(), name, entries))
	requireCount(t, db, name, n)
	require.NoError(t, db.Upsert(t.Context(), name, entries[:10]))
	requireCount(t, db, name, n)
	require.NoError(t, db.Delete(t.Context(), name, keys[:n-1]))
	requireCount(t, db, name, 1)
	require.NoError(t, db.Upsert(t.Context(), name, nil))
	require.NoError(t, db.Delete(t.Context(), name, nil))
}

func TestAWorkspaceOfAnySizeIsDeleted(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	const n = 20_000 // more rows than Milvus returns in one response
	name, workspace, other := newCollection(t, db, 2), uuid.New(), uuid.New()
	entries := make([]milvus.Entry, n)
	for i := range entries {
		entries[i] = entry(workspace, 1, float32(i))
	}
	require.NoError(t, db.Upsert(t.Context(), name, append(entries, entry(other, 1, 0))))
	requireCount(t, db, name, n+1)
	require.NoError(t, db.DeleteWorkspace(t.Context(), name, workspace))
	requireCount(t, db, name, 1)
}

func TestManyWritersAtOnceLoseNothing(t *testing.T) {
	address := testenv.Milvus(t)
	db := open(t, address)
	name, workspace := newCollection(t, db, 4), uuid.New()
	var group errgroup.Group
	for writer := range 4 {
		group.Go(func() error {
			for i := range 10 {
				kept, deleted := entry(workspace, 1, float32(writer), float32(i), 1), entry(workspace, 1, 1, 1, 1)
				if err := db.Upsert(t.Context(), name, []milvus.Entry{kept, deleted}); err != nil {
					return err
				}
				if err := db.Delete(t.Context(), name, []milvus.EntryID{deleted.ID()}); err != nil {
					return err
				}
				if _, err := db.Search(t.Context(), name, workspace, kept.Vector, milvus.Filter{}, 10); err != nil {
					return err
				}
			}
			return db.Flush(t.Context(), name)
		})
	}
	require.NoError(t, group.Wait())
	requireCount(t, db, name, 40)
	awaitHits(t, db, name, workspace, []float32{1, 1, 1, 1}, milvus.Filter{}, 40)
}

func TestVectorsWithoutACosineAreInvalidAndNothingIsWritten(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name, workspace := newCollection(t, db, 2), uuid.New()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for what, vector := range map[string][]float32{
		"short": {1}, "long": {1, 2, 3}, "none": nil, "zero": {0, 0}, "negative zero": {float32(math.Copysign(0, -1)), 0},
		"not a number": {nan, 1}, "infinite": {1, inf}, "minus infinite": {-inf, 1},
		"huge": {math.MaxFloat32, math.MaxFloat32}, "tiny": {1e-30, 0},
	} {
		err := db.Upsert(t.Context(), name, []milvus.Entry{entry(workspace, 1, 0), entry(workspace, vector...)})
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", what, err)
		_, err = db.Search(t.Context(), name, workspace, vector, milvus.Filter{}, 1)
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", what, err)
	}
	for _, bad := range []func(*milvus.Entry){
		func(e *milvus.Entry) { e.Chunk = -1 },
		func(e *milvus.Entry) { e.Chunk = math.MaxInt32 + 1 },
		func(e *milvus.Entry) { e.EntityType = "" },
		func(e *milvus.Entry) { e.EntityType = `object" || id > "` },
	} {
		e := entry(workspace, 1, 0)
		bad(&e)
		require.True(t, fault.Is(db.Upsert(t.Context(), name, []milvus.Entry{e}), fault.Invalid))
	}
	_, err := db.Search(
		t.Context(), name, workspace, []float32{1, 0}, milvus.Filter{EntityTypes: []string{`x"] || id like "%`}}, 1,
	)
	require.True(t, fault.Is(err, fault.Invalid))
	require.True(t, fault.Is(db.Delete(t.Context(), name, []milvus.EntryID{{Chunk: -1}}), fault.Invalid))
	requireCount(t, db, name, 0)
}

// TestSearchFindsTheNearest compares the index with an exhaustive search.
func TestSearchFindsTheNearest(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	const dimensions, n, top = 64, 4_000, 10
	name, workspace := newCollection(t, db, dimensions), uuid.New()
	vectors := random(3, n+20, dimensions)
	entries := make([]milvus.Entry, n)
	for i := range entries {
		entries[i] = entry(workspace, vectors[i]...)
	}
	require.NoError(t, db.Upsert(t.Context(), name, entries))
	require.NoError(t, db.Flush(t.Context(), name))
	awaitAll(t, db, name, workspace, vectors[0], n)

	correct := 0
	for _, query := range vectors[n:] {
		slices.SortFunc(entries, func(a, b milvus.Entry) int {
			if cosine(a.Vector, query) > cosine(b.Vector, query) {
				return -1
			}
			return 1
		})
		hits, err := db.Search(t.Context(), name, workspace, query, milvus.Filter{}, top)
		require.NoError(t, err)
		require.Len(t, hits, top)
		for _, hit := range hits {
			if slices.ContainsFunc(entries[:top], func(e milvus.Entry) bool { return e.Node == hit.Node }) {
				correct++
			}
		}
	}
	require.Greater(t, float64(correct)/(20*top), 0.95)
}

// TestAFilteredSearchFindsAllMatches searches for the tenth of the entries that is far from the query:
// the filter excludes all entries near it.
func TestAFilteredSearchFindsAllMatches(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	const dimensions, n, top = 32, 4_000, 100
	name, workspace := newCollection(t, db, dimensions), uuid.New()
	r := rand.New(rand.NewPCG(6, 1))
	around := func(axis int) []float32 {
		vector := make([]float32, dimensions)
		for i := range vector {
			vector[i] = 0.1 * float32(r.NormFloat64())
		}
		vector[axis]++
		return vector
	}
	entries := make([]milvus.Entry, n)
	var nodes []uuid.UUID
	for i := range entries {
		if i%10 != 0 {
			entries[i] = entry(workspace, around(0)...)
			continue
		}
		entries[i] = entry(workspace, around(1)...)
		entries[i].EntityType = "actor"
		nodes = append(nodes, entries[i].Node)
	}
	require.NoError(t, db.Upsert(t.Context(), name, entries))
	require.NoError(t, db.Flush(t.Context(), name))
	awaitAll(t, db, name, workspace, around(0), n)
	for what, filter := range map[string]milvus.Filter{"type": {EntityTypes: []string{"actor"}}, "nodes": {Nodes: nodes}} {
		for range 10 {
			hits, err := db.Search(t.Context(), name, workspace, around(0), filter, top)
			require.NoError(t, err)
			require.Len(t, hits, top, what)
			for _, hit := range hits {
				require.Contains(t, nodes, hit.Node)
			}
		}
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+float64(a[i])*float64(b[i]), aa+float64(a[i])*float64(a[i]), bb+float64(b[i])*float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}
