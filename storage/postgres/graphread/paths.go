package graphread

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/paths"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres"
)

// PathQuery selects paths between two nodes.
type PathQuery struct {
	From, To      uuid.UUID
	MaxDepth      int      // maximum number of edges of a path
	Limit         int      // maximum number of paths
	Out, In       bool     // follow edges from source to target, from target to source
	RelationTypes []string // follow edges of one of these; empty: all
	EntityTypes   []string // lead through nodes of one of these; empty: all. The ends may have any type
	// Weight is the name of the property of edges that is their cost. Edges are not followed where it is
	// not a number or is negative. Empty: paths are sorted by length.
	Weight string
}

// Path is a path between two nodes. It has one edge fewer than nodes.
type Path struct {
	Nodes []graph.Node
	Edges []graph.Edge
	Cost  float64 // 0 without a weight
}

// PathList has the first paths of a query.
type PathList struct {
	Items     []Path
	Truncated bool // whether a limit of the search was reached, so that other paths may be better or missing
}

// Paths returns the first simple paths between two live nodes in the order of package paths. The
// error is NotFound for other nodes.
func (db *Store) Paths(ctx context.Context, workspace uuid.UUID, q PathQuery) (list PathList, err error) {
	err = db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		for _, end := range []uuid.UUID{q.From, q.To} {
			if err := requireNode(ctx, tx, workspace, end); err != nil {
				return err
			}
		}
		found, err := paths.Find(ctx, &pathReader{tx: tx, workspace: workspace, query: q}, paths.Query{
			From: q.From, To: q.To, MaxLength: q.MaxDepth, Limit: q.Limit, Out: q.Out, In: q.In, Weighted: q.Weight != "",
		}, paths.DefaultLimits())
		if err != nil {
			return err
		}
		list.Truncated = found.Truncated
		list.Items, err = fetchPaths(ctx, tx, workspace, found.Paths)
		return err
	})
	if err != nil {
		return PathList{}, postgres.Classify(fmt.Errorf("searching paths: %w", err))
	}
	return list, nil
}

// pathReader reads the edges that paths may follow.
type pathReader struct {
	tx        pgx.Tx
	workspace uuid.UUID
	query     PathQuery
}

// ReadEdges implements [paths.Reader] with one statement.
func (r *pathReader) ReadEdges(ctx context.Context, read paths.Read) (batch paths.Batch, err error) {
	walked := retrieval.Step{
		Frontier: read.Nodes, Direction: retrieval.Incoming, RelationTypes: r.query.RelationTypes,
		Filter: retrieval.Filter{EntityTypes: r.query.EntityTypes}, MaxPerNode: read.MaxPerNode, Limit: read.Limit,
	}
	switch {
	case read.Out && read.In:
		walked.Direction, walked.Limit = retrieval.AnyDirection, 2*read.Limit // of which each direction has half
	case read.Out:
		walked.Direction = retrieval.Outgoing
	}
	s := newWalkStatement(r.workspace, walked, r.query.Weight)
	rows, err := r.tx.Query(ctx, s.sql(), postgres.WithCustomPlan(s.args)...)
	if err != nil {
		return batch, err
	}
	err = eachStep(rows, s.limit, func(followed step, direction int, kept bool) {
		if !kept || batch.Examined == read.Limit {
			batch.Truncated = true
			return
		}
		batch.Examined++
		if e, ok := r.edge(&followed, direction); ok {
			batch.Edges = append(batch.Edges, e)
		}
	})
	return batch, err
}

// edge returns an edge that was read. ok is false if no path may follow it.
func (r *pathReader) edge(s *step, direction int) (e paths.Edge, ok bool) {
	if !s.passes && s.to != r.query.From && s.to != r.query.To {
		return e, false
	}
	e = paths.Edge{ID: s.edge, Source: s.from, Target: s.to}
	if direction == directionIn {
		e.Source, e.Target = e.Target, e.Source
	}
	if r.query.Weight == "" {
		return e, true
	}
	cost, err := strconv.ParseFloat(s.weight, 64)
	e.Cost = cost
	return e, err == nil && cost >= 0
}

// fetchPaths reads the nodes and edges of paths.
func fetchPaths(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, found []paths.Path) ([]Path, error) {
	var nodeIDs, edgeIDs []uuid.UUID
	for i := range found {
		nodeIDs, edgeIDs = append(nodeIDs, found[i].Nodes...), append(edgeIDs, found[i].Edges...)
	}
	nodesByID, err := fetchByID(ctx, tx, nodes, workspace, nodeIDs)
	if err != nil {
		return nil, err
	}
	edgesByID, err := fetchByID(ctx, tx, edges, workspace, edgeIDs)
	if err != nil {
		return nil, err
	}
	list := make([]Path, len(found))
	for i := range found {
		list[i] = Path{
			Nodes: lookUp(nodesByID, found[i].Nodes), Edges: lookUp(edgesByID, found[i].Edges), Cost: found[i].Cost,
		}
	}
	return list, nil
}

func fetchByID[T any](
	ctx context.Context, tx pgx.Tx, res resource[T], workspace uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]T, error) {
	list, err := fetch(ctx, tx, res, workspace, ids)
	return indexByID(res, list), err
}

func indexByID[T any](res resource[T], list []T) map[uuid.UUID]T {
	byID := make(map[uuid.UUID]T, len(list))
	for i := range list {
		byID[res.position(&list[i]).ID] = list[i]
	}
	return byID
}

func lookUp[T any](byID map[uuid.UUID]T, ids []uuid.UUID) []T {
	list := make([]T, len(ids))
	for i, id := range ids {
		list[i] = byID[id]
	}
	return list
}
