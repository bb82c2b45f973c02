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
	"github.com/livegraph/livegraph/storage/postgres/journal"
)

// journalStore reads the changes of the graphs.
type journalStore interface {
	headStore
	ChangesAfter(ctx context.Context, workspace uuid.UUID, after int64, limit int) ([]journal.ChangeSize, error)
	NodeHistory(
		ctx context.Context, workspace, node uuid.UUID, page journal.HistoryPage,
	) ([]journal.ChangeSize, int64, error)
	History(ctx context.Context, workspace uuid.UUID, page journal.HistoryPage) ([]journal.ChangeSize, int64, error)
	Changes(ctx context.Context, workspace uuid.UUID, sizes []journal.ChangeSize) ([]*eventsv1.Change, error)
	CascadeEdges(
		ctx context.Context, workspace uuid.UUID, sequence int64, node uuid.UUID, from, to int64,
	) ([]uuid.UUID, error)
}

const (
	// pageBytes is the maximum total size of the changes of a page, as stored. A page with a
	// single change may be larger.
	pageBytes = 1 << 20
	// changeMemory bounds the memory of all large changes that are being sent, and
	// memoryFactor is the memory for a stored byte: encoded, decoded and as JSON. Changes
	// of up to smallChangeBytes are not counted, so that slow readers of large ones do not
	// delay them.
	changeMemory     = 256 << 20
	memoryFactor     = 4
	smallChangeBytes = 256 << 10
)

// historyPosition is the position of a cursor in a history.
type historyPosition struct {
	Before int64 `json:"b"`
}

func (a *api) listHistory(w http.ResponseWriter, r *http.Request) error {
	principal := request.PrincipalOf(r.Context())
	p := request.Query(r)
	var page journal.HistoryPage
	var cursor string
	node := p.UUID("nodeId")
	page.Limit, page.Offset, cursor = p.Paging()
	if err := p.Err(); err != nil {
		return err
	}
	scope := token.ScopeOf("history", principal.Workspace, node)
	if cursor != "" {
		var position historyPosition
		if err := a.sealer.ReadCursor(cursor, scope, &position); err != nil {
			return err
		}
		page.Before = position.Before
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	meta := reply.Meta{Limit: page.Limit, Offset: page.Offset}
	page.Limit++ // one more shows whether there is a next page
	sizes, total, err := a.history(ctx, principal.Workspace, node, page)
	if err != nil {
		return err
	}
	fit := limitBytes(sizes[:min(len(sizes), meta.Limit)], pageBytes)
	changes, release, err := a.readChanges(ctx, principal.Workspace, fit)
	if err != nil {
		return err
	}
	defer release()
	meta.Total, meta.HasMore = total, len(fit) < len(sizes)
	if meta.HasMore {
		next, err := a.sealer.Cursor(scope, historyPosition{Before: fit[len(fit)-1].Sequence})
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	items := make([]graphjson.Change, len(changes))
	for i, change := range changes {
		items[i] = graphjson.OfChange(filterSteps(change, node))
	}
	reply.List(w, r, items, meta)
	return nil
}

func (a *api) history(
	ctx context.Context, workspace uuid.UUID, node *uuid.UUID, page journal.HistoryPage,
) ([]journal.ChangeSize, int64, error) {
	if node == nil {
		return a.Journal.History(ctx, workspace, page)
	}
	return a.Journal.NodeHistory(ctx, workspace, *node, page)
}

// limitBytes returns the longest prefix of sizes whose total is at most maxBytes, but at least
// one change.
func limitBytes(sizes []journal.ChangeSize, maxBytes int64) []journal.ChangeSize {
	total := int64(0)
	for i, s := range sizes {
		if total += s.Bytes; total > maxBytes && i > 0 {
			return sizes[:i]
		}
	}
	return sizes
}

// readChanges waits for memory and reads changes. The caller must call release after they are
// sent.
func (a *api) readChanges(
	ctx context.Context, workspace uuid.UUID, sizes []journal.ChangeSize,
) (changes []*eventsv1.Change, release func(), err error) {
	need := int64(0)
	for _, s := range sizes {
		need += s.Bytes
	}
	if need <= smallChangeBytes {
		changes, err = a.Journal.Changes(ctx, workspace, sizes)
		return changes, func() {}, err
	}
	share, err := a.memory.Acquire(ctx, need*memoryFactor)
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

// filterSteps removes from a change with several steps those that did not touch the node or
// one of its edges, such as the other commands of a large batch. If no step touched them, it
// keeps all steps: the edges of the node were deleted or restored with another node.
func filterSteps(change *eventsv1.Change, node *uuid.UUID) *eventsv1.Change {
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
