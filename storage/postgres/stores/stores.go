// Package stores puts the aggregates of storage/postgres together, for those who compose a
// process or a tool. What needs one aggregate takes the store of that aggregate.
package stores

import (
	"context"

	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// What a DB is made of, by the names that the fields have.
type (
	// Access is the store of workspaces, keys and operators.
	Access = access.Store
	// Registry is the store of sources, series and topics.
	Registry = registry.Store
	// GraphRead is the graph for its readers.
	GraphRead = graphread.Store
	// Graph is the graph for its writer.
	Graph = graphstore.Store
	// Texts is the store of the search indexes.
	Texts = textindex.Store
	// Jobs is the store of background work.
	Jobs = jobs.Store
)

// DB is a database with the stores on it. They share its connections.
type DB struct {
	*postgres.DB
	*Access
	*Registry
	*GraphRead
	*Graph
	*Texts
	*Jobs
}

// Open opens a database, see postgres.Open, with all stores on it.
func Open(ctx context.Context, url string, maxConns int32, changes ...postgres.Option) (*DB, error) {
	db, err := postgres.Open(ctx, url, maxConns, changes...)
	if err != nil {
		return nil, err
	}
	return On(db), nil
}

// On returns the stores on a database that is open.
func On(db *postgres.DB) *DB {
	return &DB{
		DB: db, Access: access.New(db), Registry: registry.New(db), GraphRead: graphread.New(db),
		Graph: graphstore.New(db), Texts: textindex.New(db), Jobs: jobs.New(db),
	}
}
