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
	// Executed says that its points were deleted once. They are deleted again when no
	// insert of before can be under way.
	Executed bool
	// Settles says that when its points are deleted now, that is the last time.
	Settles bool
}

// DoAgain has the deletion of a tombstone done again, from the beginning.
const DoAgain = `attempt = t.attempt + 1, pending_since = now(), executed_at = NULL, settled_at = NULL`

const selectUnsettled = `SELECT ` + tombstoneColumns + `, sequence, attempt, executed_at IS NOT NULL,
	pending_since <= now() - make_interval(secs => $1) FROM tombstones WHERE settled_at IS NULL AND `

// UnsettledDeletions returns the deletions of a workspace's points that queries have to
// leave out by themselves. Each is among them from before the watermark of its record
// is passed, until nothing of it is stored any more.
func (db *Store) UnsettledDeletions(ctx context.Context, workspace uuid.UUID) ([]UnsettledDeletion, error) {
	rows, err := db.pool.Query(ctx, selectUnsettled+`workspace_id = $2`, 0.0, workspace)
	return collectUnsettled(rows, err)
}

// DueDeletions returns the oldest of the deletions that are to be done now: those that
// were not executed, and those that were and are as old as settleAfter.
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
			&p.Sequence, &p.Attempt, &p.Executed, &p.Settles)
		p.RecordVersion, p.Ceiling = uint64(version), uint64(ceiling)
		return p, err
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading unsettled deletions: %w", err))
	}
	return list, nil
}

// DeletionsDone notes deletions, as DueDeletions gave them, as executed or settled. One
// that has to be done again since stays as it is.
func (db *Store) DeletionsDone(ctx context.Context, done []UnsettledDeletion) error {
	sequences, attempts, settle := make([]int64, len(done)), make([]int32, len(done)), make([]bool, len(done))
	for i, d := range done {
		sequences[i], attempts[i], settle[i] = d.Sequence, d.Attempt, d.Settles
	}
	_, err := db.pool.Exec(
		ctx,
		`UPDATE tombstones t SET executed_at = COALESCE(executed_at, now()), settled_at = CASE WHEN d.settles THEN now() END
		FROM unnest($1::bigint[], $2::integer[], $3::boolean[]) AS d (sequence, attempt, settles)
		WHERE t.sequence = d.sequence AND t.attempt = d.attempt`, sequences, attempts, settle,
	)
	if err != nil {
		return postgres.Classify(fmt.Errorf("noting deletions that are done: %w", err))
	}
	return nil
}

// RepeatDeletionsOf has the deletions of sources that became visible after a state of
// ConsumerState done again: rows of these sources were stored without regard to them.
func (db *Store) RepeatDeletionsOf(ctx context.Context, sources []SourceID, since int64) error {
	workspaces, ids := make([]uuid.UUID, len(sources)), make([]uuid.UUID, len(sources))
	for i, s := range sources {
		workspaces[i], ids[i] = s.Workspace, s.Source
	}
	return db.repeatDeletions(
		ctx, `sequence > $1 AND (workspace_id, source_id) IN (SELECT * FROM unnest($2::uuid[], $3::uuid[]))`, since,
		workspaces, ids,
	)
}

// RepeatDeletionsSince has the deletions since a time of the database done again.
func (db *Store) RepeatDeletionsSince(ctx context.Context, since time.Time) error {
	return db.repeatDeletions(ctx, `created_at > $1`, since)
}

// RepeatWorkspaceDeletions has those of the workspaces that are deleted removed once more
// from all stores: rows of theirs were stored since.
func (db *Store) RepeatWorkspaceDeletions(ctx context.Context, workspaces []uuid.UUID) error {
	_, err := db.pool.Exec(
		ctx, `UPDATE workspace_deletions SET removed_at = NULL, finished_at = NULL, progress = '[]', updated_at = now()
		WHERE workspace_id = ANY($1)`, workspaces,
	)
	if err != nil {
		return postgres.Classify(fmt.Errorf("having workspaces deleted again: %w", err))
	}
	return nil
}

func (db *Store) repeatDeletions(ctx context.Context, which string, args ...any) error {
	if _, err := db.pool.Exec(ctx, `UPDATE tombstones t SET `+DoAgain+` WHERE `+which, args...); err != nil {
		return postgres.Classify(fmt.Errorf("having deletions done again: %w", err))
	}
	return nil
}

// UnexecutedDeletions reports how many deletions were not executed yet, and the age of the
// oldest of them.
func (db *Store) UnexecutedDeletions(ctx context.Context) (waiting int64, oldest time.Duration, err error) {
	var seconds float64
	err = db.pool.QueryRow(ctx, `SELECT count(*), COALESCE(EXTRACT(epoch FROM now() - min(pending_since)), 0)::float8
		FROM tombstones WHERE settled_at IS NULL AND executed_at IS NULL`).Scan(&waiting, &seconds)
	if err != nil {
		return 0, 0, postgres.Classify(fmt.Errorf("counting unsettled deletions: %w", err))
	}
	return waiting, time.Duration(seconds * float64(time.Second)), nil
}
