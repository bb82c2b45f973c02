// Package queries serves the reads of the graph: nodes and edges, one or many, what
// is around a node, what happened to it, and the stream of changes. It reads
// requests, asks Postgres, and shapes answers by package api/graphjson. It changes
// nothing.
package queries

import (
	"net/http"
	"time"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/token"
)

// Deps is what the routes are made of.
type Deps struct {
	Graph graphStore
	// TokenKey signs cursors: the installation's, the same in every process.
	TokenKey [32]byte
	// QueryTimeout is the longest time of a query; beyond, 504.
	QueryTimeout time.Duration
}

type api struct {
	Deps
	sealer token.Sealer
}

// Paths of the group.
const (
	nodesPath = "/api/queries/nodes"
	nodePath  = nodesPath + "/{id}"
	edgesPath = "/api/queries/edges"
	edgePath  = edgesPath + "/{id}"
)

// Routes gives the group's routes.
func Routes(deps Deps) []route.Route {
	a := &api{Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}}
	get := func(pattern string, handle route.Handler, scopes ...request.Scope) route.Route {
		return route.Route{Method: http.MethodGet, Pattern: pattern, Scopes: scopes, Handle: handle}
	}
	return []route.Route{
		get(nodesPath, a.listNodes, request.ReadNodes),
		get(nodePath, a.getNode, request.ReadNodes),
		get(edgesPath, a.listEdges, request.ReadEdges),
		get(edgePath, a.getEdge, request.ReadEdges),
	}
}
