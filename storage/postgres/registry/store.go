// Package registry stores the metadata of points: sources, series and their labels, the
// generations, routes and watermarks of topics, retention, and deletions.
package registry

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the registry in a database.
type Store struct {
	root   *postgres.DB
	pool   *pgxpool.Pool
	series *seriesCache
}

// New returns a Store on a database.
func New(db *postgres.DB) *Store {
	return &Store{root: db, pool: db.Pool(), series: newSeriesCache()}
}
