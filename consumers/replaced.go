package consumers

import (
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

// LogState converts the state of a topic to the type of package postgres. replaced contains the
// partitions whose records were replaced, as returned by Replaced.Known; nil: none.
func LogState(seen kafka.TopicState, replaced map[int32]int64) postgres.LogState {
	state := postgres.LogState{TopicID: seen.ID, Partitions: make([]postgres.LogPartition, len(seen.State))}
	for p, s := range seen.State {
		state.Partitions[p] = postgres.LogPartition{Start: s.Start, End: s.End, ReplacedFrom: -1}
		if from, ok := replaced[int32(p)]; ok {
			state.Partitions[p].ReplacedFrom = from
		}
	}
	return state
}
