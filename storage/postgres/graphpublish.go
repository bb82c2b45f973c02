package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// GraphChange is an entry of the journal as it was encoded.
type GraphChange struct {
	Sequence int64
	Encoded  []byte
}

// UnpublishedWorkspaces gives workspaces with changes that are not published.
func (db *DB) UnpublishedWorkspaces(ctx context.Context, limit int) ([]uuid.UUID, error) {
	rows, err := db.pool.Query(ctx, `SELECT h.workspace_id FROM graph_heads h LEFT JOIN graph_published p USING (workspace_id)
		WHERE h.sequence > COALESCE(p.sequence, 0) LIMIT $1`, limit)
	if err != nil {
		return nil, classify(fmt.Errorf("looking for changes to publish: %w", err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, classify(fmt.Errorf("looking for changes to publish: %w", err))
	}
	return found, nil
}

// OldestUnpublished gives the age of the oldest change that is not published, of any
// workspace; 0 if all are.
func (db *DB) OldestUnpublished(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := db.pool.QueryRow(ctx, `SELECT COALESCE(GREATEST(extract(epoch FROM clock_timestamp() - min(j.at)), 0), 0)::float8
		FROM graph_heads h LEFT JOIN graph_published p USING (workspace_id)
		JOIN journal j ON j.workspace_id = h.workspace_id AND j.sequence = COALESCE(p.sequence, 0) + 1
		WHERE h.sequence > COALESCE(p.sequence, 0)`).Scan(&seconds)
	if err != nil {
		return 0, classify(fmt.Errorf("looking for the oldest change to publish: %w", err))
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// UnpublishedChanges gives the first changes of a workspace that are not published,
// in order and without a gap: at most so many, and no more after the one that brings
// them over so many bytes.
func (db *DB) UnpublishedChanges(ctx context.Context, workspace uuid.UUID, limit, bytes int) ([]GraphChange, error) {
	rows, err := db.pool.Query(ctx, `SELECT sequence, change FROM journal WHERE workspace_id = $1
		AND sequence > COALESCE((SELECT p.sequence FROM graph_published p WHERE p.workspace_id = $1), 0) ORDER BY sequence LIMIT $2`, workspace, limit)
	if err != nil {
		return nil, classify(fmt.Errorf("reading changes to publish: %w", err))
	}
	defer rows.Close()
	var changes []GraphChange
	for size := 0; size < bytes && rows.Next(); {
		var c GraphChange
		if err := rows.Scan(&c.Sequence, &c.Encoded); err != nil {
			return nil, classify(fmt.Errorf("reading changes to publish: %w", err))
		}
		changes = append(changes, c)
		size += len(c.Encoded)
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return nil, classify(fmt.Errorf("reading changes to publish: %w", err))
	}
	return changes, nil
}

// Published notes that the changes of a workspace up to a sequence are published. It
// never goes back.
func (db *DB) Published(ctx context.Context, workspace uuid.UUID, sequence int64) error {
	_, err := db.pool.Exec(ctx, `INSERT INTO graph_published AS p (workspace_id, sequence) VALUES ($1, $2)
		ON CONFLICT (workspace_id) DO UPDATE SET sequence = excluded.sequence WHERE p.sequence < excluded.sequence`, workspace, sequence)
	if err != nil {
		return classify(fmt.Errorf("noting what is published: %w", err))
	}
	return nil
}

// PruneOutcomes removes outcomes older than kept, at most so many, and says how many.
// Those of records that may be read again, because the fence of their partition stands
// still below them, are kept.
func (db *DB) PruneOutcomes(ctx context.Context, kept time.Duration, limit int) (int64, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM command_outcomes WHERE (workspace_id, command_id) IN (
		SELECT workspace_id, command_id FROM command_outcomes WHERE decided_at <
		LEAST(now() - make_interval(secs => $1), COALESCE((SELECT min(held_since) FROM command_offsets), 'infinity'))
		ORDER BY decided_at LIMIT $2)`, kept.Seconds(), limit)
	if err != nil {
		return 0, classify(fmt.Errorf("removing old outcomes: %w", err))
	}
	return tag.RowsAffected(), nil
}
