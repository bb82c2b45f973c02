package graphread

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphpast"
)

// Limits of a walk through the graph, so that a hub costs no more than other nodes. A walk that
// reaches maxWalkEdges or maxWalkEdgesPerNode reports that it is truncated.
const (
	// maxWalkEdges is the maximum number of edges that a walk follows.
	maxWalkEdges = 10_000
	// maxWalkEdgesPerNode is the maximum number of edges, in each direction, that a walk follows
	// from a node other than its start, so that a hub next to the start does not use all of
	// maxWalkEdges.
	maxWalkEdgesPerNode = 1_000
	// maxNeighborEdges is the maximum number of edges that are listed with a neighbor.
	maxNeighborEdges = 100
)

// NeighborQuery selects nodes around a node.
type NeighborQuery struct {
	Node          uuid.UUID
	Depth         int      // maximum distance in edges
	Out, In       bool     // follow edges from source to target, from target to source
	RelationTypes []string // follow edges of one of these; nil: all
	EntityTypes   []string // list nodes of one of these; nil: all. The walk also passes through other nodes
	Limit, Offset int
	After         *NeighborPosition // instead of Offset
	AsOf          graphpast.Moment  // the state of the graph; not set: the current one
}

// NeighborPosition is the position of a neighbor in the list, which is sorted by depth and id.
type NeighborPosition struct {
	Depth int       `json:"d"`
	ID    uuid.UUID `json:"i"`
	// Sequence is the one that the list is as of; 0: it is current.
	Sequence int64 `json:"s,omitzero"`
}

// Neighbor is a node around a node.
type Neighbor struct {
	Node  graph.Node
	Depth int          // number of edges of the shortest path to it
	Edges []graph.Edge // its edges with nodes of depth Depth-1, at most maxNeighborEdges
}

// NeighborList is a page of neighbors.
type NeighborList struct {
	Items     []Neighbor
	Total     int64 // number of all neighbors that were found
	Next      *NeighborPosition
	Truncated bool  // whether some edges were not followed
	Sequence  int64 // that the list is as of; 0: it is current
}

// Neighbors walks the graph from a live node and returns a page of the nodes found. The error is
// NotFound for any other node.
func (db *Store) Neighbors(ctx context.Context, workspace uuid.UUID, q NeighborQuery) (list NeighborList, err error) {
	if q.AsOf.IsSet() {
		return db.neighborsAsOf(ctx, workspace, q)
	}
	err = db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		w := &walk{
			tx: tx, workspace: workspace, query: q, reached: newReached[uuid.UUID](q.Node), edgesLeft: maxWalkEdges,
		}
		if err := requireNode(ctx, tx, workspace, q.Node); err != nil {
			return err
		}
		found, err := q.walk(ctx, w)
		if err != nil {
			return err
		}
		list.Total, list.Truncated = int64(len(found)), w.truncated
		page, more := q.page(found)
		if list.Items, err = w.fetch(ctx, page); err == nil && more {
			list.Next = &page[len(page)-1]
		}
		return err
	})
	if err != nil {
		return NeighborList{}, postgres.Classify(fmt.Errorf("walking the graph: %w", err))
	}
	return list, nil
}

func (q *NeighborQuery) page(found []NeighborPosition) (page []NeighborPosition, more bool) {
	from := min(q.Offset, len(found))
	if q.After != nil {
		index, exact := slices.BinarySearchFunc(found, *q.After, comparePositions)
		if from = index; exact {
			from++
		}
	}
	to := min(from+q.Limit, len(found))
	return found[from:to], to < len(found)
}

func comparePositions(a, b NeighborPosition) int {
	return cmp.Or(cmp.Compare(a.Depth, b.Depth), bytes.Compare(a.ID[:], b.ID[:]))
}

// walk is the state of a walk.
type walk struct {
	tx        pgx.Tx
	workspace uuid.UUID
	query     NeighborQuery
	reached   reached[uuid.UUID] // with the ids of edges
	edgesLeft int                // edges that may still be followed
	truncated bool
}

// requireNode returns a NotFound error for a node that is not live.
func requireNode(ctx context.Context, tx pgx.Tx, workspace, id uuid.UUID) error {
	err := tx.QueryRow(
		ctx, `SELECT FROM nodes WHERE workspace_id = $1 AND id = $2 AND NOT deleted`, workspace, id,
	).Scan()
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.NotFound, "No such node")
	}
	return err
}

// step follows the edges of the frontier, and returns the nodes that they lead to first.
func (w *walk) step(ctx context.Context, frontier []uuid.UUID, depth int) ([]uuid.UUID, error) {
	steps, err := w.follow(ctx, frontier, depth)
	if err != nil {
		return nil, err
	}
	var next []uuid.UUID
	for _, s := range steps {
		if w.reached.add(s.to, s.edge, depth) {
			next = append(next, s.to)
		}
	}
	return next, nil
}

// follow follows the edges from and to the frontier. If these are more than are left, each
// direction has half of the rest, and what the other direction does not use.
func (w *walk) follow(ctx context.Context, frontier []uuid.UUID, depth int) (steps []step, err error) {
	perNode := maxWalkEdgesPerNode
	if depth == 1 {
		perNode = maxWalkEdges
	}
	var out, in []step
	if w.query.Out {
		if out, err = w.followOneWay(ctx, frontier, retrieval.Outgoing, perNode); err != nil {
			return nil, err
		}
	}
	if w.query.In {
		if in, err = w.followOneWay(ctx, frontier, retrieval.Incoming, perNode); err != nil {
			return nil, err
		}
	}
	if len(out)+len(in) > w.edgesLeft {
		w.truncated = true
		in = in[:min(len(in), max(w.edgesLeft/2, w.edgesLeft-len(out)))]
		out = out[:w.edgesLeft-len(in)]
	}
	w.edgesLeft -= len(out) + len(in)
	return append(out, in...), nil
}

// followOneWay follows edges in one direction: at most perNode edges of each node of the frontier,
// and in total at most those that are left. They are read in the order of an index, so that the
// walks of consecutive pages follow the same edges.
func (w *walk) followOneWay(
	ctx context.Context, frontier []uuid.UUID, direction retrieval.Direction, perNode int,
) (steps []step, err error) {
	if w.query.RelationTypes != nil && len(w.query.RelationTypes) == 0 { // an empty list means no type, nil means any
		return nil, nil
	}
	s := newWalkStatement(w.workspace, retrieval.Step{
		Frontier: frontier, Direction: direction, RelationTypes: w.query.RelationTypes, MaxPerNode: perNode,
		Limit: w.edgesLeft,
	}, "")
	rows, err := w.tx.Query(ctx, s.sql(), postgres.WithCustomPlan(s.args)...)
	if err != nil {
		return nil, err
	}
	err = eachStep(rows, s.limit, func(s step, _ int, kept bool) {
		if w.truncated = w.truncated || !kept; kept {
			steps = append(steps, s)
		}
	})
	return steps, err
}

// filterListed returns those of the nodes that are to be listed.
func (w *walk) filterListed(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	if w.query.EntityTypes == nil || len(ids) == 0 {
		return ids, nil
	}
	rows, err := w.tx.Query(ctx, `SELECT id FROM nodes WHERE workspace_id = $1 AND id = ANY($2) AND entity_type = ANY($3)`,
		pgx.QueryExecModeCacheDescribe, w.workspace, ids, w.query.EntityTypes)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// fetch reads the nodes and edges of a page.
func (w *walk) fetch(ctx context.Context, page []NeighborPosition) ([]Neighbor, error) {
	var nodeIDs, edgeIDs []uuid.UUID
	for _, position := range page {
		nodeIDs = append(nodeIDs, position.ID)
		edgeIDs = append(edgeIDs, w.reached.edges[position.ID]...)
	}
	nodeList, err := fetch(ctx, w.tx, nodes, w.workspace, nodeIDs)
	if err != nil {
		return nil, err
	}
	edgeList, err := fetch(ctx, w.tx, edges, w.workspace, edgeIDs)
	if err != nil {
		return nil, err
	}
	items := make([]Neighbor, len(page))
	for i, position := range page {
		n := len(w.reached.edges[position.ID])
		items[i] = Neighbor{Node: nodeList[i], Depth: position.Depth, Edges: edgeList[:n:n]}
		edgeList = edgeList[n:]
	}
	return items, nil
}
