package graphread

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/edgehistory"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/storage/postgres/graphpast"
)

// neighborsAsOf is Neighbors as of a moment. Nodes that were purged since are left out, and their edges are not
// followed.
func (db *Store) neighborsAsOf(
	ctx context.Context, workspace uuid.UUID, q NeighborQuery,
) (list NeighborList, err error) {
	if q.After != nil { // all pages are as of the sequence of the first one
		q.AsOf = graphpast.Moment{Sequence: q.After.Sequence}
	}
	err = db.inPast(ctx, workspace, q.AsOf, func(p *graphpast.Reader) error {
		w := newPastWalk(p, &q, q.Node)
		if err := w.requireStart(ctx); err != nil {
			return err
		}
		found, err := q.walk(ctx, w)
		if err != nil {
			return err
		}
		list.Total, list.Truncated, list.Sequence = int64(len(found)), w.truncated, p.Sequence()
		page, more := q.page(found)
		if list.Items, err = w.fetch(ctx, page); err == nil && more {
			next := page[len(page)-1]
			next.Sequence = p.Sequence()
			list.Next = &next
		}
		return err
	})
	return list, err
}

// pastWalk is the state of a walk as of a sequence.
type pastWalk struct {
	*graphpast.Reader

	query     *NeighborQuery
	starts    []uuid.UUID // whose histories must not be too long
	history   *edgehistory.History
	expanded  map[uuid.UUID]bool // nodes whose edges are in history
	reached   reached[*graph.Edge]
	truncated bool
}

func newPastWalk(p *graphpast.Reader, q *NeighborQuery, starts ...uuid.UUID) *pastWalk {
	w := &pastWalk{
		Reader: p, query: q, starts: starts, expanded: map[uuid.UUID]bool{},
		reached: newReached[*graph.Edge](q.Node),
	}
	w.history = edgehistory.New(func(e *graph.Edge) bool { return w.expanded[e.SourceID] || w.expanded[e.TargetID] })
	return w
}

// requireStart returns an error if the node of the query was not live or was purged since.
func (w *pastWalk) requireStart(ctx context.Context) error {
	start, purged, err := w.Nodes(ctx, []uuid.UUID{w.query.Node})
	switch _, live := start[w.query.Node]; {
	case err != nil:
		return err
	case purged[w.query.Node]:
		return graphpast.ErrPurged("node")
	case !live:
		return fault.New(fault.NotFound, "No such node")
	}
	return nil
}

// step follows the edges of the frontier, and returns the nodes that they lead to first.
func (w *pastWalk) step(ctx context.Context, frontier []uuid.UUID, depth int) (next []uuid.UUID, err error) {
	err = w.eachStep(ctx, frontier, func(id uuid.UUID, e *graph.Edge) {
		if w.reached.add(id, e, depth) {
			next = append(next, id)
		}
	})
	if err != nil {
		return nil, err
	}
	return w.withoutPurged(ctx, next)
}

// eachStep calls reach with each live edge of the frontier in a direction of the query, and the node to which it leads.
func (w *pastWalk) eachStep(ctx context.Context, frontier []uuid.UUID, reach func(uuid.UUID, *graph.Edge)) error {
	isFrontier := make(map[uuid.UUID]bool, len(frontier))
	for _, id := range frontier {
		isFrontier[id] = true
	}
	live, err := w.liveEdges(ctx, frontier, func(e *graph.Edge) bool {
		return isFrontier[e.SourceID] || isFrontier[e.TargetID]
	})
	if err != nil {
		return err
	}
	if len(live) > maxWalkEdges {
		w.truncated = true
		live = live[:maxWalkEdges]
	}
	for _, e := range live {
		if w.query.Out && isFrontier[e.SourceID] {
			reach(e.TargetID, e)
		}
		if w.query.In && isFrontier[e.TargetID] {
			reach(e.SourceID, e)
		}
	}
	return nil
}

// withoutPurged returns the nodes that were not purged. Edges to the others are missing.
func (w *pastWalk) withoutPurged(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	purged, err := w.Purged(ctx, ids)
	if len(purged) > 0 {
		w.truncated = true
		ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return purged[id] })
	}
	return ids, err
}

// liveEdges expands nodes, and returns the live edges that pass a condition, in the order of ids.
func (w *pastWalk) liveEdges(
	ctx context.Context, nodes []uuid.UUID, condition func(*graph.Edge) bool,
) ([]*graph.Edge, error) {
	if err := w.expand(ctx, nodes); err != nil {
		return nil, err
	}
	ends := map[uuid.UUID]int64{} // from which sequence the cascades of the other ends count
	var ids []uuid.UUID
	w.history.Edges(func(e *graph.Edge, sequence int64) {
		if !condition(e) || !w.passes(e) {
			return
		}
		ids = append(ids, e.ID)
		for _, end := range []uuid.UUID{e.SourceID, e.TargetID} {
			if first, ok := ends[end]; !w.expanded[end] && (!ok || sequence < first) {
				ends[end] = sequence
			}
		}
	})
	if err := w.ReadCascades(ctx, w.history, ends); err != nil {
		return nil, err
	}
	slices.SortFunc(ids, uuids.Compare)
	var live []*graph.Edge
	for _, id := range ids {
		if e := w.history.State(id); !e.Deleted {
			live = append(live, e)
		}
	}
	return live, nil
}

func (w *pastWalk) passes(e *graph.Edge) bool {
	return w.query.RelationTypes == nil || slices.Contains(w.query.RelationTypes, e.RelationType)
}

// expand reads the histories of the edges of nodes, once. A node that is no start is not expanded if its history is too
// long.
func (w *pastWalk) expand(ctx context.Context, ids []uuid.UUID) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return w.expanded[id] })
	admitted, err := w.Admit(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range admitted {
		w.expanded[id] = true
	}
	for _, id := range ids {
		if w.expanded[id] {
			continue
		}
		if slices.Contains(w.starts, id) {
			return graphpast.ErrTooLong()
		}
		w.truncated = true
	}
	return w.ReadEdgeSteps(ctx, w.history, admitted)
}

// filterListed returns those of the nodes that are to be listed.
func (w *pastWalk) filterListed(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	if w.query.EntityTypes == nil || len(ids) == 0 {
		return ids, nil
	}
	live, _, err := w.Nodes(ctx, ids)
	var listed []uuid.UUID
	for _, id := range ids {
		if slices.Contains(w.query.EntityTypes, string(live[id].EntityType)) {
			listed = append(listed, id)
		}
	}
	return listed, err
}

// fetch reads the nodes of a page.
func (w *pastWalk) fetch(ctx context.Context, page []NeighborPosition) ([]Neighbor, error) {
	ids := make([]uuid.UUID, len(page))
	for i, position := range page {
		ids[i] = position.ID
	}
	live, _, err := w.Nodes(ctx, ids)
	if err != nil {
		return nil, err
	}
	items := make([]Neighbor, len(page))
	for i, position := range page {
		items[i] = Neighbor{Node: live[position.ID], Depth: position.Depth}
		for _, e := range w.reached.edges[position.ID] {
			items[i].Edges = append(items[i].Edges, *e)
		}
	}
	return items, nil
}
