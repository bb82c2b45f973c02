package admin

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// deletionAnswer is the progress of a workspace's deletion.
type deletionAnswer struct {
	ID          uuid.UUID            `json:"id"`
	RequestedAt time.Time            `json:"requestedAt"`
	Stores      []jobs.StoreProgress `json:"stores"`     // in the order in which they are emptied
	Problem     *string              `json:"problem"`    // why it makes no progress at the moment
	RemovedAt   *time.Time           `json:"removedAt"`  // when all data was removed
	FinishedAt  *time.Time           `json:"finishedAt"` // when a second pass had finished
	Deleted     bool                 `json:"deleted"`    // all data was removed
}

// deleteWorkspace permanently revokes the access of all keys to a workspace. Its data is
// removed from all stores in the background.
func (a *Admin) deleteWorkspace(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "workspace")
	if err != nil {
		return err
	}
	if err := a.deps.Workspaces.DeleteWorkspace(r.Context(), id, reply.RequestID(r.Context())); err != nil {
		return err
	}
	return a.answerDeletion(w, r, id, http.StatusAccepted)
}

// workspaceDeletion returns the progress of a workspace's deletion.
func (a *Admin) workspaceDeletion(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "workspace")
	if err != nil {
		return err
	}
	return a.answerDeletion(w, r, id, http.StatusOK)
}

func (a *Admin) answerDeletion(w http.ResponseWriter, r *http.Request, id uuid.UUID, status int) error {
	d, err := a.deps.Workspaces.WorkspaceDeletion(r.Context(), id)
	if err != nil {
		return err
	}
	answer := deletionAnswer{
		ID: d.Workspace, RequestedAt: d.RequestedAt, Stores: d.Progress, Problem: d.Problem,
		RemovedAt: utc(d.RemovedAt), FinishedAt: utc(d.FinishedAt), Deleted: d.RemovedAt != nil,
	}
	if answer.Stores == nil {
		answer.Stores = []jobs.StoreProgress{}
	}
	reply.Data(w, r, status, answer)
	return nil
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}
