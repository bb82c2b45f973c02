package registry

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres"
)

// SeriesOfNodes returns the series of the sources that are linked to nodes: up to limit
// series of each node, sorted by source and metric. Nodes without series are omitted.
func (db *Store) SeriesOfNodes(
	ctx context.Context, workspace uuid.UUID, nodes []uuid.UUID, limit int,
) (map[uuid.UUID][]Series, error) {
	found := map[uuid.UUID][]Series{}
	if len(nodes) == 0 {
		return found, nil
	}
	// Planned for its arguments, as lists of series are.
	statement := fmt.Sprintf(`SELECT n.node, l.* FROM unnest($2::uuid[]) AS n(node) CROSS JOIN LATERAL (
		SELECT %s FROM %s WHERE s.workspace_id = $1 AND src.workspace_id = $1 AND src.node_id = n.node
		AND src.deleted_at IS NULL AND %s
		ORDER BY s.source_id, s.metric, s.id LIMIT $3) l`, seriesColumns, seriesTables, notSpecial)
	rows, err := db.pool.Query(ctx, statement, postgres.WithCustomPlan([]any{workspace, nodes, limit})...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("selecting the series of nodes: %w", err))
	}
	defer rows.Close()
	var (
		list         []Series
		node         uuid.UUID
		nodeBySource = map[uuid.UUID]uuid.UUID{} // by source
	)
	for row := newSeriesRow(&node); rows.Next(); {
		s, err := row.scan(rows)
		if err != nil {
			return nil, postgres.Classify(err)
		}
		list, nodeBySource[s.SourceID] = append(list, s), node
	}
	if err := rows.Err(); err != nil {
		return nil, postgres.Classify(err)
	}
	list, err = addSourceFields(ctx, db.pool, workspace, list)
	for i := range list {
		node := nodeBySource[list[i].SourceID]
		found[node] = append(found[node], list[i])
	}
	return found, postgres.Classify(err)
}
