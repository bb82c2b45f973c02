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
	// keptEntries is how many commands that stand are kept to be undone, of each actor: ten
	// times the depth of the stacks, so that going back a whole stack uncovers another.
	keptEntries = 1_000
	// pruneBatch is how many entries one statement looks at.
	pruneBatch = 2_000
)

// keptBounds gives of actors from which command on those that stand are kept, and the newest.
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

// PruneEntries deletes some of the entries of undo stacks after a sequence that no UNDO and
// no REDO can be about any more, reports how many, and returns where to go on; 0: nowhere.
// Those are in no undo stack, however many commands are undone, up to keptEntries; or they
// were undone, and newer commands have cleared them from the redo stack. Each actor's newest
// stays, since it was not undone before itself: it says what is cleared.
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
		var gone []int64
		for _, e := range page {
			// What is in the stacks of the workspace is in the actor's.
			own := bounds[e.Actor]
			if e.CancelledBy == 0 && e.Sequence < own.from || e.CancelledBy > 0 && e.CancelledBy < own.newest {
				gone = append(gone, int64(e.Sequence))
			}
		}
		tag, err := tx.Exec(ctx, deleteEntries, workspace, gone)
		pruned = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("pruning undo stacks: %w", err)
	}
	return pruned, next, nil
}

// keptBound is from which command on an actor's that stand are kept, and its newest.
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

// LongGraphs returns some of the workspaces after one that have more commands than are kept
// to be undone.
func (db *Store) LongGraphs(ctx context.Context, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := db.pool.Query(ctx, `SELECT workspace_id FROM graph_heads WHERE workspace_id > $1 AND sequence > $2
		ORDER BY workspace_id LIMIT $3`, after, keptEntries, limit)
	if err != nil {
		return nil, postgres.Classify(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return list, postgres.Classify(err)
}
