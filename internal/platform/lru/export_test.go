package lru

// Remembers reports whether a key is remembered, without using it.
func Remembers[K comparable, V any](m *Map[K, V], key K) bool {
	_, young := m.young[key]
	_, old := m.old[key]
	return young || old
}
