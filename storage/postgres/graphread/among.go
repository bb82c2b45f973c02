package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// amongEdges is how many edges of a node, each way, are looked at for those that lead
// to others of a few nodes: a hub costs no more than others. What leads from it to one
// that is none is found from the other end.
const amongEdges = 200

// EdgesAmong returns the edges whose both ends are among the nodes, of one of the
// relation types (nil: of any), sorted by id. Of an edge between two nodes that each
// have more than some hundred edges it may know nothing.
func (db *Store) EdgesAmong(
	ctx context.Context, workspace uuid.UUID, among []uuid.UUID, relationTypes []string,
) ([]graph.Edge, error) {
	if len(among) == 0 {
		return nil, nil
	}
	near := func(end string) string {
		return fmt.Sprintf(`SELECT e.* FROM unnest($2::uuid[]) AS n(node) CROSS JOIN LATERAL (
			SELECT %s FROM edges WHERE workspace_id = $1 AND %s = n.node AND NOT deleted
			AND ($3::text[] IS NULL OR relation_type = ANY($3))
			LIMIT %d) e WHERE e.source_id = ANY($2) AND e.target_id = ANY($2)`, edgeColumns, end, amongEdges)
	}
	statement := fmt.Sprintf(
		`SELECT DISTINCT ON (id) %s FROM (%s UNION ALL %s) found ORDER BY id`, edgeColumns, near("source_id"),
		near("target_id"),
	)
	rows, err := db.pool.Query(ctx, statement, pgx.QueryExecModeCacheDescribe, workspace, among, relationTypes)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the edges among nodes: %w", err))
	}
	found, err := pgx.CollectRows(rows, scanEdge)
	return found, postgres.Classify(err)
}
