package textindex_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// changeTexts changes the texts of random nodes, or deletes or restores them.
func changeTexts(
	t testing.TB, db *pgtest.DB, ws uuid.UUID, r *rand.Rand, nodes []graph.Node, n int,
) (changed []uuid.UUID) {
	t.Helper()
	for range n {
		node := &nodes[r.IntN(len(nodes))]
		if r.IntN(3) == 0 {
			node.Deleted = !node.Deleted
		} else {
			node.Description = pgtest.Ptr(someText(r, 30))
		}
		require.NoError(t, db.Exec(
			t.Context(), `UPDATE nodes SET deleted = $3, description = $4 WHERE workspace_id = $1 AND id = $2`, ws, node.ID,
			node.Deleted, node.Description,
		))
		changed = append(changed, node.ID)
	}
	return changed
}

// requireBest compares the results of a search with the formula.
func requireBest(
	t testing.TB, db *pgtest.DB, ws uuid.UUID, nodes []graph.Node, text string, filter retrieval.Filter,
	passes func(*graph.Node) bool,
) {
	t.Helper()
	q := lexical.Parse(text + " ")
	scores := referenceBM25(nodes, q)
	var want []float64
	for i := range nodes {
		if score, found := scores[nodes[i].ID]; found && passes(&nodes[i]) {
			want = append(want, score)
		}
	}
	slices.Sort(want)
	slices.Reverse(want)
	hits := byWords(t, db, ws, q, filter, 20)
	require.Len(t, hits, min(20, len(want)), text)
	for i, hit := range hits {
		require.InDelta(t, scores[hit.Node], hit.Score, 1e-9, text)
		require.InDelta(t, want[i], hit.Score, 1e-9, text)
	}
}

// One process writes. Two others search, one with a cache that is large enough and one with a very
// small cache. Every search returns the current state of the database.
func TestWhatIsKeptInMemoryIsNeverOlderThanTheTables(t *testing.T) {
	url := pgtest.Migrated(t)
	writer, large, small := pgtest.OpenAt(t, url), pgtest.OpenAt(t, url), pgtest.OpenAt(t, url)
	small.ResetTextCache(10_000)
	ws, other := pgtest.LimitedWorkspace(t, writer, 1, 1), pgtest.LimitedWorkspace(t, writer, 1, 1)
	r := rand.New(rand.NewPCG(7, 1))
	nodes, others := textNodes(r, 900), textNodes(r, 50)
	pgtest.InsertNodes(t, writer, ws, nodes)
	pgtest.InsertNodes(t, writer, other, others)
	index(t, writer, ws, idsOf(nodes)...)
	index(t, writer, other, idsOf(others)...)
	for round := range testenv.InFull(300, 75) {
		index(t, writer, ws, changeTexts(t, writer, ws, r, nodes, r.IntN(6))...)
		if round%50 == 49 { // more changes than a cache is updated with
			index(t, writer, ws, changeTexts(t, writer, ws, r, nodes, 2500)...)
		}
		for _, db := range []*pgtest.DB{large, small} {
			filter, passes := someSearchFilter(r)
			requireBest(t, db, ws, nodes, someText(r, 6), filter, passes)
			requireBest(t, db, other, others, someText(r, 6), retrieval.Filter{}, func(*graph.Node) bool { return true })
		}
	}
}

// Concurrent searches that update the cache and add to it keep it consistent.
func TestManySearchesShareWhatIsInMemory(t *testing.T) {
	url := pgtest.Migrated(t)
	writer, db := pgtest.OpenAt(t, url), pgtest.OpenAt(t, url)
	ws := pgtest.LimitedWorkspace(t, writer, 1, 1)
	r := rand.New(rand.NewPCG(8, 1))
	nodes := textNodes(r, 150)
	pgtest.InsertNodes(t, writer, ws, nodes)
	index(t, writer, ws, idsOf(nodes)...)
	ctx, stop := context.WithCancel(t.Context())
	var searches sync.WaitGroup
	for n := range 6 {
		searches.Go(func() {
			r := rand.New(rand.NewPCG(9, uint64(n)))
			for ctx.Err() == nil {
				q := lexical.Parse(someText(r, 4) + " ")
				if _, err := db.SearchText(t.Context(), ws, q, retrieval.Filter{}, 20, 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 60 {
		index(t, writer, ws, changeTexts(t, writer, ws, r, nodes, 5)...)
	}
	stop()
	searches.Wait()
	for _, word := range words {
		requireBest(t, db, ws, nodes, word, retrieval.Filter{}, func(*graph.Node) bool { return true })
	}
}

// A term of more nodes than a search reads is not cached, while others are.
func TestTermsOfVeryManyNodesAreLookedUp(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(5, 1))
	nodes := textNodes(r, 150)
	for i := range nodes {
		nodes[i].Description, nodes[i].Deleted = pgtest.Ptr(fmt.Sprintf("ubiquitous %s", someText(r, 20))), false
	}
	pgtest.InsertNodes(t, db, ws, nodes)
	index(t, db, ws, idsOf(nodes)...)
	db.SetSearchLimits(60, 120, 10_000, 50)
	for range 100 {
		requireBest(t, db, ws, nodes, "ubiquitous "+someText(r, 4), retrieval.Filter{}, func(*graph.Node) bool {
			return true
		})
	}
}
