package tail

import (
	"context"
	"slices"

	"github.com/livegraph/livegraph/storage/kafka"
)

// layout describes how points are assigned to the partitions of the topic.
type layout struct {
	kafka.TopicInfo
	// counts are the numbers of partitions that the topic has had under all routes so far. A
	// request that had chosen its partition before partitions were added, or a process that
	// was paused, may send by an earlier route long after a later one is in use
	// (docs/adr/0049).
	counts []int32
}

// complete reports whether counts is final. Until the route for the current number of
// partitions is recorded, another process that sees fewer partitions may record a route
// for its number. After that, no route with fewer partitions is recorded.
func (l *layout) complete() bool { return slices.Contains(l.counts, l.Partitions) }

// layoutOf reads the layout of a topic.
func (h *Hub) layoutOf(ctx context.Context, topic kafka.TopicInfo) (layout, error) {
	counts, err := h.deps.Routes.PartitionCounts(ctx, kafka.TopicPoints, topic.ID)
	if err != nil {
		return layout{}, err
	}
	// Ignore counts above the broker's. The streams end when the broker reports more partitions.
	counts = slices.DeleteFunc(counts, func(count int32) bool { return count > topic.Partitions })
	return layout{TopicInfo: topic, counts: counts}, nil
}

// observe reads the ends of the topic's partitions, and its layout.
func (h *Hub) observe(ctx context.Context) (kafka.TopicState, layout, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	state, err := h.deps.Log.Observe(ctx)
	if err != nil {
		return kafka.TopicState{}, layout{}, err
	}
	current, err := h.layoutOf(ctx, state.TopicInfo)
	return state, current, err
}
