package clickhouse

import "context"

// MaxConns is how many connections queries have.
const MaxConns = maxConns

// Ask has a statement answered as queries are.
func (db *DB) Ask(ctx context.Context, statement string) error {
	return db.query(ctx, opRaw, statement, nil, func(func(...any) error) error { return nil })
}
