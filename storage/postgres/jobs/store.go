// Package jobs stores the state of background work: leases, replays, the marks of dead
// letters, the deletion of workspaces, and the snapshots and restores of backups.
package jobs

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the state of background work in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns a Store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool()}
}
