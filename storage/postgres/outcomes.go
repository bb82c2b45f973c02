package postgres

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// CommandRef names a command or a batch.
type CommandRef struct{ Workspace, ID uuid.UUID }

// CommandOutcomes gives what came of commands and batches, as it was encoded, of
// those that are decided. Outcomes are kept for 24 hours.
func (db *DB) CommandOutcomes(ctx context.Context, refs []CommandRef) (map[CommandRef][]byte, error) {
	workspaces, ids := make([]uuid.UUID, len(refs)), make([]uuid.UUID, len(refs))
	for i, r := range refs {
		workspaces[i], ids[i] = r.Workspace, r.ID
	}
	rows, err := db.pool.Query(ctx, `SELECT workspace_id, command_id, outcome FROM command_outcomes
		JOIN unnest($1::uuid[], $2::uuid[]) AS wanted (workspace_id, command_id) USING (workspace_id, command_id)`, workspaces, ids)
	if err != nil {
		return nil, classify(fmt.Errorf("reading outcomes: %w", err))
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
		return nil, classify(fmt.Errorf("reading outcomes: %w", err))
	}
	return outcomes, nil
}
