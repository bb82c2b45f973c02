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

// indexStore knows how far the index is, and takes wishes for a new one.
type indexStore interface {
	IndexStatus(ctx context.Context, workspace uuid.UUID) (textindex.IndexStatus, error)
	RequestWorkspaceReindex(ctx context.Context, workspace uuid.UUID, by string) (textindex.WorkspaceReindex, error)
}

// startedReindex is what was started: there is one index of all workspaces, and what is
// the caller's in it is written again.
type startedReindex struct {
	ID          uuid.UUID `json:"id"`
	RequestedAt time.Time `json:"requestedAt"`
	Running     bool      `json:"running"`
	Done        int64     `json:"done"` // nodes of the workspace
	Total       int64     `json:"total"`
	ETASeconds  *float64  `json:"etaSeconds"`
}

// reindexAgain is when it makes sense to ask again for what runs.
const reindexAgain = 10 * time.Second

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

// reindex has the caller's workspace indexed again, and no other: a new index of all of
// them is the operator's to ask for. It takes no parameters; an empty object may stand for
// that.
func (a *api) reindex(w http.ResponseWriter, r *http.Request) error {
	if err := request.Nothing(r); err != nil {
		return err
	}
	principal := request.PrincipalOf(r.Context())
	status, err := a.Index.IndexStatus(r.Context(), principal.Workspace)
	if err != nil {
		return err
	}
	running := func() error {
		return fault.New(
			fault.Conflict, "The index is being made anew already",
		).With("reason", "reindex_running").After(reindexAgain)
	}
	if status.Reindex.Running {
		return running()
	}
	started, err := a.Index.RequestWorkspaceReindex(r.Context(), principal.Workspace, request.AskerOf(r.Context()))
	if fault.Is(err, fault.Conflict) { // another request came first
		return running()
	}
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusAccepted, startedReindex{
		ID: started.ID, RequestedAt: started.RequestedAt, Running: true, Total: status.Nodes.Total,
	})
	return nil
}
