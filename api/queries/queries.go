// Package queries serves the routes that read the graph: nodes and edges, single or lists, the
// neighbors of a node, paths, subgraphs, the matches of patterns, counts, the history, and the stream of changes. It
// parses requests, reads from Postgres, and encodes responses with package api/graphjson. It does not write.
package queries

import (
	"net/http"
	"time"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/platform/budget"
)

// Deps are the dependencies of the routes.
type Deps struct {
	Graph   graphStore
	Journal journalStore
	Feed    *Feed
	// TokenKey signs cursors. All processes of an installation must use the same.
	TokenKey [32]byte
	// QueryTimeout is the maximum duration of a query; beyond, 504.
	QueryTimeout time.Duration
	// WriteTimeout is the timeout of a write to the reader of a stream; zero: 10 s.
	WriteTimeout time.Duration
}

const defaultWriteTimeout = 10 * time.Second

type api struct {
	Deps
	sealer token.Sealer
	memory *budget.Budget // for changes that are being sent
	pages  *budget.Budget // for pages of columns that are being sent
	past   *budget.Budget // for reads as of a moment
}

// Paths of the group.
const (
	nodesPath = "/api/queries/nodes"
	nodePath  = nodesPath + "/{id}"
	edgesPath = "/api/queries/edges"
	edgePath  = edgesPath + "/{id}"

	neighborsPath = nodePath + "/neighbors"
	pathsPath     = "/api/queries/paths"
	subgraphPath  = "/api/queries/subgraph"
	countsPath    = "/api/queries/counts"
	patternsPath  = "/api/queries/patterns"
	historyPath   = "/api/queries/history"
	cascadesPath  = historyPath + "/{sequence}/edges"
	eventsPath    = "/api/queries/events"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	if deps.WriteTimeout == 0 {
		deps.WriteTimeout = defaultWriteTimeout
	}
	a := &api{Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}, memory: budget.New(changeMemory),
		pages: budget.New(pageMemory), past: budget.New(pastMemory)}
	get := func(pattern string, handle route.Handler, scopes ...request.Scope) route.Route {
		return route.Route{Method: http.MethodGet, Pattern: pattern, Scopes: scopes, Handle: handle}
	}
	both := []request.Scope{request.ReadNodes, request.ReadEdges}
	return []route.Route{
		get(nodesPath, a.listNodes, request.ReadNodes),
		get(nodePath, a.getNode, request.ReadNodes),
		get(edgesPath, a.listEdges, request.ReadEdges),
		get(edgePath, a.getEdge, request.ReadEdges),
		// The response has the counts that the scopes permit.
		get(countsPath, a.getCounts, request.ReadNodes, request.ReadEdges),
		// These return both nodes and edges.
		{Method: http.MethodGet, Pattern: neighborsPath, Scopes: both, RequireAllScopes: true, Handle: a.listNeighbors},
		{Method: http.MethodGet, Pattern: pathsPath, Scopes: both, RequireAllScopes: true, Handle: a.listPaths},
		{Method: http.MethodGet, Pattern: subgraphPath, Scopes: both, RequireAllScopes: true, Handle: a.getSubgraph},
		{Method: http.MethodPost, Pattern: patternsPath, Scopes: both, RequireAllScopes: true, Handle: a.matchPattern},
		{Method: http.MethodGet, Pattern: historyPath, Scopes: both, RequireAllScopes: true, Handle: a.listHistory},
		{Method: http.MethodGet, Pattern: cascadesPath, Scopes: both, RequireAllScopes: true, Handle: a.listCascadeEdges},
		{
			Method: http.MethodGet, Pattern: eventsPath, Scopes: both, RequireAllScopes: true, Streaming: true,
			Handle: a.streamEvents,
		},
	}
}
