package graphread

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres/graphpast"
)

// subgraphAsOf is Subgraph as of a moment. Nodes that were purged since are left out, and their edges are not followed.
func (db *Store) subgraphAsOf(ctx context.Context, workspace uuid.UUID, q SubgraphQuery) (s Subgraph, err error) {
	err = db.inPast(ctx, workspace, q.AsOf, func(p *graphpast.Reader) error {
		query := q.neighbors()
		w := newPastWalk(p, &query, q.Seeds...)
		if err := w.requireSeeds(ctx, q.Seeds); err != nil {
			return err
		}
		found, more, err := q.walk(ctx, w)
		if err != nil {
			return err
		}
		s.Sequence, s.Truncated = p.Sequence(), more
		if err := s.readPastNodes(ctx, p, found, q.MaxBytes); err != nil {
			return err
		}
		if err := s.readPastEdges(ctx, w, q.MaxBytes); err != nil {
			return err
		}
		s.Truncated = s.Truncated || w.truncated
		return nil
	})
	return s, err
}

// requireSeeds returns an error if a seed was not live or was purged since.
func (w *pastWalk) requireSeeds(ctx context.Context, seeds []uuid.UUID) error {
	live, purged, err := w.Nodes(ctx, seeds)
	switch {
	case err != nil:
		return err
	case len(purged) > 0:
		return graphpast.ErrPurged("node")
	case len(live) != len(seeds):
		return errNoSeed()
	}
	return nil
}

// around returns the nodes to which the edges of the frontier lead.
func (w *pastWalk) around(ctx context.Context, frontier []uuid.UUID, _ int) (next []uuid.UUID, err error) {
	if err = w.eachStep(ctx, frontier, func(id uuid.UUID, _ *graph.Edge) { next = append(next, id) }); err != nil {
		return nil, err
	}
	return w.withoutPurged(ctx, next)
}

// readPastNodes reads the nodes, of which it leaves out the last ones if all together are too large.
func (s *Subgraph) readPastNodes(
	ctx context.Context, p *graphpast.Reader, found []NeighborPosition, maxBytes int,
) error {
	size := 0
	for chunk := range slices.Chunk(found, FetchItems) {
		if size >= maxBytes {
			s.Truncated = true
			break
		}
		ids := make([]uuid.UUID, len(chunk))
		for i, position := range chunk {
			ids[i] = position.ID
		}
		live, _, err := p.Nodes(ctx, ids)
		if err != nil {
			return err
		}
		for _, position := range chunk {
			n := live[position.ID]
			s.Nodes = append(s.Nodes, SubgraphNode{Node: n, Depth: position.Depth})
			size += nodes.size(&n)
		}
	}
	return nil
}

// readPastEdges reads the edges between the nodes, of which it leaves out the last ones if all together are too large.
func (s *Subgraph) readPastEdges(ctx context.Context, w *pastWalk, maxBytes int) error {
	ids, inside := make([]uuid.UUID, len(s.Nodes)), make(map[uuid.UUID]bool, len(s.Nodes))
	for i := range s.Nodes {
		ids[i] = s.Nodes[i].Node.ID
		inside[ids[i]] = true
	}
	live, err := w.liveEdges(ctx, ids, func(e *graph.Edge) bool { return inside[e.SourceID] && inside[e.TargetID] })
	if err != nil {
		return err
	}
	size := 0
	for _, e := range live {
		if len(s.Edges) == MaxSubgraphEdges || size >= maxBytes {
			s.Truncated = true
			break
		}
		s.Edges = append(s.Edges, *e)
		size += edges.size(e)
	}
	return nil
}
