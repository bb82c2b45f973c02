package replica

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres/graphpast"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/storage/postgres/journal"
)

// Graph reads the graph on the replica or on the primary. Its methods are those of graphread.Store.
type Graph struct {
	primary *graphread.Store
	router  *Router
}

// NewGraph returns a Graph. Without a router, it reads on the primary.
func NewGraph(primary *graphread.Store, router *Router) *Graph {
	return &Graph{primary: primary, router: router}
}

// read runs a read on the replica if that can answer it, and otherwise on the primary. A read that fails on the replica
// is repeated on the primary.
func read[T any](
	ctx context.Context, g *Graph, workspace uuid.UUID, from func(context.Context, *graphread.Store) (T, error),
) (T, error) {
	r := g.router
	if r == nil {
		return from(ctx, g.primary)
	}
	usable, reason := r.choose(ctx, workspace)
	if usable != nil {
		result, err := readReplica(ctx, usable, r.graph, from)
		if ctx.Err() != nil || answers(err) {
			r.metrics.reads.WithLabelValues(targetReplica, reasonCurrent).Inc()
			return result, err
		}
		reason = reasonError
	}
	r.metrics.reads.WithLabelValues(targetPrimary, reason).Inc()
	return from(ctx, g.primary)
}

// readReplica runs a read on the replica until that must not be used any more.
func readReplica[T any](
	ctx context.Context, usable *state, store *graphread.Store, from func(context.Context, *graphread.Store) (T, error),
) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(usable.ctx, cancel)()
	return from(ctx, store)
}

// answers reports whether a result of the replica is an answer, possibly a refusal, and not a failure of the replica:
// a conflict with the replay, a lost connection, or a schema that is older than this process.
func answers(err error) bool {
	if err == nil {
		return true
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	kind := fault.KindOf(err)
	return kind != fault.Unavailable && kind != fault.Internal && kind != fault.Timeout
}

// Node is graphread.Store.Node.
func (g *Graph) Node(ctx context.Context, workspace, id uuid.UUID) (graph.Node, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graph.Node, error) {
		return db.Node(ctx, workspace, id)
	})
}

// Edge is graphread.Store.Edge.
func (g *Graph) Edge(ctx context.Context, workspace, id uuid.UUID) (graph.Edge, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graph.Edge, error) {
		return db.Edge(ctx, workspace, id)
	})
}

// NodeAsOf is graphread.Store.NodeAsOf.
func (g *Graph) NodeAsOf(
	ctx context.Context, workspace, id uuid.UUID, m graphpast.Moment,
) (graphread.Past[graph.Node], error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graphread.Past[graph.Node], error) {
		return db.NodeAsOf(ctx, workspace, id, m)
	})
}

// EdgeAsOf is graphread.Store.EdgeAsOf.
func (g *Graph) EdgeAsOf(
	ctx context.Context, workspace, id uuid.UUID, m graphpast.Moment,
) (graphread.Past[graph.Edge], error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graphread.Past[graph.Edge], error) {
		return db.EdgeAsOf(ctx, workspace, id, m)
	})
}

// Nodes is graphread.Store.Nodes.
func (g *Graph) Nodes(
	ctx context.Context, workspace uuid.UUID, filter graphread.NodeFilter, page graphread.Page,
) (graphread.List[graph.Node], error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graphread.List[graph.Node], error) {
		return db.Nodes(ctx, workspace, filter, page)
	})
}

// Edges is graphread.Store.Edges.
func (g *Graph) Edges(
	ctx context.Context, workspace uuid.UUID, filter graphread.EdgeFilter, page graphread.Page,
) (graphread.List[graph.Edge], error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graphread.List[graph.Edge], error) {
		return db.Edges(ctx, workspace, filter, page)
	})
}

// Neighbors is graphread.Store.Neighbors.
func (g *Graph) Neighbors(
	ctx context.Context, workspace uuid.UUID, q graphread.NeighborQuery,
) (graphread.NeighborList, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graphread.NeighborList, error) {
		return db.Neighbors(ctx, workspace, q)
	})
}

// Paths is graphread.Store.Paths.
func (g *Graph) Paths(ctx context.Context, workspace uuid.UUID, q graphread.PathQuery) (graphread.PathList, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graphread.PathList, error) {
		return db.Paths(ctx, workspace, q)
	})
}

// Subgraph is graphread.Store.Subgraph.
func (g *Graph) Subgraph(
	ctx context.Context, workspace uuid.UUID, q graphread.SubgraphQuery,
) (graphread.Subgraph, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graphread.Subgraph, error) {
		return db.Subgraph(ctx, workspace, q)
	})
}

// Counts is graphread.Store.Counts.
func (g *Graph) Counts(ctx context.Context, workspace uuid.UUID, limit int) (graphread.Counts, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graphread.Counts, error) {
		return db.Counts(ctx, workspace, limit)
	})
}

// Match is graphread.Store.Match.
func (g *Graph) Match(
	ctx context.Context, workspace uuid.UUID, q graphread.PatternQuery,
) (graphread.PatternMatches, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (graphread.PatternMatches, error) {
		return db.Match(ctx, workspace, q)
	})
}

// InducedEdges is graphread.Store.InducedEdges.
func (g *Graph) InducedEdges(
	ctx context.Context, workspace uuid.UUID, nodes []uuid.UUID, relationTypes []string,
) ([]graph.Edge, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) ([]graph.Edge, error) {
		return db.InducedEdges(ctx, workspace, nodes, relationTypes)
	})
}

// GraphSequences is graphread.Store.GraphSequences on the primary.
func (g *Graph) GraphSequences(ctx context.Context, workspaces []uuid.UUID) (map[uuid.UUID]int64, error) {
	return g.primary.GraphSequences(ctx, workspaces)
}

// ChangesAfter is graphread.Store.ChangesAfter.
func (g *Graph) ChangesAfter(
	ctx context.Context, workspace uuid.UUID, after int64, limit int,
) ([]journal.ChangeSize, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) ([]journal.ChangeSize, error) {
		return db.ChangesAfter(ctx, workspace, after, limit)
	})
}

// counted is a page of a history with the total number of changes.
type counted struct {
	sizes []journal.ChangeSize
	total int64
}

// NodeHistory is graphread.Store.NodeHistory.
func (g *Graph) NodeHistory(
	ctx context.Context, workspace, node uuid.UUID, page journal.HistoryPage,
) ([]journal.ChangeSize, int64, error) {
	c, err := read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (c counted, err error) {
		c.sizes, c.total, err = db.NodeHistory(ctx, workspace, node, page)
		return c, err
	})
	return c.sizes, c.total, err
}

// History is graphread.Store.History.
func (g *Graph) History(
	ctx context.Context, workspace uuid.UUID, page journal.HistoryPage,
) ([]journal.ChangeSize, int64, error) {
	c, err := read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) (c counted, err error) {
		c.sizes, c.total, err = db.History(ctx, workspace, page)
		return c, err
	})
	return c.sizes, c.total, err
}

// Changes is graphread.Store.Changes.
func (g *Graph) Changes(
	ctx context.Context, workspace uuid.UUID, sizes []journal.ChangeSize,
) ([]*eventsv1.Change, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) ([]*eventsv1.Change, error) {
		return db.Changes(ctx, workspace, sizes)
	})
}

// CascadeEdges is graphread.Store.CascadeEdges.
func (g *Graph) CascadeEdges(
	ctx context.Context, workspace uuid.UUID, sequence int64, node uuid.UUID, from, to int64,
) ([]uuid.UUID, error) {
	return read(ctx, g, workspace, func(ctx context.Context, db *graphread.Store) ([]uuid.UUID, error) {
		return db.CascadeEdges(ctx, workspace, sequence, node, from, to)
	})
}
