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

// LexicalStatus is how far the text lane of a workspace is.
type LexicalStatus struct {
	Nodes     int64     // that it has
	Sequence  int64     // every change up to it is in it
	Head      int64     // the newest change of the graph
	Filling   bool      // it is being made again from the nodes
	UpdatedAt time.Time // when it was last written; zero: never
}

// LexicalStatus reads how far the text lane of a workspace is.
func (db *Store) LexicalStatus(ctx context.Context, workspace uuid.UUID) (LexicalStatus, error) {
	var s LexicalStatus
	var at *time.Time
	err := db.pool.QueryRow(
		ctx,
		`SELECT coalesce(l.nodes, 0), coalesce(l.sequence, 0), coalesce(h.sequence, 0), coalesce(l.filling, false),
			l.updated_at
		FROM (SELECT $1::uuid AS id) w LEFT JOIN lexical_workspaces l ON l.workspace_id = w.id LEFT JOIN graph_heads h
		ON h.workspace_id = w.id`,
		workspace,
	).Scan(&s.Nodes, &s.Sequence, &s.Head, &s.Filling, &at)
	if err != nil {
		return LexicalStatus{}, postgres.Classify(fmt.Errorf("reading how far the text lane is: %w", err))
	}
	if at != nil {
		s.UpdatedAt = at.UTC()
	}
	return s, nil
}

// note notes which changes are in the lane. Where some are missing, the log has lost
// them, and the workspace is filled again.
func (p *lexicalPortion) note(ctx context.Context, work []LexicalWork) error {
	for _, w := range work {
		if len(w.Sequences) == 0 || p.gone[w.Workspace] {
			continue
		}
		if err := p.noteOf(ctx, w); err != nil {
			return fmt.Errorf("noting how far the text lane is: %w", err)
		}
	}
	return nil
}

func (p *lexicalPortion) noteOf(ctx context.Context, w LexicalWork) error {
	var sequence, target int64
	var filling bool
	err := p.tx.QueryRow(
		ctx, `SELECT sequence, filling, fill_target FROM lexical_workspaces WHERE workspace_id = $1`, w.Workspace,
	).
		Scan(&sequence, &filling, &target)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	have := sequence
	if filling {
		have = max(sequence, target)
	}
	before := have
	for _, s := range w.Sequences {
		switch {
		case s == have+1:
			have = s
		case s > have:
			p.done.Gaps++
			return p.fillAnew(ctx, w.Workspace)
		}
	}
	if have == before {
		return nil
	}
	_, err = p.tx.Exec(ctx, `INSERT INTO lexical_workspaces AS l (workspace_id, sequence, version) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id) DO UPDATE SET updated_at = now(),
			sequence = CASE WHEN l.filling THEN l.sequence ELSE excluded.sequence END,
			fill_target = CASE WHEN l.filling THEN excluded.sequence ELSE l.fill_target END`,
		w.Workspace, have, lexical.Version)
	return err
}

// fillAnew has a workspace filled from its first node on. Every change up to the
// newest will be in it then.
func (p *lexicalPortion) fillAnew(ctx context.Context, workspace uuid.UUID) error {
	_, err := p.tx.Exec(ctx, `INSERT INTO lexical_workspaces AS l (workspace_id, version, filling, fill_target)
		VALUES ($1, $2, true, coalesce((SELECT sequence FROM graph_heads WHERE workspace_id = $1), 0))
		ON CONFLICT (workspace_id) DO UPDATE
		SET version = excluded.version, filling = true, fill_target = excluded.fill_target, filled_to = NULL,
		updated_at = now()`,
		workspace, lexical.Version)
	return err
}

// UnfilledLexical lists workspaces whose text lane has to be made from their nodes, at
// most limit: it was never made, or by an older analysis, or it is being made, or it
// has been behind what is published for longer than a time.
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

// FillLexical goes on making the text lane of a workspace from its nodes, by one
// transaction, or begins to. over says that it is whole.
func (db *Store) FillLexical(ctx context.Context, workspace uuid.UUID) (done LexicalDone, over bool, err error) {
	err = db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		p := db.newPortion(tx)
		err := p.lock(ctx, []uuid.UUID{workspace})
		if err == nil && !p.gone[workspace] {
			over, err = p.fill(ctx, workspace)
		} else {
			over = true
		}
		done = p.done
		return err
	})
	if err != nil {
		return LexicalDone{}, false, postgres.Classify(fmt.Errorf("filling the text lane: %w", err))
	}
	return done, over, nil
}

func (p *lexicalPortion) fill(ctx context.Context, workspace uuid.UUID) (over bool, err error) {
	var to *uuid.UUID
	var version int
	var filling bool
	err = p.tx.QueryRow(
		ctx, `SELECT filled_to, version, filling FROM lexical_workspaces WHERE workspace_id = $1`, workspace,
	).Scan(&to, &version, &filling)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("reading how far it is filled: %w", err)
	}
	if !filling || version != lexical.Version {
		to = nil
		if err := p.fillAnew(ctx, workspace); err != nil {
			return false, fmt.Errorf("beginning to fill: %w", err)
		}
	}
	rows, err := p.tx.Query(
		ctx, `SELECT id FROM nodes WHERE workspace_id = $1 AND ($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $3`,
		pgx.QueryExecModeCacheDescribe, workspace, to, lexicalNodes,
	)
	if err != nil {
		return false, fmt.Errorf("reading which nodes there are: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return false, fmt.Errorf("reading which nodes there are: %w", err)
	}
	var of postgres.IDList
	of.Add(workspace, ids, nil)
	taken, err := p.apply(ctx, of)
	if err != nil {
		return false, err
	}
	if over = taken == len(ids) && taken < lexicalNodes; over {
		_, err = p.tx.Exec(
			ctx,
			`UPDATE lexical_workspaces SET filling = false, filled_to = NULL, sequence = greatest(sequence, fill_target),
				updated_at = now()
			WHERE workspace_id = $1`, workspace,
		)
	} else {
		_, err = p.tx.Exec(
			ctx, `UPDATE lexical_workspaces SET filled_to = $2, updated_at = now() WHERE workspace_id = $1`, workspace,
			ids[taken-1],
		)
	}
	if err != nil {
		return false, fmt.Errorf("noting how far it is filled: %w", err)
	}
	return over, nil
}
