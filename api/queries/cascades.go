package queries

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres/journal"
)

// maxPageEdges is the number of ids of a page; the last page of a node may have fewer. A
// change lists the same number of ids, so it contains the first page of each node.
const maxPageEdges = graph.MaxListed

// edgePagePosition is the position of a cursor in the pages of a change.
type edgePagePosition struct {
	Next int64 `json:"n"` // index of the next page in the change
}

// edgePage is a page of the edges that were deleted or restored with one node.
type edgePage struct {
	cascade *eventsv1.Cascade
	node    uuid.UUID
	first   int64 // index of its first edge among those of the node
}

// listCascadeEdges lists the edges that a change deleted or restored with nodes, in pages: the
// change itself contains only the first page of each node.
func (a *api) listCascadeEdges(w http.ResponseWriter, r *http.Request) error {
	workspace := request.PrincipalOf(r.Context()).Workspace
	p := request.Query(r)
	limit, offset, cursor := p.Paging()
	if err := p.Err(); err != nil {
		return err
	}
	sequence, err := strconv.ParseInt(chi.URLParam(r, "sequence"), 10, 64)
	if err != nil || sequence < 1 {
		return fault.New(fault.NotFound, "No such change")
	}
	scope := token.ScopeOf("cascades", workspace, sequence)
	from := int64(offset)
	if cursor != "" {
		var position edgePagePosition
		if err := a.sealer.ReadCursor(cursor, scope, &position); err != nil {
			return err
		}
		from = position.Next
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	change, release, err := a.change(ctx, workspace, sequence)
	if err != nil {
		return err
	}
	defer release()
	page, total := edgePages(change, from, int64(limit))
	meta := reply.Meta{Total: total, Limit: limit, Offset: offset, HasMore: from+int64(len(page)) < total}
	if meta.HasMore {
		next, err := a.sealer.Cursor(scope, edgePagePosition{Next: from + int64(len(page))})
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	items := make([]graphjson.CascadeEdges, len(page))
	for i, edges := range page {
		if items[i], err = a.cascadeEdges(ctx, workspace, sequence, edges); err != nil {
			return err
		}
	}
	reply.List(w, r, items, meta)
	return nil
}

// change reads one change. The caller must call the returned function, see readChanges.
func (a *api) change(ctx context.Context, workspace uuid.UUID, sequence int64) (*eventsv1.Change, func(), error) {
	sizes, err := a.Journal.ChangesAfter(ctx, workspace, sequence-1, 1)
	if err != nil {
		return nil, nil, err
	}
	if len(sizes) == 0 || sizes[0].Sequence != sequence {
		return nil, nil, fault.New(fault.NotFound, "No such change")
	}
	changes, release, err := a.readChanges(ctx, workspace, []journal.ChangeSize{sizes[0]})
	if err != nil {
		return nil, nil, err
	}
	return changes[0], release, nil
}

// edgePages returns at most limit pages of a change, beginning with index from, and the total
// number of its pages.
func edgePages(change *eventsv1.Change, from, limit int64) (page []edgePage, total int64) {
	for _, step := range change.GetSteps() {
		c := step.GetCascade()
		node, err := uuid.FromBytes(step.GetNode().GetId())
		if c == nil || err != nil {
			continue
		}
		count := (c.GetCount() + maxPageEdges - 1) / maxPageEdges
		for n := max(from-total, 0); n < count && int64(len(page)) < limit; n++ {
			page = append(page, edgePage{cascade: c, node: node, first: n * maxPageEdges})
		}
		total += count
	}
	return page, total
}

// cascadeEdges reads the edges of a page. Those of the first page are in the change.
func (a *api) cascadeEdges(
	ctx context.Context, workspace uuid.UUID, sequence int64, p edgePage,
) (graphjson.CascadeEdges, error) {
	result := graphjson.CascadeEdges{NodeID: p.node, Restored: p.cascade.GetRestored(), First: p.first}
	if p.first == 0 {
		result.Edges = graphjson.OfCascade(p.cascade).Edges
		return result, nil
	}
	ids, err := a.Journal.CascadeEdges(ctx, workspace, sequence, p.node, p.first, p.first+maxPageEdges)
	result.Edges = ids
	return result, err
}
