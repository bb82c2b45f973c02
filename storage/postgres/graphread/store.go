// Package graphread reads the graph: nodes and edges, lists with totals, walks, patterns,
// exports, and the queries of retrieval. A store also reads the journal.
package graphread

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphpast"
	"github.com/livegraph/livegraph/storage/postgres/journal"
)

// Store reads the graph in a database.
type Store struct {
	*journal.Store
	root   *postgres.DB
	pool   *pgxpool.Pool
	totals *totalCache // of filtered lists
	limits listLimits
}

// New returns a store on a database.
func New(db *postgres.DB) *Store {
	return &Store{
		Store: journal.New(db), root: db, pool: db.Pool(), totals: newTotalCache(),
		limits: listLimits{
			maxSmallResult: defaultMaxSmallResult, windowRows: defaultWindowRows, maxValues: defaultMaxValues,
			pastEntries: graphpast.DefaultMaxEntries,
		},
	}
}
