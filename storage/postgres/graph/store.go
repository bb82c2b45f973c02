// Package graphstore writes the graph. It has the transaction in which internal/graph decides
// a group of commands, the fence of the log, the journal and its publication, undo stacks,
// outcomes, pruning and purging. Package graphread reads the graph.
package graphstore

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store writes the graph in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns a store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool()}
}
