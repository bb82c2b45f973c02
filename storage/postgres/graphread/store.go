// Package graphread reads the graph: nodes and edges, lists with their totals, walks, the
// history, exports, and what retrieval asks of it.
package graphread

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the graph for its readers, in a database.
type Store struct {
	root   *postgres.DB
	pool   *pgxpool.Pool
	totals *totals // of filtered lists
	bounds listBounds
}

// New returns the store on a database.
func New(db *postgres.DB) *Store {
	return &Store{
		root: db, pool: db.Pool(), totals: newTotals(),
		bounds: listBounds{few: fewRows, window: windowRows, values: coarseValues},
	}
}
