// Package access stores the data of access control: the installation, workspaces and their
// plans, API keys, operators with their sessions and actions, and idempotency keys.
package access

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the access control data in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns a Store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool()}
}
