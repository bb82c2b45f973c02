// Package savedqueries stores the saved queries of search.
package savedqueries

import (
	"context"

	"github.com/jackc/pgx/v5"
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

// Response is the response to a request with an idempotency key. It is stored in the transaction of the request's
// effect.
type Response struct {
	Key    access.IdempotencyClaim
	Encode func(SavedQuery) ([]byte, error)
}

// store stores the response, which may be nil. It returns fault.Unavailable if another request holds the key by now.
func (r *Response) store(ctx context.Context, tx pgx.Tx, q *SavedQuery) error {
	if r == nil {
		return nil
	}
	encoded, err := r.Encode(*q)
	if err != nil {
		return err
	}
	return access.AnswerHeldKey(ctx, tx, r.Key, encoded)
}
