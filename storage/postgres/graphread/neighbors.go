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
)

// What a walk through the graph does at most, so that a hub costs no more than
// others. What it leaves out it says.
const (
	// walkEdges is how many edges a walk follows.
	walkEdges = 10_000
	// walkEdgesOfNode is how many of them, each way, from a node on the way: a hub
	// beside the start must not take them all.
	walkEdgesOfNode = 1_000
	// neighborEdges is how many edges are listed with a neighbor.
	neighborEdges = 100
)

// NeighborQuery says which nodes around a node.
type NeighborQuery struct {
	Node          uuid.UUID
	Depth         int      // how many edges away, at most
	Out, In       bool     // follow edges from source to target, from target to source
	RelationTypes []string // follow edges of one of these; nil: all
	EntityTypes   []string // list nodes of one of these; nil: all. Others are passed through
	Limit, Offset int
	After         *NeighborPosition // instead of Offset
}

// NeighborPosition is where a neighbor stands in the list, which is sorted by depth
// and id.
type NeighborPosition struct {
	Depth int       `json:"d"`
	ID    uuid.UUID `json:"i"`
}

// Neighbor is a node around a node.
type Neighbor struct {
	Node  graph.Node
	Depth int          // edges of the shortest way there
	Edges []graph.Edge // its edges with nodes that are one step nearer, at most 100
}

// NeighborList is a page of neighbors.
type NeighborList struct {
	Items     []Neighbor
	Total     int64 // that were found in all
	Next      *NeighborPosition
	Truncated bool // there are more edges than were followed
}

// Neighbors walks the graph from a node that stands, NotFound for any other.
func (db *Store) Neighbors(ctx context.Context, workspace uuid.UUID, q NeighborQuery) (list NeighborList, err error) {
	err = db.root.Reading(ctx, func(tx pgx.Tx) error {
		w := &walk{
			tx: tx, workspace: workspace, query: q, seen: map[uuid.UUID]int{q.Node: 0}, edges: map[uuid.UUID][]uuid.UUID{},
			left: walkEdges,
		}
		if err := w.start(ctx); err != nil {
			return err
		}
		found, err := w.run(ctx)
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
		at, there := slices.BinarySearchFunc(found, *q.After, comparePositions)
		if from = at; there {
			from++
		}
	}
	to := min(from+q.Limit, len(found))
	return found[from:to], to < len(found)
}

func comparePositions(a, b NeighborPosition) int {
	return cmp.Or(cmp.Compare(a.Depth, b.Depth), bytes.Compare(a.ID[:], b.ID[:]))
}

// walk is a walk under way.
type walk struct {
	tx        pgx.Tx
	workspace uuid.UUID
	query     NeighborQuery
	seen      map[uuid.UUID]int         // node -> depth
	edges     map[uuid.UUID][]uuid.UUID // node -> edges that lead there from one step nearer
	left      int                       // edges that may still be followed
	truncated bool
}

func (w *walk) start(ctx context.Context) error {
	err := w.tx.QueryRow(
		ctx, `SELECT FROM nodes WHERE workspace_id = $1 AND id = $2 AND NOT deleted`, w.workspace, w.query.Node,
	).Scan()
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.NotFound, "No such node")
	}
	return err
}

// run walks, and gives the nodes to list in their order.
func (w *walk) run(ctx context.Context) ([]NeighborPosition, error) {
	frontier := []uuid.UUID{w.query.Node}
	var found []NeighborPosition
	for depth := 1; depth <= w.query.Depth && len(frontier) > 0; depth++ {
		steps, err := w.follow(ctx, frontier, depth)
		if err != nil {
			return nil, err
		}
		frontier = nil
		for _, s := range steps {
			at, known := w.seen[s.to]
			if !known {
				w.seen[s.to] = depth
				frontier = append(frontier, s.to)
			} else if at != depth {
				continue
			}
			if len(w.edges[s.to]) < neighborEdges {
				w.edges[s.to] = append(w.edges[s.to], s.edge)
			}
		}
		listed, err := w.listed(ctx, frontier)
		if err != nil {
			return nil, err
		}
		for _, id := range listed {
			found = append(found, NeighborPosition{Depth: depth, ID: id})
		}
	}
	slices.SortFunc(found, comparePositions)
	return found, nil
}

// follow follows the edges of the frontier, out of it and into it. When they are too
// many together, each way may have half of what is left, and what the other does not
// need.
func (w *walk) follow(ctx context.Context, frontier []uuid.UUID, depth int) (steps []step, err error) {
	ofNode := walkEdgesOfNode
	if depth == 1 {
		ofNode = walkEdges
	}
	var out, in []step
	if w.query.Out {
		if out, err = w.followOneWay(ctx, frontier, retrieval.Outgoing, ofNode); err != nil {
			return nil, err
		}
	}
	if w.query.In {
		if in, err = w.followOneWay(ctx, frontier, retrieval.Incoming, ofNode); err != nil {
			return nil, err
		}
	}
	if len(out)+len(in) > w.left {
		w.truncated = true
		in = in[:min(len(in), max(w.left/2, w.left-len(out)))]
		out = out[:w.left-len(in)]
	}
	w.left -= len(out) + len(in)
	return append(out, in...), nil
}

// followOneWay follows at most ofNode edges of each node of the frontier, and not more
// than are left in all. They come in the order of an index, so that a page after a page
// meets the same ones.
func (w *walk) followOneWay(
	ctx context.Context, frontier []uuid.UUID, way retrieval.Direction, ofNode int,
) (steps []step, err error) {
	if w.query.RelationTypes != nil && len(w.query.RelationTypes) == 0 { // of none, not of any
		return nil, nil
	}
	s := newWalkStatement(w.workspace, retrieval.Step{
		Frontier: frontier, Direction: way, RelationTypes: w.query.RelationTypes, OfNode: ofNode, Limit: w.left,
	})
	rows, err := w.tx.Query(ctx, s.text(), postgres.Planned(s.args)...)
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

// listed leaves the nodes that are to be listed.
func (w *walk) listed(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
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

// fetch reads what a page shows.
func (w *walk) fetch(ctx context.Context, page []NeighborPosition) ([]Neighbor, error) {
	var nodeIDs, edgeIDs []uuid.UUID
	for _, at := range page {
		nodeIDs = append(nodeIDs, at.ID)
		edgeIDs = append(edgeIDs, w.edges[at.ID]...)
	}
	around, err := fetch(ctx, w.tx, nodes, w.workspace, nodeIDs)
	if err != nil {
		return nil, err
	}
	between, err := fetch(ctx, w.tx, edges, w.workspace, edgeIDs)
	if err != nil {
		return nil, err
	}
	items := make([]Neighbor, len(page))
	for i, at := range page {
		n := len(w.edges[at.ID])
		items[i] = Neighbor{Node: around[i], Depth: at.Depth, Edges: between[:n:n]}
		between = between[n:]
	}
	return items, nil
}
