package tail

import (
	"context"
	"slices"

	"github.com/livegraph/livegraph/storage/kafka"
)

// layout says how points are divided among the partitions of the topic.
type layout struct {
	kafka.TopicInfo
	// counts are how many partitions the topic has had, under any route, up to now. A
	// request that had chosen its partition when more were added, or a process that was
	// paused, sends by an earlier route when the later one is long in use (docs/adr/0049).
	counts []int32
}

// known reports whether no further count can turn up. Before the route of a topic's
// present count is recorded, another process, which sees fewer partitions, may record
// one of these; afterwards none is recorded.
func (l *layout) known() bool { return slices.Contains(l.counts, l.Partitions) }

// layoutOf asks how points are divided among the partitions of a topic.
func (h *Hub) layoutOf(ctx context.Context, topic kafka.TopicInfo) (layout, error) {
	counts, err := h.deps.Routes.PartitionCounts(ctx, kafka.TopicPoints, topic.ID)
	if err != nil {
		return layout{}, err
	}
	// More partitions than the broker says: the streams end when it says so, too.
	counts = slices.DeleteFunc(counts, func(count int32) bool { return count > topic.Partitions })
	return layout{TopicInfo: topic, counts: counts}, nil
}

// observe asks where the partitions of the topic end, and how points are divided among
// them.
func (h *Hub) observe(ctx context.Context) (kafka.TopicState, layout, error) {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	state, err := h.deps.Log.Observe(ctx)
	if err != nil {
		return kafka.TopicState{}, layout{}, err
	}
	of, err := h.layoutOf(ctx, state.TopicInfo)
	return state, of, err
}
