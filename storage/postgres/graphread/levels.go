package graphread

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// levelWalk walks a graph, now or as of a moment, from one depth to the next.
type levelWalk interface {
	// step follows the edges of the frontier to a depth, and returns the nodes that they lead to first.
	step(ctx context.Context, frontier []uuid.UUID, depth int) ([]uuid.UUID, error)
	// filterListed returns those of the nodes that are to be listed.
	filterListed(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error)
}

// seedWalk walks a graph, now or as of a moment, from several nodes.
type seedWalk interface {
	// around returns the nodes to which the edges of the frontier lead, at a depth.
	around(ctx context.Context, frontier []uuid.UUID, depth int) ([]uuid.UUID, error)
	// filterListed returns those of the nodes that are to be listed.
	filterListed(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error)
}

// walk walks the graph from the seeds, and returns at most q.MaxNodes of the nodes found, in order, and whether there
// are more. It follows edges only through nodes that are listed.
func (q *SubgraphQuery) walk(ctx context.Context, w seedWalk) (found []NeighborPosition, more bool, err error) {
	frontier, seen := q.Seeds, make(map[uuid.UUID]bool, len(q.Seeds))
	for depth := 0; ; depth++ {
		uuids.Sort(frontier)
		for _, id := range frontier {
			seen[id] = true
			found = append(found, NeighborPosition{Depth: depth, ID: id})
		}
		if len(found) > q.MaxNodes {
			return found[:q.MaxNodes], true, nil
		}
		if depth == q.Depth || len(frontier) == 0 {
			return found, false, nil
		}
		next, err := w.around(ctx, frontier, depth+1)
		if err != nil {
			return nil, false, err
		}
		next = slices.DeleteFunc(next, func(id uuid.UUID) bool { return seen[id] })
		if frontier, err = w.filterListed(ctx, uuids.Distinct(next)); err != nil {
			return nil, false, err
		}
	}
}

// walk walks the graph from the node of the query, and returns the nodes to list, in order.
func (q *NeighborQuery) walk(ctx context.Context, w levelWalk) (found []NeighborPosition, err error) {
	frontier := []uuid.UUID{q.Node}
	for depth := 1; depth <= q.Depth && len(frontier) > 0; depth++ {
		if frontier, err = w.step(ctx, frontier, depth); err != nil {
			return nil, err
		}
		listed, err := w.filterListed(ctx, frontier)
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

// reached is what a walk has reached: the depth of each node, and edges to it from nodes of the previous depth.
type reached[E any] struct {
	depths map[uuid.UUID]int
	edges  map[uuid.UUID][]E
}

func newReached[E any](start uuid.UUID) reached[E] {
	return reached[E]{depths: map[uuid.UUID]int{start: 0}, edges: map[uuid.UUID][]E{}}
}

// add records that an edge leads to a node at a depth. It reports whether the node was not reached before.
func (r *reached[E]) add(node uuid.UUID, edge E, depth int) (first bool) {
	known, seen := r.depths[node]
	if seen && known != depth {
		return false
	}
	r.depths[node] = depth
	if len(r.edges[node]) < maxNeighborEdges {
		r.edges[node] = append(r.edges[node], edge)
	}
	return !seen
}
