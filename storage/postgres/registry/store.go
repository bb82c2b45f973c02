// Package registry holds what points are of: sources, series and their labels, the generations,
// routes and watermarks of topics, how long points are kept, and which were deleted.
package registry

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the registry of points, in a database.
type Store struct {
	root   *postgres.DB
	pool   *pgxpool.Pool
	series *seriesMemory
}

// New returns the store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool(), series: newSeriesMemory()}
}
