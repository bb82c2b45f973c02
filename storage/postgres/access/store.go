// Package access stores the data of access control: the installation, workspaces and their
// plans, API keys, operators with their sessions and actions, and idempotency keys.
package access

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the access control data in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
	// keyChanged is called in the transaction that creates or revokes a key.
	keyChanged func(ctx context.Context, tx pgx.Tx, k *Key) error
}

// New returns a Store on a database.
func New(db *postgres.DB) *Store {
	unobserved := func(context.Context, pgx.Tx, *Key) error { return nil }
	return &Store{root: db, pool: db.Pool(), keyChanged: unobserved}
}

// OnKeyChange sets a function that is called in the transaction which creates or revokes a key. If it fails, so does
// the transaction.
func (db *Store) OnKeyChange(changed func(ctx context.Context, tx pgx.Tx, k *Key) error) {
	db.keyChanged = changed
}
