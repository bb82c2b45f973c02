// Package jobs holds what takes longer than a request: leases, replays, the marks of dead
// letters, the deletion of workspaces, and the snapshots and restores of a backup.
package jobs

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is jobs and their progress in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns the store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool()}
}
