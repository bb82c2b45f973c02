package replica

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// ReadNodes is graphread.Store.ReadNodes.
func (g *Graph) ReadNodes(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) (map[uuid.UUID]graph.Node, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (map[uuid.UUID]graph.Node, error) {
		return db.ReadNodes(ctx, workspace, ids, f)
	})
}

// FilterNodes is graphread.Store.FilterNodes.
func (g *Graph) FilterNodes(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) ([]uuid.UUID, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) ([]uuid.UUID, error) {
		return db.FilterNodes(ctx, workspace, ids, f)
	})
}

// ReadEdges is graphread.Store.ReadEdges.
func (g *Graph) ReadEdges(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]graph.Edge, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (map[uuid.UUID]graph.Edge, error) {
		return db.ReadEdges(ctx, workspace, ids)
	})
}

// matchingNodes is the result of MatchingNodes.
type matchingNodes struct {
	ids  []uuid.UUID
	more bool
}

// ReadMarks is graphread.Store.ReadMarks.
func (g *Graph) ReadMarks(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]graph.Node, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (map[uuid.UUID]graph.Node, error) {
		return db.ReadMarks(ctx, workspace, ids)
	})
}

// MatchingNodes is graphread.Store.MatchingNodes.
func (g *Graph) MatchingNodes(
	ctx context.Context, workspace uuid.UUID, f retrieval.Filter, limit int,
) ([]uuid.UUID, bool, error) {
	m, err := read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (m matchingNodes, err error) {
		m.ids, m.more, err = db.MatchingNodes(ctx, workspace, f, limit)
		return m, err
	})
	return m.ids, m.more, err
}

// WalkEdges is graphread.Store.WalkEdges.
func (g *Graph) WalkEdges(
	ctx context.Context, workspace uuid.UUID, step retrieval.Step,
) (retrieval.WalkResult, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (retrieval.WalkResult, error) {
		return db.WalkEdges(ctx, workspace, step)
	})
}

// DocumentParts is graphread.Store.DocumentParts.
func (g *Graph) DocumentParts(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]retrieval.DocumentPart, error) {
	return read(
		ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (map[uuid.UUID]retrieval.DocumentPart, error) {
			return db.DocumentParts(ctx, workspace, ids)
		},
	)
}
