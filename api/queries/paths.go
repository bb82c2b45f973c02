package queries

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// Limits of a request for paths.
const (
	defaultPathDepth = 6
	maxPathDepth     = 10
	maxPaths         = 20
)

// path is a path between two nodes. Nodes and edges are in the order of the path.
type path struct {
	Nodes  []graphjson.Node `json:"nodes"`
	Edges  []graphjson.Edge `json:"edges"`
	Length int              `json:"length"`        // number of edges
	Cost   *float64         `json:"cost,omitzero"` // only with a weight
}

func (a *api) listPaths(w http.ResponseWriter, r *http.Request) error {
	q, err := pathQuery(request.Query(r))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	found, err := a.Graph.Paths(ctx, request.PrincipalOf(r.Context()).Workspace, q)
	if err != nil {
		return err
	}
	items := make([]path, len(found.Items))
	for i := range found.Items {
		p := &found.Items[i]
		items[i] = path{Nodes: graphjson.OfNodes(p.Nodes), Edges: graphjson.OfEdges(p.Edges), Length: len(p.Edges)}
		if q.Weight != "" {
			items[i].Cost = &p.Cost
		}
	}
	reply.List(w, r, items, reply.Meta{Total: int64(len(items)), Limit: q.Limit, Truncated: &found.Truncated})
	return nil
}

// pathQuery parses the parameters of a request for paths.
func pathQuery(p *request.Params) (graphread.PathQuery, error) {
	from, to := requiredID(p, "from"), requiredID(p, "to")
	direction := p.OneOf("direction", "both", "out", "in", "both")
	q := graphread.PathQuery{
		From: from, To: to, MaxDepth: p.Int("maxDepth", defaultPathDepth, 1, maxPathDepth),
		Limit: p.Int("limit", 1, 1, maxPaths), Out: direction != "in", In: direction != "out",
		RelationTypes: p.Strings("relationType"), EntityTypes: entityTypes(p),
	}
	weight, given := p.String("weight")
	if q.Weight = weight; given && weight == "" {
		p.Fail("weight", "must not be empty")
	}
	return q, p.Err()
}

func requiredID(p *request.Params, name string) uuid.UUID {
	id := p.UUID(name)
	if id == nil {
		p.Fail(name, "is required")
		return uuid.Nil
	}
	return *id
}
