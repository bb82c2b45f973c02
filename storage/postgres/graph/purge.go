package graphstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// voidBatch is the number of changes whose undo entries one transaction voids. Commands
	// of the workspace wait for that transaction.
	voidBatch = 1_000
	// redactBatch is the number of changes that one transaction rewrites. A change may have a
	// megabyte.
	redactBatch = 50
	// outcomeBatch is the number of outcomes of commands that one transaction reads.
	// maxOutcomeAge is an upper bound of the age of stored outcomes, which are kept for a day.
	outcomeBatch  = 1_000
	maxOutcomeAge = 48 * time.Hour
	// markBatch is the number of deleted nodes that one statement examines.
	markBatch = 2_000
)

// Purge is the state of the removal of a deleted node's content.
type Purge int16

// Values of the column purge of table nodes.
const (
	PurgeNone      Purge = iota // the content is kept
	PurgeRequested              // the removal is requested
	PurgeDone                   // the content is removed
)

// GraphNodeID identifies a node of a workspace.
type GraphNodeID struct{ Workspace, Node uuid.UUID }

// RequestPurge requests the removal of a deleted node's content, which PurgeNode does, and
// returns its state. The error is NotFound if there never was such a node, and Conflict if
// the node is not deleted.
func (db *Store) RequestPurge(ctx context.Context, id GraphNodeID) (purge Purge, err error) {
	var deleted bool
	err = db.pool.QueryRow(ctx, `WITH asked AS (
			UPDATE nodes SET purge = 1 WHERE workspace_id = $1 AND id = $2 AND deleted AND purge = 0 RETURNING purge)
		SELECT n.deleted, COALESCE((SELECT purge FROM asked), n.purge) FROM nodes n WHERE n.workspace_id = $1 AND n.id = $2`,
		id.Workspace, id.Node).Scan(&deleted, &purge)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, fault.New(fault.NotFound, "Node not found")
	case err != nil:
		return 0, postgres.Classify(fmt.Errorf("asking for a node's purge: %w", err))
	case !deleted:
		return 0, fault.New(fault.Conflict, "The node is not deleted: delete it first").With("reason", "node_stands")
	}
	return purge, nil
}

const markDeleted = `WITH page AS (
		SELECT workspace_id, id, COALESCE(NULLIF(deleted_by, 0), changed_by) AS deleted_by FROM nodes
		WHERE deleted AND purge = 0 AND (workspace_id, id) > ($1, $2) ORDER BY workspace_id, id LIMIT $4),
	marked AS (
		UPDATE nodes n SET purge = 1 FROM page s JOIN journal j ON j.workspace_id = s.workspace_id
		AND j.sequence = s.deleted_by
		WHERE n.workspace_id = s.workspace_id AND n.id = s.id AND n.deleted AND n.purge = 0 AND j.at < $3 RETURNING 1)
	SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM marked), l.workspace_id, l.id
	FROM (SELECT workspace_id, id FROM page ORDER BY workspace_id DESC, id DESC LIMIT 1) l`

// MarkDeletedNodes examines one page of deleted nodes after one and requests the purge of
// those deleted before a time. It returns the last node examined, or nil if there are no more,
// and the number of nodes marked.
func (db *Store) MarkDeletedNodes(
	ctx context.Context, after GraphNodeID, before time.Time,
) (last *GraphNodeID, marked int64, err error) {
	pageEnd := GraphNodeID{}
	var seen int
	err = db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(
			ctx, markDeleted, after.Workspace, after.Node, before, markBatch,
		).Scan(&seen, &marked, &pageEnd.Workspace, &pageEnd.Node)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("asking for the purge of deleted nodes: %w", err)
	case seen < markBatch:
		return nil, marked, nil
	}
	return &pageEnd, marked, nil
}

// PurgingNodes returns at most limit nodes after one whose purge is requested.
func (db *Store) PurgingNodes(ctx context.Context, after GraphNodeID, limit int) ([]GraphNodeID, error) {
	rows, err := db.pool.Query(ctx, `SELECT workspace_id, id FROM nodes WHERE purge = 1 AND (workspace_id, id) > ($1, $2)
		ORDER BY workspace_id, id LIMIT $3`, after.Workspace, after.Node, limit)
	if err != nil {
		return nil, postgres.Classify(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[GraphNodeID])
	return list, postgres.Classify(err)
}

// PurgeNode removes the content of a deleted node: name, description and properties, and the
// properties of its edges, from the tables of the graph, the journal and the outcomes of
// commands. The commands that touched the node can no longer be undone or redone, because
// that would require the removed content. A node that was restored is not changed. PurgeNode
// is idempotent: a call that was interrupted can be repeated.
func (db *Store) PurgeNode(ctx context.Context, id GraphNodeID) error {
	deleted, err := db.voidEntries(ctx, id)
	if err != nil || !deleted {
		return err
	}
	var newest time.Time
	for after, n := int64(0), redactBatch; n == redactBatch; {
		if after, n, err = db.redactChanges(ctx, id, after, &newest); err != nil {
			return fmt.Errorf("purging a node: %w", err)
		}
	}
	if time.Since(newest) < maxOutcomeAge {
		if err := db.redactOutcomes(ctx, id); err != nil {
			return fmt.Errorf("purging a node: %w", err)
		}
	}
	_, err = db.pool.Exec(
		ctx, `UPDATE nodes SET purge = 2 WHERE workspace_id = $1 AND id = $2 AND purge = 1`, id.Workspace, id.Node,
	)
	return postgres.Classify(err)
}

// voidEntries removes the commands that touched the node from the undo stacks and clears the
// node's row. It returns false if the node is not deleted, because one of the commands was
// undone first.
func (db *Store) voidEntries(ctx context.Context, id GraphNodeID) (deleted bool, err error) {
	for after, more := int64(0), true; more; {
		err := db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
			if deleted, err = lockDeleted(ctx, tx, id); err != nil || !deleted {
				more = false
				return err
			}
			var n int
			if after, n, err = voidPage(ctx, tx, id, after); err != nil {
				return err
			}
			if more = n == voidBatch; more {
				return nil
			}
			// In the transaction of the last page, so that no command restores the node in between.
			_, err = tx.Exec(ctx, `UPDATE nodes SET name = $3, description = NULL, properties = '{}', stamps = NULL
				WHERE workspace_id = $1 AND id = $2`, id.Workspace, id.Node, graphrecord.PurgedName)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("voiding the commands of a node: %w", err)
		}
	}
	return deleted, nil
}

// lockDeleted locks the workspace's head, so that no command is decided, and reports whether
// the node is deleted. If it is not, lockDeleted cancels its purge.
func lockDeleted(ctx context.Context, tx pgx.Tx, id GraphNodeID) (deleted bool, err error) {
	if _, err = tx.Exec(ctx, `SELECT FROM graph_heads WHERE workspace_id = $1 FOR UPDATE`, id.Workspace); err != nil {
		return false, err
	}
	err = tx.QueryRow(
		ctx, `SELECT deleted FROM nodes WHERE workspace_id = $1 AND id = $2`, id.Workspace, id.Node,
	).Scan(&deleted)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // the workspace was erased
		return false, nil
	case err == nil && !deleted:
		_, err = tx.Exec(ctx, `UPDATE nodes SET purge = 0 WHERE workspace_id = $1 AND id = $2`, id.Workspace, id.Node)
	}
	return deleted, err
}

// voidPage voids the undo entries of the node's next changes: it sets cancelled_by to the
// entry's own sequence. Such an entry is neither in effect nor undone after the newest command,
// so it is in no stack.
func voidPage(ctx context.Context, tx pgx.Tx, id GraphNodeID, after int64) (last int64, n int, err error) {
	err = tx.QueryRow(ctx, `WITH page AS (
			SELECT sequence FROM journal_nodes WHERE workspace_id = $1 AND node_id = $2 AND sequence > $3 ORDER BY sequence
			LIMIT $4),
		void AS (
			UPDATE undo_entries u SET cancelled_by = u.sequence FROM page
			WHERE u.workspace_id = $1 AND u.sequence = page.sequence AND u.cancelled_by <> u.sequence)
		SELECT COALESCE(max(sequence), 0), count(*) FROM page`, id.Workspace, id.Node, after, voidBatch).Scan(&last, &n)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE graph_heads SET stacks_void = sequence WHERE workspace_id = $1`, id.Workspace)
	}
	return last, n, err
}

const selectNodeChanges = `SELECT j.sequence, j.at, j.change FROM journal_nodes n
	JOIN journal j ON j.workspace_id = n.workspace_id AND j.sequence = n.sequence
	WHERE n.workspace_id = $1 AND n.node_id = $2 AND n.sequence > $3 ORDER BY n.sequence LIMIT $4`

// redactChanges removes the node's content from its next changes, and the content of the edges
// in them. It returns the sequence of the last change and the number of changes, and sets
// changedAt to the time of the last one.
func (db *Store) redactChanges(
	ctx context.Context, id GraphNodeID, after int64, changedAt *time.Time,
) (last int64, n int, err error) {
	err = db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		last, n = after, 0
		var sequences []int64
		var changes [][]byte
		var edges []uuid.UUID
		rows, err := tx.Query(ctx, selectNodeChanges, id.Workspace, id.Node, after, redactBatch)
		if err != nil {
			return err
		}
		var encoded []byte
		_, err = pgx.ForEachRow(rows, []any{&last, changedAt, &encoded}, func() error {
			n++
			change, changeEdges, err := redact(encoded, id.Node)
			if err != nil {
				return fmt.Errorf("change %d: %w", last, err)
			}
			sequences, changes, edges = append(sequences, last), append(changes, change), append(edges, changeEdges...)
			return nil
		})
		if err != nil || n == 0 {
			return err
		}
		b := &pgx.Batch{}
		b.Queue(`UPDATE journal j SET change = t.change FROM unnest($2::bigint[], $3::bytea[]) AS t (sequence, change)
			WHERE j.workspace_id = $1 AND j.sequence = t.sequence`, id.Workspace, sequences, changes)
		b.Queue(`UPDATE edges SET properties = '{}', stamps = NULL
			WHERE workspace_id = $1 AND id = ANY($2) AND deleted AND (source_id = $3 OR target_id = $3)`,
			id.Workspace, edges, id.Node)
		return tx.SendBatch(ctx, b).Close()
	})
	return last, n, err
}

// redactOutcomes removes the node's content from the stored outcomes of the workspace's
// commands. It reads all of them, because the outcome of a batch has the batch's id, which the
// journal does not contain.
func (db *Store) redactOutcomes(ctx context.Context, id GraphNodeID) error {
	for after, more := uuid.Nil, true; more; {
		err := db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
			var commands []uuid.UUID
			var outcomes [][]byte
			next, seen := after, 0
			rows, err := tx.Query(
				ctx, `SELECT command_id, CASE WHEN position($3 IN outcome) > 0 THEN outcome END FROM command_outcomes
				WHERE workspace_id = $1 AND command_id > $2 ORDER BY command_id LIMIT $4`,
				id.Workspace, after, id.Node[:], outcomeBatch,
			)
			if err != nil {
				return err
			}
			var outcome []byte
			_, err = pgx.ForEachRow(rows, []any{&next, &outcome}, func() error {
				if seen++; outcome == nil {
					return nil
				}
				redacted, err := redactOutcome(outcome, id.Node)
				commands, outcomes = append(commands, next), append(outcomes, redacted)
				return err
			})
			if err != nil {
				return err
			}
			_, err = tx.Exec(
				ctx,
				`UPDATE command_outcomes c SET outcome = t.outcome FROM unnest($2::uuid[], $3::bytea[]) AS t (command_id, outcome)
				WHERE c.workspace_id = $1 AND c.command_id = t.command_id`, id.Workspace, commands, outcomes,
			)
			after, more = next, seen == outcomeBatch
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func redact(encoded []byte, node uuid.UUID) (change []byte, edges []uuid.UUID, err error) {
	var c eventsv1.Change
	if err := proto.Unmarshal(encoded, &c); err != nil {
		return nil, nil, fmt.Errorf("decoding: %w", err)
	}
	edges = graphrecord.RedactChange(&c, node)
	change, err = proto.Marshal(&c)
	return change, edges, err
}

func redactOutcome(encoded []byte, node uuid.UUID) ([]byte, error) {
	o, err := graphrecord.DecodeOutcome(encoded)
	if err != nil {
		return nil, err
	}
	graphrecord.RedactOutcome(o, node)
	return graphrecord.EncodeOutcome(o)
}
