// Package access holds who may do what: the installation, workspaces and their plans, API keys,
// operators with their sessions and acts, and the keys of idempotent requests.
package access

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is who has access to what, in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns the store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool()}
}
