// Package graphstore writes the graph: the transaction of a group of commands, in which
// internal/graph decides, the fence of the log, the journal and what is published of it,
// stacks, outcomes, pruning and purging. Package graphread reads it.
package graphstore

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the graph for its only writer, in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns the store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool()}
}
