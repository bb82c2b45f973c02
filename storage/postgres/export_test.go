package postgres

import "context"

// Exec runs a statement of a test: fixtures of what only other parts write.
func (db *DB) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := db.pool.Exec(ctx, statement, args...)
	return err
}

// Explain gives the plan of a statement.
func (db *DB) Explain(ctx context.Context, statement string, args ...any) (plan string, err error) {
	err = db.pool.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+statement, args...).Scan(&plan)
	return plan, err
}

// BoundLists makes lists take their steps on few rows.
func (db *DB) BoundLists(few, window, values int) {
	db.bounds = listBounds{few: few, window: window, values: values}
}

// BeginGraphWith is BeginGraph with another bound on the edges that are decided about
// in memory.
func (db *DB) BeginGraphWith(ctx context.Context, g GraphGroup, edges int) (*GraphTx, error) {
	return db.beginGraph(ctx, g, edges)
}
