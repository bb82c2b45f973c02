package clickhouse

import "context"

// MaxConns is how many connections queries have.
const MaxConns = maxConns

// Ask has a statement answered as queries are.
func (db *DB) Ask(ctx context.Context, statement string) error {
	return db.Query(ctx, OpRaw, statement, nil, func(func(...any) error) error { return nil })
}

// SendBatches has rows sent as over the native protocol, in batches of the driver.
func (db *DB) SendBatches() { db.send = sendBatch }
