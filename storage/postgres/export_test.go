package postgres

import "context"

// BeginGraphWith is BeginGraph with another bound on the edges that are decided about
// in memory.
func (db *DB) BeginGraphWith(ctx context.Context, g GraphGroup, edges int) (*GraphTx, error) {
	return db.beginGraph(ctx, g, edges)
}
