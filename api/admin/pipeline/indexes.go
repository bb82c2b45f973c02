package pipeline

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// workspaceIndex is the status of the search index of a workspace.
type workspaceIndex struct {
	Workspace workspaceName `json:"workspace"`
	textindex.IndexStatus
}

type workspaceName struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// indexes lists the workspaces with the status of their search index.
func (a *api) indexes(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	limit, offset := p.Page()
	if err := p.Err(); err != nil {
		return err
	}
	all, err := a.Index.Workspaces(r.Context())
	if err != nil {
		return err
	}
	page := reply.PageOf(all, limit, offset)
	ids := make([]uuid.UUID, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	statuses, err := a.Index.IndexStatuses(r.Context(), ids)
	if err != nil {
		return err
	}
	list := make([]workspaceIndex, len(page))
	for i := range page {
		list[i] = workspaceIndex{Workspace: workspaceName{ID: page[i].ID, Name: page[i].Name}, IndexStatus: statuses[i]}
	}
	reply.List(w, r, list, reply.PageMeta(int64(len(all)), limit, offset, len(page)))
	return nil
}

// indexesAnswer contains the indexes of the installation and the last requested re-index.
type indexesAnswer struct {
	Indexes []searchIndex      `json:"indexes"` // the live one and the one that is being built
	Last    *textindex.Reindex `json:"last"`    // null: none was requested recently
}

type searchIndex struct {
	ID         uuid.UUID            `json:"id"`
	State      textindex.IndexState `json:"state"`
	Cause      string               `json:"cause"`
	Model      embed.Model          `json:"model"`
	CreatedAt  time.Time            `json:"createdAt"`
	SwitchedAt *time.Time           `json:"switchedAt"` // null: not switched to yet
	Done       int64                `json:"done"`       // nodes of all workspaces
	Total      int64                `json:"total"`
	ETASeconds *float64             `json:"etaSeconds"`
}

func (a *api) reindexing(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	indexes, err := a.Index.OpenIndexes(r.Context())
	if err != nil {
		return err
	}
	answer := indexesAnswer{Indexes: make([]searchIndex, len(indexes))}
	for i, x := range indexes {
		progress, err := a.Index.BuildProgress(r.Context(), x.ID)
		if err != nil {
			return err
		}
		shown := searchIndex{
			ID: x.ID, State: x.State, Cause: x.Cause, Model: x.Model, CreatedAt: x.CreatedAt.UTC(), Done: progress.Done,
			Total: progress.Total,
		}
		if x.SwitchedAt != nil {
			shown.SwitchedAt = new(x.SwitchedAt.UTC())
		}
		if x.State == textindex.IndexBuilding {
			shown.ETASeconds = progress.ETASeconds
		}
		answer.Indexes[i] = shown
	}
	if answer.Last, err = a.Index.LastReindex(r.Context()); err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, answer)
	return nil
}

// reindex requests a new index. If one is already requested or being built, it returns that
// one. There are no parameters; the body may be empty or an empty object.
func (a *api) reindex(w http.ResponseWriter, r *http.Request) error {
	if err := request.NoInput(r); err != nil {
		return err
	}
	started, err := a.Index.RequestReindex(r.Context(), request.RequesterOf(r.Context()))
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusAccepted, started)
	return nil
}
