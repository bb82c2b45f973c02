// Package alerting stores the rules of workspaces: their files, what the evaluating process saw last, the alerts that
// fire, and the Alertmanagers to which they are sent.
package alerting

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store stores rules and alerts in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns a Store on a database.
func New(db *postgres.DB) *Store { return &Store{root: db, pool: db.Pool()} }
