package postgres

import "sync"

// recent remembers values by their keys, at most twice as much as put is told: when the
// young ones are as many, they are the old ones, and those before are forgotten. Its zero
// value is ready.
type recent[V any] struct {
	mu         sync.Mutex
	young, old map[string]sized[V]
	size       int // of the young
}

type sized[V any] struct {
	value V
	size  int
}

func (r *recent[V]) get(key string) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.young[key]
	if !ok {
		found, ok = r.old[key]
	}
	return found.value, ok
}

// put remembers a value of a size, unless that alone is more than most.
func (r *recent[V]) put(key string, value V, size, most int) {
	if size > most {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size -= r.young[key].size
	if r.young == nil || r.size+size > most {
		r.old, r.young, r.size = r.young, map[string]sized[V]{}, 0
	}
	r.young[key] = sized[V]{value, size}
	r.size += size
}
