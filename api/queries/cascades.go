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
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// portionEdges is how many ids a portion has; the last of a node may have fewer. It is
// what a change lists, so the first portion of each node is there.
const portionEdges = graph.MaxListed

// portionPosition is where a list of portions goes on.
type portionPosition struct {
	Next int64 `json:"n"` // among the portions of the change
}

// portion is a part of the edges that went or came back with one node.
type portion struct {
	cascade *eventsv1.Cascade
	node    uuid.UUID
	first   int64 // its first edge among those of the node
}

// listCascadeEdges lists the edges that went with nodes in a change, or came back, in
// portions: a change itself names only the first.
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
	of := token.ScopeOf("cascades", workspace, sequence)
	from := int64(offset)
	if cursor != "" {
		var at portionPosition
		if err := a.sealer.ReadCursor(cursor, of, &at); err != nil {
			return err
		}
		from = at.Next
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	change, release, err := a.change(ctx, workspace, sequence)
	if err != nil {
		return err
	}
	defer release()
	page, total := portionsOf(change, from, int64(limit))
	meta := reply.Meta{Total: total, Limit: limit, Offset: offset, HasMore: from+int64(len(page)) < total}
	if meta.HasMore {
		next, err := a.sealer.Cursor(of, portionPosition{Next: from + int64(len(page))})
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	items := make([]graphjson.CascadeEdges, len(page))
	for i, portion := range page {
		if items[i], err = a.cascadeEdges(ctx, workspace, sequence, portion); err != nil {
			return err
		}
	}
	reply.List(w, r, items, meta)
	return nil
}

// change reads one change, as take does.
func (a *api) change(ctx context.Context, workspace uuid.UUID, sequence int64) (*eventsv1.Change, func(), error) {
	sizes, err := a.Journal.ChangesAfter(ctx, workspace, sequence-1, 1)
	if err != nil {
		return nil, nil, err
	}
	if len(sizes) == 0 || sizes[0].Sequence != sequence {
		return nil, nil, fault.New(fault.NotFound, "No such change")
	}
	changes, release, err := a.take(ctx, workspace, []graphread.ChangeSize{sizes[0]})
	if err != nil {
		return nil, nil, err
	}
	return changes[0], release, nil
}

// portionsOf returns at most limit portions of a change, from one on, and how many it
// has in all.
func portionsOf(change *eventsv1.Change, from, limit int64) (page []portion, total int64) {
	for _, step := range change.GetSteps() {
		c := step.GetCascade()
		node, err := uuid.FromBytes(step.GetNode().GetId())
		if c == nil || err != nil {
			continue
		}
		count := (c.GetCount() + portionEdges - 1) / portionEdges
		for n := max(from-total, 0); n < count && int64(len(page)) < limit; n++ {
			page = append(page, portion{cascade: c, node: node, first: n * portionEdges})
		}
		total += count
	}
	return page, total
}

// cascadeEdges reads the edges of a portion. The first are in the change.
func (a *api) cascadeEdges(
	ctx context.Context, workspace uuid.UUID, sequence int64, p portion,
) (graphjson.CascadeEdges, error) {
	shown := graphjson.CascadeEdges{NodeID: p.node, Restored: p.cascade.GetRestored(), First: p.first}
	if p.first == 0 {
		shown.Edges = graphjson.OfCascade(p.cascade).Edges
		return shown, nil
	}
	ids, err := a.Journal.CascadeEdges(ctx, workspace, sequence, p.node, p.first, p.first+portionEdges)
	shown.Edges = ids
	return shown, err
}
