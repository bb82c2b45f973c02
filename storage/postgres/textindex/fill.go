package textindex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/postgres"
)

// LexicalStatus is the state of the text index of a workspace.
type LexicalStatus struct {
	Nodes     int64     // nodes in the index
	Sequence  int64     // the index contains every change up to it
	Head      int64     // the newest change of the graph
	Filling   bool      // the index is being rebuilt from the nodes
	UpdatedAt time.Time // last write; zero: never
}

// LexicalStatus reads the state of the text index of a workspace.
func (db *Store) LexicalStatus(ctx context.Context, workspace uuid.UUID) (LexicalStatus, error) {
	var s LexicalStatus
	var updatedAt *time.Time
	err := db.pool.QueryRow(
		ctx,
		`SELECT coalesce(l.nodes, 0), coalesce(l.sequence, 0), coalesce(h.sequence, 0), coalesce(l.filling, false),
			l.updated_at
		FROM (SELECT $1::uuid AS id) w LEFT JOIN lexical_workspaces l ON l.workspace_id = w.id LEFT JOIN graph_heads h
		ON h.workspace_id = w.id`,
		workspace,
	).Scan(&s.Nodes, &s.Sequence, &s.Head, &s.Filling, &updatedAt)
	if err != nil {
		return LexicalStatus{}, postgres.Classify(fmt.Errorf("reading how far the text lane is: %w", err))
	}
	if updatedAt != nil {
		s.UpdatedAt = updatedAt.UTC()
	}
	return s, nil
}

// recordProgress records which changes are in the text index. If changes are missing, the log has
// lost them, and the index of the workspace is rebuilt.
func (p *lexicalBatch) recordProgress(ctx context.Context, work []LexicalWork) error {
	for _, w := range work {
		if len(w.Sequences) == 0 || p.deleted[w.Workspace] {
			continue
		}
		if err := p.recordWorkspaceProgress(ctx, w); err != nil {
			return fmt.Errorf("noting how far the text lane is: %w", err)
		}
	}
	return nil
}

func (p *lexicalBatch) recordWorkspaceProgress(ctx context.Context, w LexicalWork) error {
	var sequence, target int64
	var filling bool
	err := p.tx.QueryRow(
		ctx, `SELECT sequence, filling, fill_target FROM lexical_workspaces WHERE workspace_id = $1`, w.Workspace,
	).
		Scan(&sequence, &filling, &target)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	reached := sequence
	if filling {
		reached = max(sequence, target)
	}
	before := reached
	for _, s := range w.Sequences {
		switch {
		case s == reached+1:
			reached = s
		case s > reached:
			p.done.Gaps++
			return p.startFill(ctx, w.Workspace)
		}
	}
	if reached == before {
		return nil
	}
	_, err = p.tx.Exec(ctx, `INSERT INTO lexical_workspaces AS l (workspace_id, sequence, version) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id) DO UPDATE SET updated_at = now(),
			sequence = CASE WHEN l.filling THEN l.sequence ELSE excluded.sequence END,
			fill_target = CASE WHEN l.filling THEN excluded.sequence ELSE l.fill_target END`,
		w.Workspace, reached, lexical.Version)
	return err
}

// startFill records that the index of a workspace is rebuilt from its first node. After that it
// contains every change up to the newest one of now.
func (p *lexicalBatch) startFill(ctx context.Context, workspace uuid.UUID) error {
	_, err := p.tx.Exec(ctx, `INSERT INTO lexical_workspaces AS l (workspace_id, version, filling, fill_target)
		VALUES ($1, $2, true, coalesce((SELECT sequence FROM graph_heads WHERE workspace_id = $1), 0))
		ON CONFLICT (workspace_id) DO UPDATE
		SET version = excluded.version, filling = true, fill_target = excluded.fill_target, filled_to = NULL,
		updated_at = now()`,
		workspace, lexical.Version)
	return err
}

// UnfilledLexical returns at most limit workspaces whose text index must be built from their nodes:
// those without one, with one of another version of the analysis, with one that is being built, and
// with one that has lagged behind the published changes for longer than behind.
func (db *Store) UnfilledLexical(ctx context.Context, behind time.Duration, limit int) ([]uuid.UUID, error) {
	rows, err := db.pool.Query(ctx, `SELECT w.id FROM workspaces w JOIN graph_heads h ON h.workspace_id = w.id
		LEFT JOIN lexical_workspaces l ON l.workspace_id = w.id LEFT JOIN graph_published p ON p.workspace_id = w.id
		WHERE w.deleted_at IS NULL AND h.sequence > 0 AND (l.workspace_id IS NULL OR l.filling OR l.version <> $1
			OR l.sequence < p.sequence AND l.updated_at < now() - make_interval(secs => $2))
		ORDER BY w.id LIMIT $3`, lexical.Version, behind.Seconds(), limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing what the text lane lacks: %w", err))
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return ids, postgres.Classify(err)
}

// FillLexical starts or continues to build the text index of a workspace from its nodes, with one
// transaction. complete reports that the index is complete.
func (db *Store) FillLexical(ctx context.Context, workspace uuid.UUID) (done LexicalDone, complete bool, err error) {
	err = db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		p := db.newBatch(tx)
		err := p.lock(ctx, []uuid.UUID{workspace})
		if err == nil && !p.deleted[workspace] {
			complete, err = p.fill(ctx, workspace)
		} else {
			complete = true
		}
		done = p.done
		return err
	})
	if err != nil {
		return LexicalDone{}, false, postgres.Classify(fmt.Errorf("filling the text lane: %w", err))
	}
	return done, complete, nil
}

func (p *lexicalBatch) fill(ctx context.Context, workspace uuid.UUID) (complete bool, err error) {
	var filledTo *uuid.UUID
	var version int
	var filling bool
	err = p.tx.QueryRow(
		ctx, `SELECT filled_to, version, filling FROM lexical_workspaces WHERE workspace_id = $1`, workspace,
	).Scan(&filledTo, &version, &filling)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("reading how far it is filled: %w", err)
	}
	if !filling || version != lexical.Version {
		filledTo = nil
		if err := p.startFill(ctx, workspace); err != nil {
			return false, fmt.Errorf("beginning to fill: %w", err)
		}
	}
	rows, err := p.tx.Query(
		ctx, `SELECT id FROM nodes WHERE workspace_id = $1 AND ($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $3`,
		pgx.QueryExecModeCacheDescribe, workspace, filledTo, maxBatchNodes,
	)
	if err != nil {
		return false, fmt.Errorf("reading which nodes there are: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return false, fmt.Errorf("reading which nodes there are: %w", err)
	}
	var nodes postgres.IDList
	nodes.Add(workspace, ids, nil)
	applied, err := p.apply(ctx, nodes)
	if err != nil {
		return false, err
	}
	if complete = applied == len(ids) && applied < maxBatchNodes; complete {
		_, err = p.tx.Exec(
			ctx,
			`UPDATE lexical_workspaces SET filling = false, filled_to = NULL, sequence = greatest(sequence, fill_target),
				updated_at = now()
			WHERE workspace_id = $1`, workspace,
		)
	} else {
		_, err = p.tx.Exec(
			ctx, `UPDATE lexical_workspaces SET filled_to = $2, updated_at = now() WHERE workspace_id = $1`, workspace,
			ids[applied-1],
		)
	}
	if err != nil {
		return false, fmt.Errorf("noting how far it is filled: %w", err)
	}
	return complete, nil
}
