package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// TypeCount is the number of nodes of an entity type, or of edges of a relation type.
type TypeCount struct {
	Type  string
	Count int64
}

// TypeCounts are the most frequent types, and the numbers of all nodes or edges and of all types.
type TypeCounts struct {
	Total int64
	Types int64
	Most  []TypeCount
}

// Counts are the numbers of nodes and edges by type as of a sequence.
type Counts struct {
	Nodes, Edges TypeCounts
	Sequence     int64
}

const selectCounts = `SELECT h.sequence, t.kind, t.label, t.standing, t.total, t.types
	FROM (SELECT COALESCE((SELECT sequence FROM graph_heads WHERE workspace_id = $1), 0) AS sequence) h
	LEFT JOIN (
		SELECT kind, label, standing, (sum(standing) OVER by_kind)::bigint AS total, count(*) OVER by_kind AS types,
			row_number() OVER (PARTITION BY kind ORDER BY standing DESC, label COLLATE "C") AS rank
		FROM graph_totals WHERE workspace_id = $1 AND standing > 0 WINDOW by_kind AS (PARTITION BY kind)) t
	ON t.rank <= $2 ORDER BY t.kind, t.rank`

// Counts returns the numbers of nodes and edges by type, for the limit most frequent types of each. They are
// maintained with the rows, so the cost depends on the number of types only.
func (db *Store) Counts(ctx context.Context, workspace uuid.UUID, limit int) (c Counts, err error) {
	var (
		kind             *int16
		label            *string
		n, total, labels *int64
	)
	err = db.root.QueryOnce(ctx, selectCounts, []any{workspace, limit}, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&c.Sequence, &kind, &label, &n, &total, &labels}, func() error {
			if kind == nil { // the graph is empty
				return nil
			}
			counts := &c.Nodes
			if graph.Kind(*kind) == graph.KindEdge {
				counts = &c.Edges
			}
			counts.Total, counts.Types = *total, *labels
			counts.Most = append(counts.Most, TypeCount{*label, *n})
			return nil
		})
		return err
	})
	if err != nil {
		return Counts{}, postgres.Classify(fmt.Errorf("reading the counts of types: %w", err))
	}
	return c, nil
}
