package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphpast"
)

// MaxSubgraphEdges is the maximum number of edges of a subgraph.
const MaxSubgraphEdges = 2_000

// SubgraphQuery selects a subgraph: the nodes within Depth edges of the seeds, and all edges between them.
type SubgraphQuery struct {
	Seeds         []uuid.UUID // distinct
	Depth         int
	Out, In       bool             // follow edges from source to target, from target to source
	RelationTypes []string         // follow and return only edges of one of these; nil: all
	EntityTypes   []string         // reach only nodes of one of these; nil: all. Seeds may be of any type
	MaxNodes      int              // the nearest ones are returned
	MaxBytes      int              // approximate maximum size of the nodes, and of the edges
	AsOf          graphpast.Moment // the state of the graph; not set: the current one
}

// neighbors returns the part of the query that a walk uses.
func (q *SubgraphQuery) neighbors() NeighborQuery {
	return NeighborQuery{
		Depth: q.Depth, Out: q.Out, In: q.In, RelationTypes: q.RelationTypes, EntityTypes: q.EntityTypes, AsOf: q.AsOf,
	}
}

// SubgraphNode is a node of a subgraph.
type SubgraphNode struct {
	Node  graph.Node
	Depth int // number of edges of the shortest path from a seed
}

// Subgraph is a set of nodes with the edges between them.
type Subgraph struct {
	Nodes     []SubgraphNode // sorted by depth and id
	Edges     []graph.Edge   // sorted by id
	Truncated bool           // whether nodes or edges may be missing
	Sequence  int64          // that the subgraph is as of; 0: it is current
}

// Subgraph reads a subgraph. The error is NotFound if a seed is not a live node.
func (db *Store) Subgraph(ctx context.Context, workspace uuid.UUID, q SubgraphQuery) (s Subgraph, err error) {
	if q.AsOf.IsSet() {
		return db.subgraphAsOf(ctx, workspace, q)
	}
	err = db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		w := &walk{tx: tx, workspace: workspace, edgesLeft: maxWalkEdges, query: q.neighbors()}
		if err := w.requireSeeds(ctx, q.Seeds); err != nil {
			return err
		}
		found, more, err := q.walk(ctx, w)
		if err != nil {
			return err
		}
		s.Truncated = w.truncated || more
		if err := s.readNodes(ctx, w, found, q.MaxBytes); err != nil {
			return err
		}
		return s.readEdges(ctx, w, q.MaxBytes)
	})
	if err != nil {
		return Subgraph{}, postgres.Classify(fmt.Errorf("reading a subgraph: %w", err))
	}
	return s, nil
}

// errNoSeed returns the error for a seed that is not a live node.
func errNoSeed() error { return fault.New(fault.NotFound, "No such node").With("field", "nodeId") }

// requireSeeds returns an error if a seed is not a live node.
func (w *walk) requireSeeds(ctx context.Context, seeds []uuid.UUID) error {
	var live int
	err := w.tx.QueryRow(ctx, `SELECT count(*) FROM nodes WHERE workspace_id = $1 AND id = ANY($2) AND NOT deleted`,
		w.workspace, seeds).Scan(&live)
	if err == nil && live != len(seeds) {
		err = errNoSeed()
	}
	return err
}

// around returns the nodes to which the edges of the frontier lead.
func (w *walk) around(ctx context.Context, frontier []uuid.UUID, depth int) ([]uuid.UUID, error) {
	steps, err := w.follow(ctx, frontier, depth)
	ids := make([]uuid.UUID, len(steps))
	for i, s := range steps {
		ids[i] = s.to
	}
	return ids, err
}

// readNodes reads the nodes, of which it leaves out the last ones if all together are too large.
func (s *Subgraph) readNodes(ctx context.Context, w *walk, found []NeighborPosition, maxBytes int) error {
	ids := make([]uuid.UUID, len(found))
	for i, position := range found {
		ids[i] = position.ID
	}
	list, _, err := fetchPage(ctx, w.tx, nodes, w.workspace, ids, maxBytes)
	if err != nil {
		return err
	}
	s.Truncated = s.Truncated || len(list) < len(found)
	s.Nodes = make([]SubgraphNode, len(list))
	for i := range list {
		s.Nodes[i] = SubgraphNode{Node: list[i], Depth: found[i].Depth}
	}
	return nil
}

// selectInducedIDs selects the edges in one direction between the nodes, and whether a node has more edges in this
// direction than are examined. %[1]s is the end of the edges where the nodes are, %[2]s the other end.
const selectInducedIDs = `SELECT COALESCE(array_agg(id) FILTER (WHERE other = ANY($2)), '{}'),
		COALESCE(bool_or(n > $4), false)
	FROM (
		SELECT e.id, e.other, count(*) OVER (PARTITION BY r.node) AS n FROM unnest($2::uuid[]) AS r (node)
		CROSS JOIN LATERAL (
			SELECT id, %[2]s AS other FROM edges WHERE workspace_id = $1 AND %[1]s = r.node AND NOT deleted
			AND ($3::text[] IS NULL OR relation_type = ANY($3)) LIMIT $4 + 1) e) found`

// readEdges reads the edges between the nodes. An edge is found from either end, so none is missing unless a node has
// more outgoing edges, and another one more incoming edges, than are examined.
func (s *Subgraph) readEdges(ctx context.Context, w *walk, maxBytes int) error {
	nodeIDs := make([]uuid.UUID, len(s.Nodes))
	for i := range s.Nodes {
		nodeIDs[i] = s.Nodes[i].Node.ID
	}
	var ids []uuid.UUID
	missing := true
	for _, ends := range [][]any{{"source_id", "target_id"}, {"target_id", "source_id"}} {
		var found []uuid.UUID
		var over bool
		err := w.tx.QueryRow(
			ctx, fmt.Sprintf(selectInducedIDs, ends...), w.workspace, nodeIDs, w.query.RelationTypes, maxWalkEdgesPerNode,
		).Scan(&found, &over)
		if err != nil {
			return err
		}
		ids = append(ids, found...)
		missing = missing && over
	}
	ids = uuids.Distinct(ids)
	if len(ids) > MaxSubgraphEdges {
		ids, missing = ids[:MaxSubgraphEdges], true
	}
	var err error
	s.Edges, _, err = fetchPage(ctx, w.tx, edges, w.workspace, ids, maxBytes)
	s.Truncated = s.Truncated || missing || len(s.Edges) < len(ids)
	return err
}
