package graphstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// CommandRef names a command or a batch.
type CommandRef struct{ Workspace, ID uuid.UUID }

// CommandOutcomes returns what came of commands and batches, as it was encoded, of
// those that are decided. Outcomes are kept for 24 hours.
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

// ForgetFailure removes the outcome of a command that failed for an internal reason, so
// that a record of it with the same id is decided again. It reports whether the outcome
// was still this one.
//
// Another record with the id may be decided at the same time, a dead letter that is put
// back: whichever comes first has the effect and the outcome, which the other then finds.
func (db *Store) ForgetFailure(ctx context.Context, ref CommandRef, outcome []byte) (bool, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM command_outcomes
		WHERE workspace_id = $1 AND command_id = $2 AND outcome = $3`, ref.Workspace, ref.ID, outcome)
	if err != nil {
		return false, postgres.Classify(fmt.Errorf("forgetting the failure of a command: %w", err))
	}
	return tag.RowsAffected() == 1, nil
}

// CommandLogEnd is where a partition of graph.commands ends.
type CommandLogEnd struct {
	TopicID   [16]byte
	Partition int32
	Offset    int64
}

// AbandonCommand settles that a command is not in the log: if everything below the end
// of its partition is decided and it has no outcome, it gets this one, and a record of
// it that comes later is known to be decided. It gives the outcome that stands; nil if
// not everything is decided, or the workspace is gone.
//
// It takes its turn among those who decide the workspace's commands, who read the
// outcomes when they have the workspace's head.
func (db *Store) AbandonCommand(
	ctx context.Context, ref CommandRef, actor uuid.UUID, log CommandLogEnd, outcome []byte,
) (stands []byte, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		stands = nil
		if _, err := tx.Exec(ctx, beginHeads, []uuid.UUID{ref.Workspace}); err != nil {
			return fmt.Errorf("beginning a journal: %w", err)
		}
		tag, err := tx.Exec(ctx, lockHeads, []uuid.UUID{ref.Workspace})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		err = tx.QueryRow(
			ctx, `SELECT outcome FROM command_outcomes WHERE workspace_id = $1 AND command_id = $2`, ref.Workspace, ref.ID,
		).Scan(&stands)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		tag, err = tx.Exec(ctx, `INSERT INTO command_outcomes (workspace_id, command_id, actor_id, outcome)
			SELECT $1, $2, $3, $4 FROM command_offsets WHERE topic_id = $5 AND partition = $6 AND next_offset >= $7`,
			ref.Workspace, ref.ID, actor, outcome, log.TopicID[:], log.Partition, log.Offset)
		if err == nil && tag.RowsAffected() == 1 {
			stands = outcome
		}
		return err
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("abandoning a command: %w", err))
	}
	return stands, nil
}
