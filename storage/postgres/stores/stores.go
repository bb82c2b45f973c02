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

// Names of the stores in a DB.
type (
	Access    = access.Store
	Registry  = registry.Store
	GraphRead = graphread.Store
	Graph     = graphstore.Store
	Texts     = textindex.Store
	Jobs      = jobs.Store
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
