// Package savedqueries stores the saved queries of search.
package savedqueries

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// Store stores saved queries in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns a Store on a database.
func New(db *postgres.DB) *Store { return &Store{root: db, pool: db.Pool()} }

// Response is the response to a request with an idempotency key.
type Response = access.Response[SavedQuery]
