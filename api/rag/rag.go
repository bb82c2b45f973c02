// Package rag serves search: of nodes by words and meaning, by words, meaning and
// the graph together, and what there is to know and to do about the index behind
// it. It reads requests, asks the engine of package internal/retrieval, and shapes
// answers. It ranks nothing.
package rag

import (
	"net/http"
	"time"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
)

// Deps is what the routes are made of.
type Deps struct {
	Engine engine
	Index  indexStore
	Edges  edgeStore
	Series seriesStore
	Points pointStore
	// QueryTimeout is the longest time of a search; beyond, 504.
	QueryTimeout time.Duration
	Metrics      *Metrics
}

type api struct{ Deps }

// Paths of the group.
const (
	searchPath  = "/api/rag/search"
	hybridPath  = "/api/rag/hybrid-search"
	statusPath  = "/api/rag/index/status"
	reindexPath = "/api/admin/reindex"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	a := &api{deps}
	read := []request.Scope{request.ReadNodes}
	return []route.Route{
		{Method: http.MethodPost, Pattern: searchPath, Scopes: read, Handle: a.measured(kindSearch, a.search)},
		// What is found is found by edges too, and the path to it is shown.
		{
			Method: http.MethodPost, Pattern: hybridPath, Scopes: []request.Scope{request.ReadNodes, request.ReadEdges},
			All: true, Handle: a.measured(kindHybrid, a.hybrid),
		},
		{Method: http.MethodGet, Pattern: statusPath, Scopes: read, Handle: a.status},
		{Method: http.MethodPost, Pattern: reindexPath, Scopes: []request.Scope{request.Admin}, Handle: a.reindex},
	}
}
