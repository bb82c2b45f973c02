package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// LogMark has the end offsets of topic points at a time of the database.
type LogMark struct {
	TopicID [16]byte
	At      time.Time
	Ends    []int64 // by partition
}

// AddLogMark stores the current end offsets of the topic.
func (db *Store) AddLogMark(ctx context.Context, topicID [16]byte, ends []int64) error {
	if _, err := db.pool.Exec(
		ctx, `INSERT INTO log_marks (topic_id, ends) VALUES ($1, $2)`, topicID[:], ends,
	); err != nil {
		return postgres.Classify(fmt.Errorf("marking the log: %w", err))
	}
	return nil
}

// LogMarks lists the marks, newest first.
func (db *Store) LogMarks(ctx context.Context) ([]LogMark, error) {
	rows, err := db.pool.Query(ctx, `SELECT topic_id, marked_at, ends FROM log_marks ORDER BY marked_at DESC`)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the marks of the log: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (LogMark, error) {
		var m LogMark
		var id []byte
		err := row.Scan(&id, &m.At, &m.Ends)
		copy(m.TopicID[:], id)
		return m, err
	})
	return list, postgres.Classify(err)
}

// PruneTombstones removes the settled tombstones that were written before a time, and the
// log marks before it. It raises the horizon of tombstones to that time: records from
// before the horizon must not be stored, because their tombstones may be removed.
func (db *Store) PruneTombstones(ctx context.Context, before time.Time) (pruned int64, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		// The horizon is raised in the same transaction: a reader that does not see the
		// tombstones sees the new horizon.
		tag, err := tx.Exec(ctx, `UPDATE installation SET tombstones_from = GREATEST(tombstones_from, $1)`, before)
		if err == nil && tag.RowsAffected() != 1 {
			err = pgx.ErrNoRows
		}
		if err != nil {
			return fmt.Errorf("raising the horizon of tombstones: %w", err)
		}
		tag, err = tx.Exec(ctx, `DELETE FROM tombstones WHERE created_at < $1 AND settled_at IS NOT NULL`, before)
		if err != nil {
			return fmt.Errorf("pruning tombstones: %w", err)
		}
		pruned = tag.RowsAffected()
		_, err = tx.Exec(ctx, `DELETE FROM log_marks WHERE marked_at < $1`, before)
		return err
	})
	return pruned, err
}

// TombstoneHorizon returns the time before which tombstones may have been removed. Records
// from before it must not be stored. It is zero if no tombstones were removed.
func (db *Store) TombstoneHorizon(ctx context.Context) (time.Time, error) {
	var horizon *time.Time
	err := db.pool.QueryRow(ctx, `SELECT tombstones_from FROM installation`).Scan(&horizon)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, postgres.Classify(fmt.Errorf("reading the horizon of tombstones: %w", err))
	}
	if horizon == nil {
		return time.Time{}, nil
	}
	return *horizon, nil
}
