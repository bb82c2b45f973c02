package clickhouse

import "context"

// InsertPointsUnmarked stores numbers as InsertPoints does, without what it does before
// and after.
func (db *DB) InsertPointsUnmarked(ctx context.Context, c *PointColumns) error {
	return db.insertPoints(ctx, c)
}

// MarkLate is what InsertPoints does before and after.
func (db *DB) MarkLate(ctx context.Context, c *PointColumns) error {
	return db.markLate(ctx, c.Series, c.TS)
}
