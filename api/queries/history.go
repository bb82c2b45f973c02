package queries

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// journal is what was done to the graphs.
type journal interface {
	headStore
	ChangesAfter(ctx context.Context, workspace uuid.UUID, after int64, limit int) ([]graphread.ChangeSize, error)
	NodeHistory(
		ctx context.Context, workspace, node uuid.UUID, page graphread.HistoryPage,
	) ([]graphread.ChangeSize, int64, error)
	History(ctx context.Context, workspace uuid.UUID, page graphread.HistoryPage) ([]graphread.ChangeSize, int64, error)
	Changes(ctx context.Context, workspace uuid.UUID, sizes []graphread.ChangeSize) ([]*eventsv1.Change, error)
	CascadeEdges(
		ctx context.Context, workspace uuid.UUID, sequence int64, node uuid.UUID, from, to int64,
	) ([]uuid.UUID, error)
}

const (
	// pageBytes is how large the changes of a page are together at most, as stored;
	// one alone may be larger.
	pageBytes = 1 << 20
	// changeMemory bounds the memory of all large changes that are being shown, and
	// shownBytes is what a stored byte takes of it: read, decoded and as JSON. Small
	// ones, up to freeBytes, do not wait for each other: a slow reader of large ones
	// must not hold them up.
	changeMemory = 256 << 20
	shownBytes   = 4
	freeBytes    = 256 << 10
)

// historyPosition is where a history goes on.
type historyPosition struct {
	Before int64 `json:"b"`
}

func (a *api) listHistory(w http.ResponseWriter, r *http.Request) error {
	principal := request.PrincipalOf(r.Context())
	p := request.Query(r)
	var page graphread.HistoryPage
	var cursor string
	node := p.UUID("nodeId")
	page.Limit, page.Offset, cursor = p.Paging()
	if err := p.Err(); err != nil {
		return err
	}
	of := token.ScopeOf("history", principal.Workspace, node)
	if cursor != "" {
		var at historyPosition
		if err := a.sealer.ReadCursor(cursor, of, &at); err != nil {
			return err
		}
		page.Before = at.Before
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	meta := reply.Meta{Limit: page.Limit, Offset: page.Offset}
	page.Limit++ // one more says that more follow
	sizes, total, err := a.history(ctx, principal.Workspace, node, page)
	if err != nil {
		return err
	}
	fit := fitting(sizes[:min(len(sizes), meta.Limit)], pageBytes)
	changes, release, err := a.take(ctx, principal.Workspace, fit)
	if err != nil {
		return err
	}
	defer release()
	meta.Total, meta.HasMore = total, len(fit) < len(sizes)
	if meta.HasMore {
		next, err := a.sealer.Cursor(of, historyPosition{Before: fit[len(fit)-1].Sequence})
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	items := make([]graphjson.Change, len(changes))
	for i, change := range changes {
		items[i] = graphjson.OfChange(about(change, node))
	}
	reply.List(w, r, items, meta)
	return nil
}

func (a *api) history(
	ctx context.Context, workspace uuid.UUID, node *uuid.UUID, page graphread.HistoryPage,
) ([]graphread.ChangeSize, int64, error) {
	if node == nil {
		return a.Journal.History(ctx, workspace, page)
	}
	return a.Journal.NodeHistory(ctx, workspace, *node, page)
}

// fitting returns the first of the changes that are together at most so large, but one
// in any case.
func fitting(sizes []graphread.ChangeSize, most int64) []graphread.ChangeSize {
	total := int64(0)
	for i, s := range sizes {
		if total += s.Bytes; total > most && i > 0 {
			return sizes[:i]
		}
	}
	return sizes
}

// take reads changes once there is memory for them. The caller calls release when they
// are shown.
func (a *api) take(
	ctx context.Context, workspace uuid.UUID, sizes []graphread.ChangeSize,
) (changes []*eventsv1.Change, release func(), err error) {
	need := int64(0)
	for _, s := range sizes {
		need += s.Bytes
	}
	if need <= freeBytes {
		changes, err = a.Journal.Changes(ctx, workspace, sizes)
		return changes, func() {}, err
	}
	share, err := a.memory.Wait(ctx, need*shownBytes)
	if err != nil {
		return nil, nil, err
	}
	changes, err = a.Journal.Changes(ctx, workspace, sizes)
	if err != nil {
		share.Release()
		return nil, nil, err
	}
	return changes, share.Release, nil
}

// about leaves of a change of several steps those that touched the node or an edge of
// it: of a batch of a thousand commands the one that is asked for. All are left if
// none names the node: its edges went with another one.
func about(change *eventsv1.Change, node *uuid.UUID) *eventsv1.Change {
	if node == nil || len(change.GetSteps()) <= 1 {
		return change
	}
	id := string(node[:])
	var steps []*eventsv1.Step
	for _, step := range change.GetSteps() {
		n, e := step.GetNode(), step.GetEdge()
		isNode := n != nil && string(n.GetId()) == id
		if isNode || e != nil && (string(e.GetSourceId()) == id || string(e.GetTargetId()) == id) {
			steps = append(steps, step)
		}
	}
	if len(steps) > 0 {
		change.Steps = steps
	}
	return change
}
