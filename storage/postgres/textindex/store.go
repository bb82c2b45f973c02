// Package textindex holds the text lane of retrieval (words, postings, champion lists and the
// lexical search) and how far the indexes of embeddings are.
package textindex

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the index of texts in a database.
type Store struct {
	root   *postgres.DB
	pool   *pgxpool.Pool
	search searchBounds
	texts  *textMemory
}

// New returns the store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool(), search: boundsOfSearches(), texts: newTextMemory(memoryBytes)}
}
