package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// UnsettledDeletion is a tombstone whose points may still be stored.
type UnsettledDeletion struct {
	Tombstone
	Sequence int64
	Attempt  int32
	// Executed reports that its points were deleted once. They are deleted again when no
	// insert from before the tombstone can still be running.
	Executed bool
	// Final reports that deleting its points now is the last time.
	Final bool
}

// ResetDeletion is the SET list that resets the deletion of tombstone t, so that it is executed
// again from the beginning.
const ResetDeletion = `attempt = t.attempt + 1, pending_since = now(), executed_at = NULL, settled_at = NULL`

const selectUnsettled = `SELECT ` + tombstoneColumns + `, sequence, attempt, executed_at IS NOT NULL,
	pending_since <= now() - make_interval(secs => $1) FROM tombstones WHERE settled_at IS NULL AND `

// UnsettledDeletions returns the deletions of a workspace whose points queries have to
// filter out. It includes a deletion from before the watermark passes its record until
// none of its points are stored.
func (db *Store) UnsettledDeletions(ctx context.Context, workspace uuid.UUID) ([]UnsettledDeletion, error) {
	rows, err := db.pool.Query(ctx, selectUnsettled+`workspace_id = $2`, 0.0, workspace)
	return collectUnsettled(rows, err)
}

// DueDeletions returns up to limit deletions to execute now, oldest first: those that were
// not executed yet, and those that were and have been pending for at least settleAfter.
func (db *Store) DueDeletions(ctx context.Context, settleAfter time.Duration, limit int) ([]UnsettledDeletion, error) {
	rows, err := db.pool.Query(
		ctx, selectUnsettled+`(executed_at IS NULL OR pending_since <= now() - make_interval(secs => $1))
		ORDER BY sequence LIMIT $2`, settleAfter.Seconds(), limit,
	)
	return collectUnsettled(rows, err)
}

func collectUnsettled(rows pgx.Rows, err error) ([]UnsettledDeletion, error) {
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading unsettled deletions: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p UnsettledDeletion, err error) {
		var version, ceiling int64
		err = row.Scan(&p.Partition, &version, &p.Ordinal, &p.Workspace, &p.Source, &p.Metric, &p.FromUS, &p.ToUS, &ceiling,
			&p.Sequence, &p.Attempt, &p.Executed, &p.Final)
		p.RecordVersion, p.Ceiling = uint64(version), uint64(ceiling)
		return p, err
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading unsettled deletions: %w", err))
	}
	return list, nil
}

// MarkDeletionsDone marks deletions that DueDeletions returned as executed or settled. It does
// not change deletions that were reset since.
func (db *Store) MarkDeletionsDone(ctx context.Context, done []UnsettledDeletion) error {
	sequences, attempts, settle := make([]int64, len(done)), make([]int32, len(done)), make([]bool, len(done))
	for i, d := range done {
		sequences[i], attempts[i], settle[i] = d.Sequence, d.Attempt, d.Final
	}
	_, err := db.pool.Exec(
		ctx,
		`UPDATE tombstones t SET executed_at = COALESCE(executed_at, now()), settled_at = CASE WHEN d.settles THEN now() END
		FROM unnest($1::bigint[], $2::integer[], $3::boolean[]) AS d (sequence, attempt, settles)
		WHERE t.sequence = d.sequence AND t.attempt = d.attempt`, sequences, attempts, settle,
	)
	if err != nil {
		return postgres.Classify(fmt.Errorf("marking deletions as done: %w", err))
	}
	return nil
}

// RepeatSourceDeletions resets the deletions of sources that became visible after a
// ConsumerState, because rows of these sources were stored without applying them.
func (db *Store) RepeatSourceDeletions(ctx context.Context, sources []SourceID, since int64) error {
	workspaces, ids := make([]uuid.UUID, len(sources)), make([]uuid.UUID, len(sources))
	for i, s := range sources {
		workspaces[i], ids[i] = s.Workspace, s.Source
	}
	return db.repeatDeletions(
		ctx, `sequence > $1 AND (workspace_id, source_id) IN (SELECT * FROM unnest($2::uuid[], $3::uuid[]))`, since,
		workspaces, ids,
	)
}

// RepeatDeletionsSince resets the deletions that were created after a time of the database.
func (db *Store) RepeatDeletionsSince(ctx context.Context, since time.Time) error {
	return db.repeatDeletions(ctx, `created_at > $1`, since)
}

// RepeatWorkspaceDeletions resets the deletions of those workspaces that are deleted, so
// that they are removed from all stores again, because rows were stored since.
func (db *Store) RepeatWorkspaceDeletions(ctx context.Context, workspaces []uuid.UUID) error {
	_, err := db.pool.Exec(
		ctx, `UPDATE workspace_deletions SET removed_at = NULL, finished_at = NULL, progress = '[]', updated_at = now()
		WHERE workspace_id = ANY($1)`, workspaces,
	)
	if err != nil {
		return postgres.Classify(fmt.Errorf("repeating the deletion of workspaces: %w", err))
	}
	return nil
}

func (db *Store) repeatDeletions(ctx context.Context, condition string, args ...any) error {
	if _, err := db.pool.Exec(ctx, `UPDATE tombstones t SET `+ResetDeletion+` WHERE `+condition, args...); err != nil {
		return postgres.Classify(fmt.Errorf("repeating deletions: %w", err))
	}
	return nil
}

// UnexecutedDeletions returns the number of deletions that were not executed yet, and the
// age of the oldest.
func (db *Store) UnexecutedDeletions(ctx context.Context) (pending int64, oldest time.Duration, err error) {
	var seconds float64
	err = db.pool.QueryRow(ctx, `SELECT count(*), COALESCE(EXTRACT(epoch FROM now() - min(pending_since)), 0)::float8
		FROM tombstones WHERE settled_at IS NULL AND executed_at IS NULL`).Scan(&pending, &seconds)
	if err != nil {
		return 0, 0, postgres.Classify(fmt.Errorf("counting unsettled deletions: %w", err))
	}
	return pending, time.Duration(seconds * float64(time.Second)), nil
}
