package textindex

// BoundSearches makes searches reach their bounds with few postings, and with few
// nodes that pass a filter.
func (db *Store) BoundSearches(first, postings, lookups int64, few int) {
	db.search.first, db.search.postings, db.search.lookups, db.search.few = first, postings, lookups, few
}

// BoundChampions makes champion lists have so many postings, and has so many of the newest
// read beside them.
func (db *Store) BoundChampions(kept, newest int64) {
	db.search.champions, db.search.championsMost, db.search.newest, db.search.unnoticed = kept, kept, newest, 1
}

// ForgetTexts empties what searches keep in memory, of which so many bytes are kept from
// here on; negative: nothing.
func (db *Store) ForgetTexts(most int64) {
	db.texts = nil
	if most >= 0 {
		db.texts = newTextMemory(most)
	}
}

// WithoutChampions is the same store, with its own memory, searched as if no
// champion list were filled.
func (db *Store) WithoutChampions() *Store {
	other := &Store{root: db.root, pool: db.pool, search: db.search, texts: newTextMemory(memoryBytes)}
	other.search.unlisted = true
	return other
}
