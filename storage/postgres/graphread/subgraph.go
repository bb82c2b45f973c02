package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphrow"
)

// maxEdgesPerNode is the maximum number of edges of a node, in each direction, that are read to
// find those between the given nodes, so that a hub costs no more than other nodes. An edge
// between a hub and a node that is no hub is found from the other end.
const maxEdgesPerNode = 200

// InducedEdges returns the edges of the subgraph that the nodes induce: those whose both ends are
// among the nodes. It returns only edges of the relation types, or of any if these are nil,
// sorted by id. It may miss an edge between two nodes that each have more than a few hundred
// edges.
func (db *Store) InducedEdges(
	ctx context.Context, workspace uuid.UUID, nodeIDs []uuid.UUID, relationTypes []string,
) ([]graph.Edge, error) {
	if len(nodeIDs) == 0 {
		return nil, nil
	}
	edgesAt := func(end string) string {
		return fmt.Sprintf(`SELECT e.* FROM unnest($2::uuid[]) AS n(node) CROSS JOIN LATERAL (
			SELECT %s FROM edges WHERE workspace_id = $1 AND %s = n.node AND NOT deleted
			AND ($3::text[] IS NULL OR relation_type = ANY($3))
			LIMIT %d) e WHERE e.source_id = ANY($2) AND e.target_id = ANY($2)`, graphrow.EdgeColumns, end, maxEdgesPerNode)
	}
	statement := fmt.Sprintf(
		`SELECT DISTINCT ON (id) %s FROM (%s UNION ALL %s) found ORDER BY id`, graphrow.EdgeColumns, edgesAt("source_id"),
		edgesAt("target_id"),
	)
	rows, err := db.pool.Query(ctx, statement, pgx.QueryExecModeCacheDescribe, workspace, nodeIDs, relationTypes)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the edges among nodes: %w", err))
	}
	found, err := pgx.CollectRows(rows, graphrow.ScanEdge)
	return found, postgres.Classify(err)
}
