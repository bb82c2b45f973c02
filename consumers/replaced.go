package consumers

import (
	"maps"
	"sync"

	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Replaced remembers partitions whose records were found to have been replaced, each
// from an offset on, until that is recorded. The zero value knows of none. It may be
// used by several goroutines.
type Replaced struct {
	mu   sync.Mutex
	from map[int32]int64
}

// Note is told of a partition; an offset below 0 says nothing.
func (r *Replaced) Note(partition int32, from int64) {
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

// Known returns the offsets by partition. The map is the caller's.
func (r *Replaced) Known() map[int32]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.from)
}

// Recorded forgets what Known gave, and nothing that was noted since.
func (r *Replaced) Recorded(known map[int32]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.from, func(p int32, from int64) bool {
		at, ok := known[p]
		return ok && at == from
	})
}

// LogState says in Postgres' words what the log says of a topic, and which of its
// partitions had their records replaced, as Replaced.Known gives them; nil: none.
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
