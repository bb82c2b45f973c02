// Package stores combines the stores of storage/postgres, for code that composes a process
// or a tool. Code that needs one aggregate uses the store of that aggregate.
package stores

import (
	"context"

	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/linkstore"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/savedqueries"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/storage/postgres/topology"
)

// The stores of a DB, by the names of its embedded fields.
type (
	// Access is the store of workspaces, keys and operators.
	Access = access.Store
	// Registry is the store of sources, series and topics.
	Registry = registry.Store
	// GraphRead is the store that reads the graph.
	GraphRead = graphread.Store
	// Topology is the store that reads whole graphs.
	Topology = topology.Store
	// Graph is the store that writes the graph.
	Graph = graphstore.Store
	// Texts is the store of the search indexes.
	Texts = textindex.Store
	// Links is the store of the links that texts have.
	Links = linkstore.Store
	// Jobs is the store of background work.
	Jobs = jobs.Store
	// Alerting is the store of rules and alerts.
	Alerting = alerting.Store
	// Hooks is the store of webhooks and their deliveries.
	Hooks = hooks.Store
	// Saved is the store of saved queries.
	Saved = savedqueries.Store
)

// DB is a database with all stores on it. They share its connections.
type DB struct {
	*postgres.DB
	*Access
	*Registry
	*GraphRead
	*Topology
	*Graph
	*Texts
	*Links
	*Jobs
	*Alerting
	*Hooks
	*Saved
}

// Open opens a database with all stores on it. See postgres.Open.
func Open(ctx context.Context, url string, maxConns int32, opts ...postgres.Option) (*DB, error) {
	db, err := postgres.Open(ctx, url, maxConns, opts...)
	if err != nil {
		return nil, err
	}
	return FromDB(db), nil
}

// FromDB returns all stores on an open database.
func FromDB(db *postgres.DB) *DB {
	stores := &DB{
		DB: db, Access: access.New(db), Registry: registry.New(db), GraphRead: graphread.New(db), Topology: topology.New(db),
		Graph: graphstore.New(db), Texts: textindex.New(db), Links: linkstore.New(db), Jobs: jobs.New(db),
		Alerting: alerting.New(db), Hooks: hooks.New(db), Saved: savedqueries.New(db),
	}
	stores.OnKeyChange(stores.KeyChanged)
	return stores
}
