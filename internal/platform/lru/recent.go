// Package lru remembers what was used last, in bounded memory.
package lru

import "sync"

// Map remembers values by their keys, at most twice as much as Put is told: when the
// young ones are as many, they are the old ones, and those before are forgotten. What is
// found among the old ones is young again. Its zero value is ready, and it may be used
// by many at a time.
type Map[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]sized[V]
	size       int // of the young
	most       int // as the last Put was told
}

type sized[V any] struct {
	value V
	size  int
}

// Get returns the value of a key, if it is remembered.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, ok := m.young[key]; ok {
		return found.value, true
	}
	found, ok := m.old[key]
	if ok {
		delete(m.old, key)
		m.add(key, found)
	}
	return found.value, ok
}

// Put remembers a value of a size, unless that alone is more than most. The unit is the
// caller's: 1 each, say, or bytes.
func (m *Map[K, V]) Put(key K, value V, size, most int) {
	if size > most {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most = most
	delete(m.old, key)
	m.add(key, sized[V]{value, size})
}

func (m *Map[K, V]) add(key K, s sized[V]) {
	m.size -= m.young[key].size
	delete(m.young, key)
	if m.young == nil || m.size+s.size > m.most {
		m.old, m.young, m.size = m.young, map[K]sized[V]{}, 0
	}
	m.young[key] = s
	m.size += s.size
}

// Len returns how many values are remembered.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.young) + len(m.old)
}
