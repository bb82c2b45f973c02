package graphstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// CommandRef identifies a command or a batch.
type CommandRef struct{ Workspace, ID uuid.UUID }

// CommandOutcomes returns the encoded outcomes of those of the commands and batches that are
// decided. Outcomes are kept for 24 hours.
func (db *Store) CommandOutcomes(ctx context.Context, refs []CommandRef) (map[CommandRef][]byte, error) {
	workspaces, ids := make([]uuid.UUID, len(refs)), make([]uuid.UUID, len(refs))
	for i, r := range refs {
		workspaces[i], ids[i] = r.Workspace, r.ID
	}
	rows, err := db.pool.Query(ctx, `SELECT workspace_id, command_id, outcome FROM command_outcomes
		JOIN unnest($1::uuid[], $2::uuid[]) AS wanted (workspace_id, command_id) USING (workspace_id, command_id)`,
		workspaces, ids)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading outcomes: %w", err))
	}
	outcomes := make(map[CommandRef][]byte, len(refs))
	var ref CommandRef
	var outcome []byte
	_, err = pgx.ForEachRow(rows, []any{&ref.Workspace, &ref.ID, &outcome}, func() error {
		outcomes[ref] = outcome
		outcome = nil
		return nil
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading outcomes: %w", err))
	}
	return outcomes, nil
}

// ForgetFailure removes the outcome of a command that failed for an internal reason, so that
// a new record with the same id is decided. It reports whether the stored outcome was still
// equal to outcome.
//
// Another record with the id, a replayed dead letter, may be decided at the same time. The
// first of the two has the effect and stores the outcome, and the other finds that outcome.
func (db *Store) ForgetFailure(ctx context.Context, ref CommandRef, outcome []byte) (bool, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM command_outcomes
		WHERE workspace_id = $1 AND command_id = $2 AND outcome = $3`, ref.Workspace, ref.ID, outcome)
	if err != nil {
		return false, postgres.Classify(fmt.Errorf("forgetting the failure of a command: %w", err))
	}
	return tag.RowsAffected() == 1, nil
}

// CommandLogEnd is the end offset of a partition of graph.commands.
type CommandLogEnd struct {
	TopicID   [16]byte
	Partition int32
	Offset    int64
}

// AbandonCommand stores an outcome for a command that is not in the log: if all records below
// the end of its partition are decided and the command has no outcome, it stores this one. A
// later record of the command is then treated as decided. AbandonCommand returns the stored
// outcome, or nil if not all records are decided or the workspace does not exist.
//
// It locks the workspace's head, as the transactions that decide the workspace's commands do.
// Those read the outcomes after they lock the head.
func (db *Store) AbandonCommand(
	ctx context.Context, ref CommandRef, actor uuid.UUID, log CommandLogEnd, outcome []byte,
) (effective []byte, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		effective = nil
		if _, err := tx.Exec(ctx, beginHeads, []uuid.UUID{ref.Workspace}); err != nil {
			return fmt.Errorf("beginning a journal: %w", err)
		}
		tag, err := tx.Exec(ctx, lockHeads, []uuid.UUID{ref.Workspace})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		err = tx.QueryRow(
			ctx, `SELECT outcome FROM command_outcomes WHERE workspace_id = $1 AND command_id = $2`, ref.Workspace, ref.ID,
		).Scan(&effective)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		tag, err = tx.Exec(ctx, `INSERT INTO command_outcomes (workspace_id, command_id, actor_id, outcome)
			SELECT $1, $2, $3, $4 FROM command_offsets WHERE topic_id = $5 AND partition = $6 AND next_offset >= $7`,
			ref.Workspace, ref.ID, actor, outcome, log.TopicID[:], log.Partition, log.Offset)
		if err == nil && tag.RowsAffected() == 1 {
			effective = outcome
		}
		return err
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("abandoning a command: %w", err))
	}
	return effective, nil
}
