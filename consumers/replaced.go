package consumers

import (
	"context"
	"maps"
	"sync"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Replaced tracks partitions whose records were replaced, each from an offset on, until that is
// recorded in Postgres. The zero value is ready to use. It is safe for concurrent use.
type Replaced struct {
	mu   sync.Mutex
	from map[int32]int64
}

// Add adds a partition. It ignores an offset below 0.
func (r *Replaced) Add(partition int32, from int64) {
	if from < 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from == nil {
		r.from = map[int32]int64{}
	}
	r.from[partition] = from
}

// Offsets returns a copy of the offsets by partition.
func (r *Replaced) Offsets() map[int32]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.from)
}

// Remove removes the offsets that Known returned, but none that were added or changed since.
func (r *Replaced) Remove(known map[int32]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.from, func(p int32, from int64) bool {
		at, ok := known[p]
		return ok && at == from
	})
}

// LogObserver observes a topic, for the comparison with the offsets that Postgres has recorded.
type LogObserver struct {
	Log      *kafka.Client
	Topic    string           // without the prefix
	Replaced map[int32]int64  // as returned by Replaced.Offsets; nil: none
	Seen     kafka.TopicState // the state observed last
}

// Observe returns the state of the topic, which a single broker may have reported.
func (o *LogObserver) Observe(ctx context.Context) (postgres.LogState, error) {
	state, err := o.read(ctx, o.Log.ObserveTopic)
	state.Confirm = func(ctx context.Context) (postgres.LogState, error) { return o.read(ctx, o.Log.ConfirmTopic) }
	return state, err
}

func (o *LogObserver) read(
	ctx context.Context, observe func(context.Context, string) (kafka.TopicState, error),
) (postgres.LogState, error) {
	seen, err := observe(ctx, o.Topic)
	if err != nil {
		return postgres.LogState{}, err
	}
	o.Seen = seen
	state := postgres.LogState{TopicID: seen.ID, Partitions: make([]postgres.LogPartition, len(seen.State))}
	for p, s := range seen.State {
		state.Partitions[p] = postgres.LogPartition{Start: s.Start, End: s.End, ReplacedFrom: -1}
		if from, ok := o.Replaced[int32(p)]; ok {
			state.Partitions[p].ReplacedFrom = from
		}
	}
	return state, nil
}
