// Package rag serves the search API: search of nodes by text and vectors, hybrid
// search that also uses the graph, answers to questions, saved queries of these, and the status and the rebuild of the
// index. It parses requests, calls the engine of package internal/retrieval, and encodes
// responses. It does not rank.
package rag

import (
	"net/http"
	"time"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
)

// Deps are the dependencies of the routes.
type Deps struct {
	Engine engine
	Index  indexStore
	Edges  edgeStore
	Series seriesStore
	Points pointStore
	// Queries has the saved queries.
	Queries queryStore
	Keys    *idempotency.Manager
	// QueryTimeout is the time limit of a search. Beyond it, the response is 504.
	QueryTimeout time.Duration
	// WriteTimeout is the timeout of a write to the reader of a stream; zero: 10 s.
	WriteTimeout time.Duration
	Metrics      *Metrics
}

type api struct{ Deps }

const defaultWriteTimeout = 10 * time.Second

// Paths of the group.
const (
	searchPath  = "/api/rag/search"
	hybridPath  = "/api/rag/hybrid-search"
	answerPath  = "/api/rag/answer"
	queriesPath = "/api/rag/queries"
	queryPath   = queriesPath + "/{id}"
	runPath     = queryPath + "/run"
	statusPath  = "/api/rag/index/status"
	reindexPath = "/api/admin/reindex"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	if deps.WriteTimeout == 0 {
		deps.WriteTimeout = defaultWriteTimeout
	}
	a := &api{deps}
	read, readGraph := []request.Scope{request.ReadNodes}, []request.Scope{request.ReadNodes, request.ReadEdges}
	write := []request.Scope{request.WriteNodes}
	return []route.Route{
		{Method: http.MethodPost, Pattern: searchPath, Scopes: read, Handle: a.instrument(kindSearch, a.search)},
		// Edges affect the results, and the response contains paths.
		{
			Method: http.MethodPost, Pattern: hybridPath, Scopes: readGraph, RequireAllScopes: true,
			Handle: a.instrument(kindHybrid, a.hybrid),
		},
		{
			Method: http.MethodPost, Pattern: answerPath, Scopes: readGraph, RequireAllScopes: true,
			CanStream: true, Handle: a.instrument(kindAnswer, a.answer),
		},
		{Method: http.MethodGet, Pattern: queriesPath, Scopes: read, Handle: a.listQueries},
		{Method: http.MethodPost, Pattern: queriesPath, Scopes: write, Handle: a.createQuery},
		{Method: http.MethodGet, Pattern: queryPath, Scopes: read, Handle: a.getQuery},
		{Method: http.MethodPatch, Pattern: queryPath, Scopes: write, Handle: a.patchQuery},
		{Method: http.MethodDelete, Pattern: queryPath, Scopes: write, Handle: a.deleteQuery},
		// The other scopes that a query requires depend on what it is.
		{Method: http.MethodPost, Pattern: runPath, Scopes: read, CanStream: true, Handle: a.runQuery},
		{Method: http.MethodGet, Pattern: statusPath, Scopes: read, Handle: a.status},
		{Method: http.MethodPost, Pattern: reindexPath, Scopes: []request.Scope{request.Admin}, Handle: a.reindex},
	}
}
