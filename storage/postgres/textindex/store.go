// Package textindex has the text index of retrieval (words, postings, champion lists and the lexical
// search) and the progress of the indexes of embeddings.
package textindex

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the text index in a database.
type Store struct {
	root   *postgres.DB
	pool   *pgxpool.Pool
	limits searchLimits
	cache  *textCache
}

// New returns a store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool(), limits: defaultSearchLimits(), cache: newTextCache(cacheBytes)}
}
