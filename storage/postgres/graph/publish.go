package graphstore

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/storage/postgres"
)

// GraphChange is an encoded entry of the journal.
type GraphChange struct {
	Sequence int64
	Encoded  []byte
}

// WorkspaceChanges are consecutive changes of one workspace.
type WorkspaceChanges struct {
	Workspace uuid.UUID
	Changes   []GraphChange
}

// UnpublishedWorkspaces returns at most limit workspaces with unpublished changes, in the order
// of their ids, after the id behind.
func (db *Store) UnpublishedWorkspaces(ctx context.Context, behind uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := db.pool.Query(
		ctx, `SELECT h.workspace_id FROM graph_heads h LEFT JOIN graph_published p USING (workspace_id)
		WHERE h.workspace_id > $1 AND h.sequence > COALESCE(p.sequence, 0) ORDER BY h.workspace_id LIMIT $2`, behind, limit,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("looking for changes to publish: %w", err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("looking for changes to publish: %w", err))
	}
	return found, nil
}

// OldestUnpublished returns the age of the oldest unpublished change of all workspaces, or 0
// if there is none.
func (db *Store) OldestUnpublished(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := db.pool.QueryRow(
		ctx,
		`SELECT COALESCE(GREATEST(extract(epoch FROM clock_timestamp() - min(j.at)), 0), 0)::float8
		FROM graph_heads h LEFT JOIN graph_published p USING (workspace_id)
		JOIN journal j ON j.workspace_id = h.workspace_id AND j.sequence = COALESCE(p.sequence, 0) + 1
		WHERE h.sequence > COALESCE(p.sequence, 0)`,
	).Scan(&seconds)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("looking for the oldest change to publish: %w", err))
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// The changes of each workspace are read by the primary key, independent of the planner's
// statistics.
const selectUnpublished = `SELECT t.workspace_id, j.sequence, j.change FROM unnest($1::uuid[]) AS t (workspace_id)
	CROSS JOIN LATERAL (
		SELECT sequence, change FROM journal WHERE workspace_id = t.workspace_id
			AND sequence > COALESCE((SELECT p.sequence FROM graph_published p WHERE p.workspace_id = t.workspace_id), 0)
		ORDER BY sequence LIMIT $2
	) j`

// UnpublishedChanges returns the first unpublished changes of workspaces, at most limit of
// each. It stops after the change with which their total size reaches bytes. cut reports
// whether changes were left out because of the size.
func (db *Store) UnpublishedChanges(
	ctx context.Context, workspaces []uuid.UUID, limit, bytes int,
) (found []WorkspaceChanges, cut bool, err error) {
	rows, err := db.pool.Query(ctx, selectUnpublished, workspaces, limit)
	if err != nil {
		return nil, false, postgres.Classify(fmt.Errorf("reading changes to publish: %w", err))
	}
	defer rows.Close()
	for size := 0; rows.Next(); {
		if size >= bytes {
			return found, true, nil
		}
		var workspace uuid.UUID
		var c GraphChange
		if err := rows.Scan(&workspace, &c.Sequence, &c.Encoded); err != nil {
			return nil, false, postgres.Classify(fmt.Errorf("reading changes to publish: %w", err))
		}
		if len(found) == 0 || found[len(found)-1].Workspace != workspace {
			found = append(found, WorkspaceChanges{Workspace: workspace})
		}
		last := &found[len(found)-1]
		last.Changes = append(last.Changes, c)
		size += len(c.Encoded)
	}
	if err := rows.Err(); err != nil {
		return nil, false, postgres.Classify(fmt.Errorf("reading changes to publish: %w", err))
	}
	return found, false, nil
}

// Published stores up to which sequence the changes of workspaces are published. It never
// lowers a stored sequence. It does not wait until the sequences are on disk: if they are lost
// with the database's last moments, the changes are published again.
func (db *Store) Published(ctx context.Context, upTo map[uuid.UUID]int64) error {
	workspaces := make([]uuid.UUID, 0, len(upTo))
	for id := range upTo {
		workspaces = append(workspaces, id)
	}
	uuids.Sort(workspaces) // so that two processes lock rows in the same order
	sequences := make([]int64, len(workspaces))
	for i, id := range workspaces {
		sequences[i] = upTo[id]
	}
	b := &pgx.Batch{} // one transaction
	b.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
	b.Queue(
		`INSERT INTO graph_published AS p (workspace_id, sequence) SELECT * FROM unnest($1::uuid[], $2::bigint[])
		ON CONFLICT (workspace_id) DO UPDATE SET sequence = excluded.sequence WHERE p.sequence < excluded.sequence`,
		workspaces, sequences,
	)
	if err := db.pool.SendBatch(ctx, b).Close(); err != nil {
		return postgres.Classify(fmt.Errorf("noting what is published: %w", err))
	}
	return nil
}

// PruneOutcomes removes at most limit outcomes older than retention and returns their number.
// It keeps those of records that may be read again, because the fence of their partition is
// held below them.
func (db *Store) PruneOutcomes(ctx context.Context, retention time.Duration, limit int) (int64, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM command_outcomes WHERE (workspace_id, command_id) IN (
		SELECT workspace_id, command_id FROM command_outcomes WHERE decided_at <
		LEAST(now() - make_interval(secs => $1), COALESCE((SELECT min(held_since) FROM command_offsets), 'infinity'))
		ORDER BY decided_at LIMIT $2)`, retention.Seconds(), limit)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("removing old outcomes: %w", err))
	}
	return tag.RowsAffected(), nil
}
