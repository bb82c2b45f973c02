// Package documents serves the routes of documents. It extracts and splits the text of a document,
// compares it with what the graph has, and submits the difference as commands on the graph.
//
// It keeps no state and writes to no store: the graph is the only place where documents are. A
// request is answered when its commands are decided. The ids of all nodes follow from the workspace,
// the external id and the version that is replaced, so a request that is repeated, concurrently or
// after a crash, meets itself: its commands conflict, and the comparison is done again.
package documents

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/extract"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// graphStore reads documents.
type graphStore interface {
	Node(ctx context.Context, workspace, id uuid.UUID) (graph.Node, error)
	DocumentNodes(ctx context.Context, workspace uuid.UUID, externalIDs []string) ([]graph.Node, error)
	PassageNodes(
		ctx context.Context, workspace, document uuid.UUID, externalID string, limit int,
	) ([]graph.Node, error)
	Documents(
		ctx context.Context, workspace uuid.UUID, list graphread.DocumentList,
	) ([]graph.Node, int64, error)
	UsedNodeIDs(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]struct{}, error)
}

// submitter submits commands on the graph.
type submitter interface {
	CheckCapacity() error
	Submit(ctx context.Context, batches [][]graph.Action, waitTimeout time.Duration) ([]commands.Decided, error)
	NewID(workspace uuid.UUID) uuid.UUID
	Attempts(ctx context.Context, claim *idempotency.Claim) *commands.Attempts
}

// fileReader reads the text of files.
type fileReader interface {
	Read(ctx context.Context, mediaType string, data []byte) (extract.Text, error)
}

// Deps are the dependencies of the routes.
type Deps struct {
	Graph    graphStore
	Commands submitter
	// Keys stores the idempotency keys of deletions.
	Keys *idempotency.Manager
	// Files reads the files of documents.
	Files fileReader
	// Bodies bounds the total bytes of the bodies of concurrent requests.
	Bodies *request.Budget
	// QueryTimeout is the time limit of reads, and of reading the files of a request.
	QueryTimeout time.Duration
}

type api struct {
	Deps
	// splitting has an element for each request whose texts are extracted: it uses one core, and
	// several times the memory of the text.
	splitting chan struct{}
}

const (
	listPath     = "/api/documents"
	documentPath = "/api/documents/{id}"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	a := &api{Deps: deps, splitting: make(chan struct{}, runtime.GOMAXPROCS(0))}
	read, write := []request.Scope{request.ReadNodes}, []request.Scope{request.WriteNodes, request.WriteEdges}
	return []route.Route{
		{
			Method: http.MethodPost, Pattern: listPath, Scopes: write, RequireAllScopes: true, Handle: a.put,
			Work: route.ChangesGraph, CheckCapacity: a.checkCapacity,
		},
		{Method: http.MethodGet, Pattern: listPath, Scopes: read, Handle: a.list},
		{Method: http.MethodGet, Pattern: documentPath, Scopes: read, Handle: a.get},
		{
			Method: http.MethodDelete, Pattern: documentPath, Scopes: write, RequireAllScopes: true, Handle: a.delete,
			Work: route.ChangesGraph, CheckCapacity: a.checkCapacity,
		},
	}
}

func (a *api) checkCapacity() error {
	if err := a.Bodies.CheckCapacity(); err != nil {
		return err
	}
	return a.Commands.CheckCapacity()
}

// withSlot runs work when fewer requests are splitting than there are cores.
func (a *api) withSlot(ctx context.Context, work func() error) error {
	select {
	case a.splitting <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-a.splitting }()
	return work()
}

func errNotFound() error { return fault.New(fault.NotFound, "No such document") }
