package textindex

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// IndexProgress reads the progress of an index with workspaces. Workspaces that are not in the index
// are left out of the result.
func (db *Store) IndexProgress(
	ctx context.Context, index uuid.UUID, workspaces []uuid.UUID,
) (map[uuid.UUID]IndexProgress, error) {
	rows, err := db.pool.Query(ctx, `SELECT workspace_id, sequence, built FROM embedding_progress
		WHERE index_id = $1 AND workspace_id = ANY ($2)`, index, workspaces)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading how far an index is: %w", err))
	}
	found := map[uuid.UUID]IndexProgress{}
	var id uuid.UUID
	var p IndexProgress
	_, err = pgx.ForEachRow(rows, []any{&id, &p.Sequence, &p.Built}, func() error {
		found[id] = p
		return nil
	})
	return found, postgres.Classify(err)
}

// WorkspaceLag is a workspace for which an index lags behind.
type WorkspaceLag struct {
	Workspace uuid.UUID
	Sequence  int64 // up to which the index is complete
}

// WorkspacesBehind returns at most limit workspaces with changes older than age that an index does
// not contain, and for which the index made no progress during age.
func (db *Store) WorkspacesBehind(
	ctx context.Context, index uuid.UUID, age time.Duration, limit int,
) ([]WorkspaceLag, error) {
	rows, err := db.pool.Query(ctx, `SELECT h.workspace_id, COALESCE(p.sequence, 0)
		FROM graph_heads h JOIN workspaces w ON w.id = h.workspace_id AND w.deleted_at IS NULL
		LEFT JOIN embedding_progress p ON p.index_id = $1 AND p.workspace_id = h.workspace_id
		WHERE h.sequence > COALESCE(p.sequence, 0) AND COALESCE(p.built, true)
			AND COALESCE(p.indexed_at <= now() - make_interval(secs => $2), true)
			AND EXISTS (SELECT FROM journal j WHERE j.workspace_id = h.workspace_id AND j.sequence = COALESCE(p.sequence, 0) + 1
				AND j.at <= now() - make_interval(secs => $2))
		ORDER BY h.workspace_id LIMIT $3`, index, age.Seconds(), limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("looking for what is not indexed: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l WorkspaceLag, err error) {
		return l, row.Scan(&l.Workspace, &l.Sequence)
	})
	return list, postgres.Classify(err)
}

// GraphSequence returns the sequence of a workspace's newest change, or 0 if there is none.
func (db *Store) GraphSequence(ctx context.Context, workspace uuid.UUID) (sequence int64, err error) {
	err = db.pool.QueryRow(
		ctx, `SELECT COALESCE((SELECT sequence FROM graph_heads WHERE workspace_id = $1), 0)`, workspace,
	).Scan(&sequence)
	return sequence, postgres.Classify(err)
}

// ChangedNode is a node, live or deleted, with the sequence of the last change that touched it.
type ChangedNode struct {
	ID        uuid.UUID
	ChangedBy int64
}

// ChangedNodes returns at most limit nodes, sorted by the sequence of the last change that touched
// them and by id, that come after the position after and were not touched by a change after the
// sequence to. A node that is touched concurrently is left out, so the remaining nodes never
// increase.
func (db *Store) ChangedNodes(
	ctx context.Context, workspace uuid.UUID, after ChangedNode, to int64, limit int,
) ([]ChangedNode, error) {
	rows, err := db.pool.Query(
		ctx, `SELECT id, changed_by FROM nodes WHERE workspace_id = $1 AND (changed_by, id) > ($2, $3) AND changed_by <= $4
		ORDER BY workspace_id, changed_by, id LIMIT $5`, workspace, after.ChangedBy, after.ID, to, limit,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("looking for nodes that changed: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n ChangedNode, err error) {
		return n, row.Scan(&n.ID, &n.ChangedBy)
	})
	return list, postgres.Classify(err)
}

// LiveNodes returns the ids of at most limit live nodes, sorted, that come after the id after
// (nil: from the first) and were created by a change up to the sequence to. The bound ensures that
// the remaining nodes do not increase while they are read.
func (db *Store) LiveNodes(
	ctx context.Context, workspace uuid.UUID, to int64, after *uuid.UUID, limit int,
) ([]uuid.UUID, error) {
	position, from := uuid.Nil, ">=" // a client may have chosen the lowest id
	if after != nil {
		position, from = *after, ">"
	}
	rows, err := db.pool.Query(
		ctx, `SELECT id FROM nodes WHERE workspace_id = $1 AND NOT deleted AND created_by <= $2 AND id `+from+` $3
		ORDER BY workspace_id, id LIMIT $4`, workspace, to, position, limit,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("looking for nodes to index: %w", err))
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return ids, postgres.Classify(err)
}

// WorkspaceBuild is a workspace that must be added to an index.
type WorkspaceBuild struct {
	Workspace uuid.UUID
	After     *uuid.UUID // the last node that was processed; nil: none
}

// NextToBuild returns the first workspace whose build is not complete in an index. found is false if
// there is none.
func (db *Store) NextToBuild(ctx context.Context, index uuid.UUID) (b WorkspaceBuild, found bool, err error) {
	err = db.pool.QueryRow(ctx, `SELECT h.workspace_id, p.after_node
		FROM graph_heads h JOIN workspaces w ON w.id = h.workspace_id AND w.deleted_at IS NULL
		LEFT JOIN embedding_progress p ON p.index_id = $1 AND p.workspace_id = h.workspace_id
		WHERE h.sequence > 0 AND NOT COALESCE(p.built, false)
		ORDER BY p.index_id IS NULL, h.workspace_id LIMIT 1`, index).Scan(&b.Workspace, &b.After)
	if isNoRows(err) {
		return b, false, nil
	}
	return b, err == nil, postgres.Classify(err)
}

// BeginBuild records that the build of a workspace in an index begins, unless it has begun already.
// It returns the sequence of the newest change when the build began. The build does not process
// later changes.
func (db *Store) BeginBuild(ctx context.Context, index, workspace uuid.UUID) (sequence int64, err error) {
	err = db.pool.QueryRow(ctx, `INSERT INTO embedding_progress AS p (index_id, workspace_id, sequence, built)
		SELECT $1, workspace_id, sequence, false FROM graph_heads WHERE workspace_id = $2
		ON CONFLICT (index_id, workspace_id) DO UPDATE SET sequence = p.sequence RETURNING sequence`,
		index, workspace).Scan(&sequence)
	if isNoRows(err) {
		return 0, nil // the workspace was erased
	}
	return sequence, postgres.Classify(err)
}

// ContinueBuild records the last node that the build of a workspace processed.
func (db *Store) ContinueBuild(ctx context.Context, index, workspace, after uuid.UUID) error {
	return db.changeIndex(
		ctx, `UPDATE embedding_progress SET after_node = $3 WHERE index_id = $1 AND workspace_id = $2 AND NOT built`, index,
		workspace, after,
	)
}

// EndBuild records that the build of a workspace is complete.
func (db *Store) EndBuild(ctx context.Context, index, workspace uuid.UUID) error {
	return db.changeIndex(
		ctx, `UPDATE embedding_progress SET built = true, after_node = NULL WHERE index_id = $1 AND workspace_id = $2`, index,
		workspace,
	)
}

// IndexTotals are the totals of an index over all workspaces.
type IndexTotals struct {
	Nodes   int64   // nodes in the index
	Vectors int64   // vectors in the index
	Pending int64   // live nodes that are not in the index
	Events  int64   // changes that are not in the index
	Seconds float64 // age of the oldest of these changes
}

// IndexTotals returns the size and the lag of an index over all workspaces.
func (db *Store) IndexTotals(ctx context.Context, index uuid.UUID) (t IndexTotals, err error) {
	err = db.pool.QueryRow(ctx, `WITH standing AS (
			SELECT w.id, COALESCE(h.sequence, 0) AS head, p.sequence AS at, COALESCE(p.nodes, 0) AS nodes,
			COALESCE(p.vectors, 0) AS vectors,
				COALESCE((SELECT sum(g.standing) FROM graph_totals g WHERE g.workspace_id = w.id AND g.kind = 1), 0) AS total
			FROM workspaces w LEFT JOIN graph_heads h ON h.workspace_id = w.id
			LEFT JOIN embedding_progress p ON p.index_id = $1 AND p.workspace_id = w.id WHERE w.deleted_at IS NULL)
		SELECT COALESCE(sum(nodes), 0)::bigint, COALESCE(sum(vectors), 0)::bigint,
		COALESCE(sum(GREATEST(total - nodes, 0)), 0)::bigint,
			COALESCE(sum(GREATEST(head - COALESCE(at, 0), 0)), 0)::bigint,
			COALESCE(max((SELECT GREATEST(EXTRACT(EPOCH FROM now() - j.at), 0) FROM journal j
				WHERE j.workspace_id = s.id AND j.sequence = COALESCE(s.at, 0) + 1 AND s.head > COALESCE(s.at, 0))), 0)::float8
		FROM standing s`, index).Scan(&t.Nodes, &t.Vectors, &t.Pending, &t.Events, &t.Seconds)
	if err != nil {
		return t, postgres.Classify(fmt.Errorf("summing an index up: %w", err))
	}
	return t, nil
}

// IndexedVectors returns the number of vectors of a workspace in all indexes.
func (db *Store) IndexedVectors(ctx context.Context, workspace uuid.UUID) (vectors int64, err error) {
	err = db.pool.QueryRow(
		ctx, `SELECT COALESCE(sum(vectors), 0)::bigint FROM embedding_progress WHERE workspace_id = $1`, workspace,
	).Scan(&vectors)
	return vectors, postgres.Classify(err)
}

// Forget records that the index contains nothing of a workspace.
func (w *IndexWriter) Forget(ctx context.Context, workspace uuid.UUID) error {
	err := w.inTx(ctx, func(tx pgx.Tx) error {
		for _, table := range []string{"embedding_nodes", "embedding_progress"} {
			_, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE index_id = $1 AND workspace_id = $2`, w.index, workspace)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return postgres.Classify(fmt.Errorf("forgetting what is indexed of a workspace: %w", err))
	}
	return nil
}

// Vectors returns the number of vectors of a workspace in the index.
func (w *IndexWriter) Vectors(ctx context.Context, workspace uuid.UUID) (vectors int64, err error) {
	err = w.pool.QueryRow(
		ctx, `SELECT COALESCE(sum(vectors), 0)::bigint FROM embedding_progress WHERE index_id = $1 AND workspace_id = $2`,
		w.index, workspace,
	).Scan(&vectors)
	return vectors, postgres.Classify(err)
}

// Nodes reads what the index contains of a workspace: at most limit nodes, by id, after the id after
// (nil: from the first).
func (w *IndexWriter) Nodes(
	ctx context.Context, workspace uuid.UUID, after *uuid.UUID, limit int,
) ([]IndexedNode, error) {
	rows, err := w.pool.Query(
		ctx, `SELECT workspace_id, node_id, entity_type, text_hash, chunks, vectors, intent FROM embedding_nodes
		WHERE index_id = $1 AND workspace_id = $2 AND ($3::uuid IS NULL OR node_id > $3) ORDER BY node_id LIMIT $4`,
		w.index, workspace, after, limit,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading what is indexed of a workspace: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanIndexedNode)
	return list, postgres.Classify(err)
}

// WorkspaceIDs returns at most limit workspaces, including deleted ones, by id, after the id after
// (nil: from the first).
func (db *Store) WorkspaceIDs(ctx context.Context, after *uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := db.pool.Query(
		ctx, `SELECT id FROM workspaces WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2`, after, limit,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing workspaces: %w", err))
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return ids, postgres.Classify(err)
}
