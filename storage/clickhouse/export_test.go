package clickhouse

import "context"

// MaxConns is the number of connections for queries.
const MaxConns = maxConns

// RunQuery runs a statement in the pool of queries.
func (db *DB) RunQuery(ctx context.Context, statement string) error {
	return db.Query(ctx, OpRaw, statement, nil, func(func(...any) error) error { return nil })
}

// SendBatches makes the DB send rows in batches of the driver, as over the native protocol.
func (db *DB) SendBatches() { db.send = sendBatch }

// ReadRows makes the DB read rows as over the native protocol.
func (db *DB) ReadRows() { db.fetch = fetchRows }
