// Package graphread reads the graph: nodes and edges, lists with totals, walks, the history,
// exports, and the queries of retrieval.
package graphread

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store reads the graph in a database.
type Store struct {
	root   *postgres.DB
	pool   *pgxpool.Pool
	totals *totalCache // of filtered lists
	limits listLimits
}

// New returns a store on a database.
func New(db *postgres.DB) *Store {
	return &Store{
		root: db, pool: db.Pool(), totals: newTotalCache(),
		limits: listLimits{
			maxSmallResult: defaultMaxSmallResult, windowRows: defaultWindowRows, maxValues: defaultMaxValues,
			pastEntries: maxPastEntries,
		},
	}
}
