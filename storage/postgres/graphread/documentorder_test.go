package graphread_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres/documentfilter"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
)

var orders = []documentfilter.Order{documentfilter.ByCreation, documentfilter.ByChange, documentfilter.ByTimestamp}

// compare compares documents in an order.
func (a *archive) compare(o documentfilter.Order, left, right *graph.Node) int {
	var c int
	switch o {
	case documentfilter.ByCreation:
		c = left.CreatedAt.Compare(right.CreatedAt)
	case documentfilter.ByChange:
		c = right.UpdatedAt.Compare(left.UpdatedAt)
	case documentfilter.ByTimestamp:
		at, stamped := a.times[left.ID]
		other, otherStamped := a.times[right.ID]
		switch {
		case stamped && otherStamped:
			c = other.Compare(at)
		case stamped:
			c = -1
		case otherStamped:
			c = 1
		}
	}
	return cmp.Or(c, uuids.Compare(left.ID, right.ID))
}

// TestDocumentsAreListedInOrder compares the pages of each order with what was inserted. Other nodes have copies of
// marks.
func TestDocumentsAreListedInOrder(t *testing.T) {
	db := pgtest.Open(t)
	r := rand.New(rand.NewPCG(9, 10))
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	a := someArchive(r, uuid.New())
	for id, n := range a.nodes {
		n.CreatedAt = pgtest.Epoch.Add(time.Duration(r.IntN(5)) * time.Minute)
		n.UpdatedAt = n.CreatedAt.Add(time.Duration(r.IntN(5)) * time.Minute)
		a.nodes[id] = n
	}
	pgtest.InsertNodes(t, db, ws, slices.Collect(maps.Values(a.nodes)))
	at := pgtest.Epoch.AddDate(-100, 0, 0)
	for _, f := range []retrieval.DocumentFilter{{}, {AnyTags: []string{"a", "b"}}, {From: &at}} {
		var documents []graph.Node
		for id, n := range a.nodes {
			if a.document[id] == id && a.passes(id, &retrieval.Filter{Document: f}) {
				documents = append(documents, n)
			}
		}
		require.Greater(t, len(documents), 7)
		for _, o := range orders {
			slices.SortFunc(documents, func(x, y graph.Node) int { return a.compare(o, &x, &y) })
			requirePages(t, db, ws, f, o, documents)
		}
	}
}

// requirePages requires that the pages of a list have the documents.
func requirePages(
	t *testing.T, db *pgtest.DB, ws uuid.UUID, f retrieval.DocumentFilter, o documentfilter.Order, want []graph.Node,
) {
	t.Helper()
	const limit = 7
	var got []uuid.UUID
	for offset := 0; offset < len(want)+limit; offset += limit {
		page, total, err := db.Documents(t.Context(), ws, graphread.DocumentList{
			Filter: f, Order: o, Limit: limit, Offset: offset,
		})
		require.NoError(t, err)
		require.EqualValues(t, len(want), total)
		require.Len(t, page, max(0, min(limit, len(want)-offset)))
		for i := range page {
			got = append(got, page[i].ID)
		}
	}
	var ids []uuid.UUID
	for i := range want {
		ids = append(ids, want[i].ID)
	}
	require.Equal(t, ids, got, "%s %+v", o, f)
}

// TestPagesOfDocumentsAreReadAndCountedByAnIndex requires plans that take no longer with more documents, but for the
// count, which reads only an index.
func TestPagesOfDocumentsAreReadAndCountedByAnIndex(t *testing.T) {
	db := fillDocuments(t, 3_000)
	require.NoError(t, db.Exec(t.Context(), `VACUUM ANALYZE nodes`))
	r, err := db.Recorder(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	for _, o := range orders {
		_, total, err := r.Documents(t.Context(), pgtest.GraphWorkspace, graphread.DocumentList{Order: o, Limit: 50})
		require.NoError(t, err)
		require.EqualValues(t, 3_000, total)
	}
	plans, err := r.Plans(t.Context(), db)
	require.NoError(t, err)
	require.Len(t, plans, 6)
	for i, index := range []string{"nodes_document_list", "nodes_document_changes", "nodes_document_timestamp"} {
		require.Contains(t, plans[2*i], "Index Only Scan", plans[2*i])
		require.Contains(t, plans[2*i+1], "Index Scan using "+index, plans[2*i+1])
		require.NotContains(t, plans[2*i+1], "Sort", plans[2*i+1])
	}
}
