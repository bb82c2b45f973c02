package rag

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// indexStore reads the status of the index and accepts requests to rebuild it.
type indexStore interface {
	IndexStatus(ctx context.Context, workspace uuid.UUID) (textindex.IndexStatus, error)
	RequestWorkspaceReindex(ctx context.Context, workspace uuid.UUID, by string) (textindex.WorkspaceReindex, error)
}

// startedReindex is a started rebuild. All workspaces share one index; the rebuild writes the
// caller's part of it again.
type startedReindex struct {
	ID          uuid.UUID `json:"id"`
	RequestedAt time.Time `json:"requestedAt"`
	Running     bool      `json:"running"`
	Done        int64     `json:"done"` // nodes of the workspace
	Total       int64     `json:"total"`
	ETASeconds  *float64  `json:"etaSeconds"`
}

// reindexRetryAfter is the Retry-After of a conflict with a running rebuild.
const reindexRetryAfter = 10 * time.Second

func (a *api) status(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	status, err := a.Index.IndexStatus(r.Context(), request.PrincipalOf(r.Context()).Workspace)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, status)
	return nil
}

// reindex starts a rebuild of the index of the caller's workspace only. Operators can rebuild
// the whole index. The request has no parameters, and no body or an empty object.
func (a *api) reindex(w http.ResponseWriter, r *http.Request) error {
	if err := request.NoInput(r); err != nil {
		return err
	}
	principal := request.PrincipalOf(r.Context())
	status, err := a.Index.IndexStatus(r.Context(), principal.Workspace)
	if err != nil {
		return err
	}
	alreadyRunning := func() error {
		return fault.New(
			fault.Conflict, "The index is already being rebuilt",
		).With("reason", "reindex_running").After(reindexRetryAfter)
	}
	if status.Reindex.Running {
		return alreadyRunning()
	}
	started, err := a.Index.RequestWorkspaceReindex(r.Context(), principal.Workspace, request.RequesterOf(r.Context()))
	if fault.Is(err, fault.Conflict) { // another request came first
		return alreadyRunning()
	}
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusAccepted, startedReindex{
		ID: started.ID, RequestedAt: started.RequestedAt, Running: true, Total: status.Nodes.Total,
	})
	return nil
}
