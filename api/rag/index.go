package rag

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
)

// indexStore knows how far the index is, and is told to make it anew.
type indexStore interface {
	// IndexStatus tells of the index as far as the workspace is concerned.
	IndexStatus(ctx context.Context, workspace uuid.UUID) (IndexStatus, error)
	// Reindex has the workspace's nodes embedded anew. It is Conflict while that runs.
	Reindex(ctx context.Context, workspace uuid.UUID) (Reindex, error)
}

// What the index can be.
const (
	IndexReady    = "ready"    // it has all that is in the graph
	IndexIndexing = "indexing" // it is being brought up to date, or made anew
	IndexDegraded = "degraded" // it cannot be asked, or not be written
)

// IndexStatus is how a workspace's index is.
type IndexStatus struct {
	Status        string     `json:"status"`
	Model         IndexModel `json:"model"` // whose vectors are in the index that answers
	Nodes         IndexNodes `json:"nodes"`
	Lag           IndexLag   `json:"lag"`
	LastIndexedAt *time.Time `json:"lastIndexedAt"` // nil: nothing was yet
	Reindex       Reindex    `json:"reindex"`
}

// IndexModel is an embedding model.
type IndexModel struct {
	Name       string `json:"name"`
	Dimensions int    `json:"dimensions"`
}

// IndexNodes counts the workspace's nodes.
type IndexNodes struct {
	Total   int64 `json:"total"`
	Indexed int64 `json:"indexed"`
	Pending int64 `json:"pending"`
}

// IndexLag is what the index has not seen yet.
type IndexLag struct {
	Events  int64   `json:"events"`  // changes of the graph
	Seconds float64 `json:"seconds"` // since the oldest of them
}

// Reindex is how far a re-index is.
type Reindex struct {
	Running    bool     `json:"running"`
	Done       int64    `json:"done"`       // nodes
	Total      int64    `json:"total"`      // nodes
	ETASeconds *float64 `json:"etaSeconds"` // nil: not known, or nothing runs
}

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

// reindex takes no parameters; an empty object may stand for that.
func (a *api) reindex(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	if r.ContentLength != 0 {
		if err := request.JSON(r, &struct{}{}); err != nil {
			return err
		}
	}
	started, err := a.Index.Reindex(r.Context(), request.PrincipalOf(r.Context()).Workspace)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusAccepted, started)
	return nil
}
