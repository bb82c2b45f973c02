package graphread

import (
	"context"
	"slices"

	"github.com/google/uuid"
)

// levelWalk walks a graph, now or as of a moment, from one depth to the next.
type levelWalk interface {
	// step follows the edges of the frontier to a depth, and returns the nodes that they lead to first.
	step(ctx context.Context, frontier []uuid.UUID, depth int) ([]uuid.UUID, error)
	// filterListed returns those of the nodes that are to be listed.
	filterListed(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error)
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
