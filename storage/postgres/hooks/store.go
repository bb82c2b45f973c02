// Package hooks stores the webhooks of workspaces, and the queue of their deliveries.
package hooks

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store stores webhooks in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns a Store on a database.
func New(db *postgres.DB) *Store { return &Store{root: db, pool: db.Pool()} }
