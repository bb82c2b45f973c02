package graphread_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
)

// TestAWalkByCursorShowsUnchangedNodesOnce changes nodes while it reads pages in various orders.
// Unchanged nodes are returned once and in order, and no node is returned twice, so that reading
// all pages ends regardless of the number of changes.
func TestAWalkByCursorShowsUnchangedNodesOnce(t *testing.T) {
	db := pgtest.Open(t)
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 40 {
		b := limitCases[round%len(limitCases)]
		db.SetListLimits(b[0], b[1], b[2])
		ws := pgtest.LimitedWorkspace(t, db, 1, 1)
		all := pgtest.RandomNodes(r, 40)
		pgtest.InsertNodes(t, db, ws, all)
		setHead(t, db, ws, 1)
		filter, passes := someNodeFilter(r, all)
		page := graphread.Page{Order: someOrder(r, graphread.NodeSortFields()), Limit: 1 + r.IntN(8)}
		if round%2 == 0 {
			page.Order = []graphread.Order{{Field: "updatedAt", Descending: round%4 == 0}}
		}
		untouched := map[uuid.UUID]bool{}
		for _, n := range all {
			untouched[n.ID] = !n.Deleted && passes(&n)
		}
		var walked []graph.Node
		seen := map[uuid.UUID]bool{}
		for sequence := int64(2); ; {
			got, err := db.Nodes(t.Context(), ws, filter, page)
			require.NoError(t, err)
			for _, n := range got.Items {
				require.False(t, seen[n.ID], "shown twice: %+v %+v", page.Order, b)
				seen[n.ID], walked = true, append(walked, n)
			}
			if page.After = got.Next; got.Next == nil {
				break
			}
			for range 3 {
				changed := all[r.IntN(len(all))].ID
				untouched[changed] = false
				changeNode(t, db, ws, changed, sequence)
				sequence++
			}
		}
		var want []graph.Node
		for _, n := range all {
			if untouched[n.ID] {
				want = append(want, n)
			}
		}
		slices.SortFunc(want, func(a, b graph.Node) int {
			return compare(page.Order, nodeValues(&a), nodeValues(&b), a.ID, b.ID)
		})
		walked = slices.DeleteFunc(walked, func(n graph.Node) bool { return !untouched[n.ID] })
		require.Equal(t, want, walked, "%+v %+v %+v", filter, page.Order, b)
	}
}

func setHead(t *testing.T, db *pgtest.DB, ws uuid.UUID, sequence int64) {
	t.Helper()
	require.NoError(t, db.Exec(t.Context(), `INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, $2)
		ON CONFLICT (workspace_id) DO UPDATE SET sequence = EXCLUDED.sequence`, ws, sequence))
}

// changeNode changes a node like a command, so that it moves in every order except that of
// createdAt.
func changeNode(t *testing.T, db *pgtest.DB, ws, id uuid.UUID, sequence int64) {
	t.Helper()
	require.NoError(t, db.Exec(t.Context(), `
		UPDATE nodes SET name = 'z' || ($3::bigint)::text, updated_at = $4, version = version + 1, changed_by = $3
		WHERE workspace_id = $1 AND id = $2`, ws, id, sequence, pgtest.Epoch.Add(time.Duration(sequence)*time.Second)))
	setHead(t, db, ws, sequence)
}
