package queries

import (
	"context"
	"net/http"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// maxDepth is the maximum distance of neighbors.
const maxDepth = 3

// neighbor is a node in the neighborhood, with the edges by which it is reached.
type neighbor struct {
	Node  graphjson.Node   `json:"node"`
	Depth int              `json:"depth"`
	Edges []graphjson.Edge `json:"edges"`
}

func (a *api) listNeighbors(w http.ResponseWriter, r *http.Request) error {
	q, scope, err := a.neighborQuery(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	if q.AsOf.IsSet() {
		share, err := a.past.Acquire(ctx, pastNeighborMemory)
		if err != nil {
			return err
		}
		defer share.Release()
	}
	found, err := a.Graph.Neighbors(ctx, request.PrincipalOf(ctx).Workspace, q)
	if err != nil {
		return err
	}
	meta := reply.Meta{
		Total: found.Total, Limit: q.Limit, Offset: q.Offset, HasMore: found.Next != nil, Truncated: &found.Truncated,
		AsOfSequence: asOf(&found),
	}
	if found.Next != nil {
		next, err := a.sealer.Cursor(scope, found.Next)
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	items := make([]neighbor, len(found.Items))
	for i, n := range found.Items {
		items[i] = neighbor{Node: graphjson.OfNode(&n.Node), Depth: n.Depth, Edges: graphjson.OfEdges(n.Edges)}
	}
	reply.List(w, r, items, meta)
	return nil
}

// neighborQuery parses a request for neighbors, and returns the scope of its cursors.
func (a *api) neighborQuery(r *http.Request) (q graphread.NeighborQuery, scope token.Scope, err error) {
	p := request.Query(r)
	direction := p.OneOf("direction", "both", "out", "in", "both")
	q = graphread.NeighborQuery{
		Depth: p.Int("depth", 1, 1, maxDepth), Out: direction != "in", In: direction != "out",
		RelationTypes: p.Strings("relationType"), EntityTypes: entityTypes(p), AsOf: moment(p),
	}
	var cursor string
	q.Limit, q.Offset, cursor = p.Paging()
	if err := p.Err(); err != nil {
		return q, scope, err
	}
	if q.Node, err = request.PathID(r, "id", "node"); err != nil {
		return q, scope, err
	}
	parameters := []any{q.Node, direction, q.Depth, q.RelationTypes, q.EntityTypes}
	if q.AsOf.IsSet() {
		parameters = append(parameters, q.AsOf)
	}
	scope = token.ScopeOf("neighbors", request.PrincipalOf(r.Context()).Workspace, parameters)
	if cursor != "" {
		q.After = &graphread.NeighborPosition{}
		err = a.sealer.ReadCursor(cursor, scope, q.After)
	}
	return q, scope, err
}
