package graphstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// keptEntries is the number of commands in effect that are kept for undo, per actor. It
	// is ten times the depth of the stacks, so that the stack is full again after all of its
	// commands are undone.
	keptEntries = 1_000
	// pruneBatch is the number of entries that one statement examines.
	pruneBatch = 2_000
)

// keptBounds selects for each actor the sequence of the oldest command in effect that is kept,
// and the sequence of the newest command.
const keptBounds = `SELECT t.actor_id,
		COALESCE((SELECT sequence FROM undo_entries a WHERE a.workspace_id = $1 AND a.actor_id = t.actor_id
		AND a.cancelled_by = 0
			ORDER BY a.sequence DESC OFFSET $3 - 1 LIMIT 1), 0),
		GREATEST(
			(SELECT max(sequence) FROM undo_entries a WHERE a.workspace_id = $1 AND a.actor_id = t.actor_id
			AND a.cancelled_by = 0),
			(SELECT max(sequence) FROM undo_entries a WHERE a.workspace_id = $1 AND a.actor_id = t.actor_id
			AND a.cancelled_by > 0))
	FROM unnest($2::uuid[]) AS t (actor_id)`

const (
	selectEntries = `SELECT sequence, actor_id, cancelled_by FROM undo_entries
		WHERE workspace_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`
	deleteEntries = `DELETE FROM undo_entries WHERE workspace_id = $1 AND sequence = ANY($2)`
)

// PruneEntries deletes undo entries that no UNDO and no REDO can apply to, from one page of
// entries after a sequence. It returns the number deleted, and the sequence after which the
// next page begins, or 0 if there is none.
//
// An entry is deleted if its command is in effect and at least keptEntries newer ones of the
// actor are, or if it was undone and newer commands have cleared it from the redo stack. Each
// actor's newest entry is kept, because it determines what is cleared.
func (db *Store) PruneEntries(ctx context.Context, workspace uuid.UUID, after int64) (pruned, next int64, err error) {
	return db.pruneEntries(ctx, workspace, after, keptEntries)
}

func (db *Store) pruneEntries(
	ctx context.Context, workspace uuid.UUID, after int64, kept int,
) (pruned, next int64, err error) {
	err = db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectEntries, workspace, after, pruneBatch)
		if err != nil {
			return err
		}
		page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e graph.Entry, err error) {
			return e, row.Scan(&e.Sequence, &e.Actor, &e.CancelledBy)
		})
		if err != nil || len(page) == 0 {
			return err
		}
		if len(page) == pruneBatch {
			next = int64(page[len(page)-1].Sequence)
		}
		bounds, err := readKeptBounds(ctx, tx, workspace, page, kept)
		if err != nil {
			return err
		}
		var expired []int64
		for _, e := range page {
			// The stacks of the workspace contain only entries that are in their actors' stacks.
			bound := bounds[e.Actor]
			if e.CancelledBy == 0 && e.Sequence < bound.from || e.CancelledBy > 0 && e.CancelledBy < bound.newest {
				expired = append(expired, int64(e.Sequence))
			}
		}
		tag, err := tx.Exec(ctx, deleteEntries, workspace, expired)
		pruned = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("pruning undo stacks: %w", err)
	}
	return pruned, next, nil
}

// keptBound has the sequences of an actor's oldest command in effect that is kept, and of its
// newest command.
type keptBound struct{ from, newest graph.Sequence }

func readKeptBounds(
	ctx context.Context, tx pgx.Tx, workspace uuid.UUID, page []graph.Entry, kept int,
) (map[uuid.UUID]keptBound, error) {
	bounds := map[uuid.UUID]keptBound{}
	for _, e := range page {
		bounds[e.Actor] = keptBound{}
	}
	rows, err := tx.Query(ctx, keptBounds, workspace, slices.Collect(maps.Keys(bounds)), kept)
	if err != nil {
		return nil, err
	}
	var actor uuid.UUID
	var b keptBound
	_, err = pgx.ForEachRow(rows, []any{&actor, &b.from, &b.newest}, func() error {
		bounds[actor] = b
		return nil
	})
	return bounds, err
}

// PrunableGraphs returns at most limit workspaces after one, by id, that have more commands than
// are kept for undo.
func (db *Store) PrunableGraphs(ctx context.Context, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := db.pool.Query(ctx, `SELECT workspace_id FROM graph_heads WHERE workspace_id > $1 AND sequence > $2
		ORDER BY workspace_id LIMIT $3`, after, keptEntries, limit)
	if err != nil {
		return nil, postgres.Classify(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return list, postgres.Classify(err)
}
