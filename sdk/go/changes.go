package livegraph

import (
	"context"
	"iter"
	"strconv"
)

// Changes are the changes of the graph.
type Changes struct{ t *transport }

// List returns a page of the changes of a node and its edges, or of the whole graph if the id is "", newest first.
func (c *Changes) List(ctx context.Context, nodeID string, paging Paging) (*Page[Change], error) {
	return fetchPage[Change](ctx, c.t, listHistory.withQuery(paging.values(textQuery("nodeId", nodeID))))
}

// All iterates over all changes of a node and its edges, or of the whole graph if the id is "", newest first.
func (c *Changes) All(ctx context.Context, nodeID string) iter.Seq2[Change, error] {
	return pages[Change](ctx, c.t, listHistory.withQuery(textQuery("nodeId", nodeID)))
}

// AllEdges iterates over the edges that a change deleted or restored with a node, in chunks of 1,000 ids.
func (c *Changes) AllEdges(ctx context.Context, sequence int64) iter.Seq2[CascadeEdges, error] {
	return pages[CascadeEdges](ctx, c.t, listCascadeEdges.request(strconv.FormatInt(sequence, 10)))
}

// Stream returns a stream of the changes from now on.
//
// The type of an event is change, and its method Change returns the content; or reset: the graph is another one, for
// example because it was restored from a backup, and must be read again.
func (c *Changes) Stream() *EventStream { return newEventStream(c.t, streamEvents.request(), "") }

// StreamAfter is [Changes.Stream] for the changes after the one with this sequence number, 0: all changes.
func (c *Changes) StreamAfter(sequence int64) *EventStream {
	return newEventStream(c.t, streamEvents.request(), strconv.FormatInt(sequence, 10))
}
