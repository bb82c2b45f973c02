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

// workspaceIndex is how far the index is with a workspace.
type workspaceIndex struct {
	Workspace workspaceName `json:"workspace"`
	textindex.IndexStatus
}

type workspaceName struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// indexes lists the workspaces with how far the index is with each.
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
	from := min(offset, len(all))
	page := all[from:min(from+limit, len(all))]
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

// installed are the indexes of the installation, and what was asked for last.
type installed struct {
	Indexes []searchIndex      `json:"indexes"` // the live one, and the one that is being built
	Last    *textindex.Reindex `json:"last"`    // null: nobody asked, of late
}

type searchIndex struct {
	ID         uuid.UUID            `json:"id"`
	State      textindex.IndexState `json:"state"`
	Cause      string               `json:"cause"`
	Model      embed.Model          `json:"model"`
	CreatedAt  time.Time            `json:"createdAt"`
	SwitchedAt *time.Time           `json:"switchedAt"` // null: it is being built
	Done       int64                `json:"done"`       // nodes of all workspaces
	Total      int64                `json:"total"`
	ETASeconds *float64             `json:"etaSeconds"`
}

func (a *api) reindexing(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	open, err := a.Index.OpenIndexes(r.Context())
	if err != nil {
		return err
	}
	answer := installed{Indexes: make([]searchIndex, len(open))}
	for i, x := range open {
		how, err := a.Index.BuildProgress(r.Context(), x.ID)
		if err != nil {
			return err
		}
		shown := searchIndex{
			ID: x.ID, State: x.State, Cause: x.Cause, Model: x.Model, CreatedAt: x.CreatedAt.UTC(), Done: how.Done,
			Total: how.Total,
		}
		if x.SwitchedAt != nil {
			shown.SwitchedAt = new(x.SwitchedAt.UTC())
		}
		if x.State == textindex.IndexBuilding {
			shown.ETASeconds = how.ETASeconds
		}
		answer.Indexes[i] = shown
	}
	if answer.Last, err = a.Index.LastReindex(r.Context()); err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, answer)
	return nil
}

// reindex asks for a new index; while one is asked for or being built it joins that one.
// It takes no parameters; an empty object may stand for that.
func (a *api) reindex(w http.ResponseWriter, r *http.Request) error {
	if err := request.Nothing(r); err != nil {
		return err
	}
	started, err := a.Index.RequestReindex(r.Context(), request.AskerOf(r.Context()))
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusAccepted, started)
	return nil
}
