package textindex_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/test/pgtest"
)

func TestNodesThatChangedAreReadByTheChangeAndFromAnIndex(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	list, _ := plainNodes(slices.Repeat([]string{"pump"}, 3000))
	pgtest.InsertNodes(t, db, ws, list)
	require.NoError(t, db.Exec(t.Context(), `UPDATE nodes SET changed_by = place / 3, created_by = place / 3 FROM
		(SELECT id AS node, row_number() OVER (ORDER BY id) AS place FROM nodes WHERE workspace_id = $1) n
		WHERE workspace_id = $1 AND id = node`, ws))
	require.NoError(t, db.Exec(t.Context(), `VACUUM ANALYZE`))
	slices.SortFunc(list, func(a, b graph.Node) int { return bytes.Compare(a.ID[:], b.ID[:]) })

	r, err := db.Recorder(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	var read []uuid.UUID
	for after := (textindex.ChangedNode{ID: uuid.Max, ChangedBy: 9}); ; {
		page, err := r.ChangedNodes(t.Context(), ws, after, 900, 7)
		require.NoError(t, err)
		for _, n := range page {
			read = append(read, n.ID)
		}
		if len(page) < 7 {
			break
		}
		after = page[len(page)-1]
	}
	var want []uuid.UUID
	for i, n := range list {
		if by := (i + 1) / 3; by > 9 && by <= 900 {
			want = append(want, n.ID)
		}
	}
	require.Equal(t, want, read)
	plans, err := r.Plans(t.Context(), db)
	require.NoError(t, err)
	require.Contains(t, strings.Join(plans, "\n"), "nodes_changed", "%s", fmt.Sprint(plans[:1]))
	standing, err := db.LiveNodes(t.Context(), ws, 900, nil, math.MaxInt32)
	require.NoError(t, err)
	require.Len(t, standing, 2702)
}
