package graphread

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// neighborsAsOf is Neighbors as of a moment. Nodes that were purged since are left out, and their edges are not
// followed.
func (db *Store) neighborsAsOf(
	ctx context.Context, workspace uuid.UUID, q NeighborQuery,
) (list NeighborList, err error) {
	if q.After != nil { // all pages are as of the sequence of the first one
		q.AsOf = Moment{Sequence: q.After.Sequence}
	}
	err = db.inPast(ctx, workspace, q.AsOf, func(p *past) error {
		w := &pastWalk{past: p, query: q, history: newEdgeHistory(),
			reached: newReached[*graph.Edge](q.Node), expanded: map[uuid.UUID]bool{}}
		w.history.want = func(e *graph.Edge) bool { return w.expanded[e.SourceID] || w.expanded[e.TargetID] }
		if err := w.requireStart(ctx); err != nil {
			return err
		}
		found, err := q.walk(ctx, w)
		if err != nil {
			return err
		}
		list.Total, list.Truncated, list.Sequence = int64(len(found)), w.truncated, p.sequence
		page, more := q.page(found)
		if list.Items, err = w.fetch(ctx, page); err == nil && more {
			next := page[len(page)-1]
			next.Sequence = p.sequence
			list.Next = &next
		}
		return err
	})
	return list, err
}

// pastWalk is the state of a walk as of a sequence.
type pastWalk struct {
	*past

	query     NeighborQuery
	history   *edgeHistory
	expanded  map[uuid.UUID]bool // nodes whose edges are in history
	reached   reached[*graph.Edge]
	truncated bool
}

// requireStart returns an error if the node of the query was not live or was purged since.
func (w *pastWalk) requireStart(ctx context.Context) error {
	start, purged, err := w.nodes(ctx, []uuid.UUID{w.query.Node})
	switch _, live := start[w.query.Node]; {
	case err != nil:
		return err
	case purged[w.query.Node]:
		return errPurged("node")
	case !live:
		return fault.New(fault.NotFound, "No such node")
	}
	return nil
}

// step follows the edges of the frontier, and returns the nodes that they lead to first.
func (w *pastWalk) step(ctx context.Context, frontier []uuid.UUID, depth int) ([]uuid.UUID, error) {
	isFrontier := make(map[uuid.UUID]bool, len(frontier))
	for _, id := range frontier {
		isFrontier[id] = true
	}
	live, err := w.liveEdges(ctx, frontier, isFrontier)
	if err != nil {
		return nil, err
	}
	var next []uuid.UUID
	reach := func(id uuid.UUID, e *graph.Edge) {
		if w.reached.add(id, e, depth) {
			next = append(next, id)
		}
	}
	for _, e := range live {
		if w.query.Out && isFrontier[e.SourceID] {
			reach(e.TargetID, e)
		}
		if w.query.In && isFrontier[e.TargetID] {
			reach(e.SourceID, e)
		}
	}
	purged, err := w.purged(ctx, next)
	if len(purged) > 0 {
		w.truncated = true
		next = slices.DeleteFunc(next, func(id uuid.UUID) bool { return purged[id] })
	}
	return next, err
}

// liveEdges returns the live edges at the frontier, in the order of ids.
func (w *pastWalk) liveEdges(
	ctx context.Context, frontier []uuid.UUID, isFrontier map[uuid.UUID]bool,
) ([]*graph.Edge, error) {
	if err := w.expand(ctx, frontier); err != nil {
		return nil, err
	}
	ends := map[uuid.UUID]int64{} // from which sequence the cascades of the other ends count
	var ids []uuid.UUID
	for id, last := range w.history.last {
		e := last.edge
		if !isFrontier[e.SourceID] && !isFrontier[e.TargetID] || !w.passes(e) {
			continue
		}
		ids = append(ids, id)
		for _, end := range []uuid.UUID{e.SourceID, e.TargetID} {
			if first, ok := ends[end]; !w.expanded[end] && (!ok || last.sequence < first) {
				ends[end] = last.sequence
			}
		}
	}
	if err := w.readCascades(ctx, w.history, ends); err != nil {
		return nil, err
	}
	slices.SortFunc(ids, uuids.Compare)
	var live []*graph.Edge
	for _, id := range ids {
		if e := w.history.state(id); !e.Deleted {
			live = append(live, e)
		}
	}
	if len(live) > maxWalkEdges {
		w.truncated = true
		live = live[:maxWalkEdges]
	}
	return live, nil
}

func (w *pastWalk) passes(e *graph.Edge) bool {
	return w.query.RelationTypes == nil || slices.Contains(w.query.RelationTypes, e.RelationType)
}

// expand reads the histories of the edges of the frontier. A node other than the start is not expanded if its history
// is too long.
func (w *pastWalk) expand(ctx context.Context, frontier []uuid.UUID) error {
	counts, err := w.countEntries(ctx, frontier, make([]int64, len(frontier)))
	if err != nil {
		return err
	}
	var nodes []uuid.UUID
	for _, id := range frontier {
		if counts[id] > w.entriesLeft {
			if id == w.query.Node {
				return errTooLong()
			}
			w.truncated = true
			continue
		}
		w.entriesLeft -= counts[id]
		w.expanded[id] = true
		nodes = append(nodes, id)
	}
	return w.readMatching(ctx, w.history, nodes, make([]int64, len(nodes)), hasEdgeSteps)
}

// filterListed returns those of the nodes that are to be listed.
func (w *pastWalk) filterListed(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	if w.query.EntityTypes == nil || len(ids) == 0 {
		return ids, nil
	}
	live, _, err := w.nodes(ctx, ids)
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
	live, _, err := w.nodes(ctx, ids)
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
