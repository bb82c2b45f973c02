package clickhouse

import "context"

// InsertPointsUnmarked stores numbers as InsertPoints does, without what it does before
// and after.
func (db *DB) InsertPointsUnmarked(ctx context.Context, c *PointColumns) error {
	return db.insertPoints(ctx, c)
}

// MarkBefore is what InsertPoints does first.
func (db *DB) MarkBefore(ctx context.Context, c *PointColumns) error {
	return db.markLate(ctx, c.Series, c.TS, true)
}

// MarkAfter is what InsertPoints does last.
func (db *DB) MarkAfter(ctx context.Context, c *PointColumns) error {
	return db.markLate(ctx, c.Series, c.TS, false)
}
