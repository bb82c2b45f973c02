package textindex

// SetSearchLimits lowers the limits of searches, so that tests reach them with few postings and with few
// nodes that pass a filter.
func (db *Store) SetSearchLimits(first, postings, lookups int64, few int) {
	db.limits.first, db.limits.postings, db.limits.lookups, db.limits.maxMatches = first, postings, lookups, few
}

// SetChampionLimits sets the number of postings of champion lists, and the number of the newest postings
// that are read besides them.
func (db *Store) SetChampionLimits(kept, newest int64) {
	db.limits.minChampions, db.limits.maxChampions, db.limits.newest, db.limits.checkInterval = kept, kept, newest, 1
}

// ResetTextCache replaces the text cache by an empty one of maxBytes; negative: by none.
func (db *Store) ResetTextCache(maxBytes int64) {
	db.cache = nil
	if maxBytes >= 0 {
		db.cache = newTextCache(maxBytes)
	}
}

// WithoutChampions returns a store on the same database with a separate text cache, which searches as
// if no champion list was filled.
func (db *Store) WithoutChampions() *Store {
	other := &Store{root: db.root, pool: db.pool, limits: db.limits, cache: newTextCache(cacheBytes)}
	other.limits.unlisted = true
	return other
}
