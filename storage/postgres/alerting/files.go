package alerting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// Limits of a workspace.
const (
	MaxFiles = 100
	MaxRules = 1000 // in all files
)

// RuleFile is a file of rules.
type RuleFile struct {
	Name      string
	Content   string // YAML, as it was sent
	Groups    int
	Rules     int
	Version   int64 // goes up with each change of any file
	CreatedAt time.Time
	UpdatedAt time.Time
}

const (
	fileColumns   = "name, content" + fileState
	listedColumns = "name, ''" + fileState
	fileState     = ", groups, rules, version, created_at, updated_at"
)

func scanFile(row pgx.CollectableRow) (f RuleFile, err error) {
	err = row.Scan(&f.Name, &f.Content, &f.Groups, &f.Rules, &f.Version, &f.CreatedAt, &f.UpdatedAt)
	f.CreatedAt, f.UpdatedAt = f.CreatedAt.UTC(), f.UpdatedAt.UTC()
	return f, err
}

// RuleFiles returns the files of a workspace in the order of their names.
func (db *Store) RuleFiles(ctx context.Context, workspace uuid.UUID) ([]RuleFile, error) {
	return db.files(ctx, workspace, fileColumns)
}

// ListRuleFiles is RuleFiles without the contents, which may be 25 MB.
func (db *Store) ListRuleFiles(ctx context.Context, workspace uuid.UUID) ([]RuleFile, error) {
	return db.files(ctx, workspace, listedColumns)
}

func (db *Store) files(ctx context.Context, workspace uuid.UUID, columns string) ([]RuleFile, error) {
	rows, err := db.pool.Query(ctx, `SELECT `+columns+` FROM rule_files WHERE workspace_id = $1 ORDER BY name`,
		workspace)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading files of rules: %w", err))
	}
	files, err := pgx.CollectRows(rows, scanFile)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading files of rules: %w", err))
	}
	return files, nil
}

// RuleFile returns one file. It returns a NotFound error if there is none with the name.
func (db *Store) RuleFile(ctx context.Context, workspace uuid.UUID, name string) (RuleFile, error) {
	file, err := readFile(ctx, db.pool, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return RuleFile{}, errNoFile()
	}
	if err != nil {
		return RuleFile{}, postgres.Classify(fmt.Errorf("reading a file of rules: %w", err))
	}
	return file, nil
}

// readFile reads one file. It returns pgx.ErrNoRows if there is none with the name.
func readFile(ctx context.Context, q postgres.Querier, workspace uuid.UUID, name string) (RuleFile, error) {
	rows, err := q.Query(ctx, `SELECT `+fileColumns+` FROM rule_files WHERE workspace_id = $1 AND name = $2`,
		workspace, name)
	if err != nil {
		return RuleFile{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanFile)
}

func errNoFile() error { return fault.New(fault.NotFound, "No such file of rules") }

// PutRuleFile creates or replaces a file. It returns the file as stored, and whether it was created. A file with the
// same content stays unchanged. check may refuse the change of the current file, which is nil if there is none.
func (db *Store) PutRuleFile(
	ctx context.Context, workspace uuid.UUID, f *RuleFile, check func(current *RuleFile) error,
) (stored RuleFile, created bool, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		exists, err := access.LockWorkspace(ctx, tx, workspace)
		if err != nil {
			return err
		}
		if !exists {
			return errNoFile()
		}
		if err := checkFile(ctx, tx, workspace, f.Name, check); err != nil {
			return err
		}
		var files, rules int
		err = tx.QueryRow(ctx, `SELECT count(*), COALESCE(sum(rules), 0) FROM rule_files
			WHERE workspace_id = $1 AND name <> $2`, workspace, f.Name).Scan(&files, &rules)
		switch {
		case err != nil:
			return fmt.Errorf("counting rules: %w", err)
		case files >= MaxFiles:
			return fault.Newf(fault.Invalid, "A workspace may have at most %d files of rules", MaxFiles).With("limit", MaxFiles)
		case rules+f.Rules > MaxRules:
			return fault.Newf(fault.Invalid, "A workspace may have at most %d rules; the other files have %d", MaxRules, rules).
				With("limit", MaxRules)
		}
		rows, err := tx.Query(ctx, `INSERT INTO rule_files AS f (workspace_id, name, content, groups, rules)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace_id, name) DO UPDATE
			SET content = excluded.content, groups = excluded.groups, rules = excluded.rules, updated_at = now(),
				version = nextval('rule_file_versions') WHERE f.content <> excluded.content
			RETURNING `+fileColumns, workspace, f.Name, f.Content, f.Groups, f.Rules)
		if err != nil {
			return fmt.Errorf("storing a file of rules: %w", err)
		}
		stored, err = pgx.CollectExactlyOneRow(rows, scanFile)
		if created = err == nil && stored.CreatedAt.Equal(stored.UpdatedAt); errors.Is(err, pgx.ErrNoRows) {
			stored, err = readFile(ctx, tx, workspace, f.Name)
		}
		if err != nil {
			return fmt.Errorf("storing a file of rules: %w", err)
		}
		return nil
	})
	return stored, created, err
}

// checkFile calls check with a file, which stays as it is until the transaction ends, or with nil if there is none.
func checkFile(
	ctx context.Context, tx pgx.Tx, workspace uuid.UUID, name string, check func(current *RuleFile) error,
) error {
	rows, err := tx.Query(ctx, `SELECT `+fileColumns+` FROM rule_files
		WHERE workspace_id = $1 AND name = $2 FOR UPDATE`, workspace, name)
	if err != nil {
		return fmt.Errorf("reading a file of rules: %w", err)
	}
	current, err := pgx.CollectExactlyOneRow(rows, scanFile)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return check(nil)
	case err != nil:
		return fmt.Errorf("reading a file of rules: %w", err)
	}
	return check(&current)
}

// DeleteRuleFile deletes a file. It returns a NotFound error if there is none with the name.
func (db *Store) DeleteRuleFile(ctx context.Context, workspace uuid.UUID, name string) error {
	tag, err := db.pool.Exec(ctx, `DELETE FROM rule_files WHERE workspace_id = $1 AND name = $2`, workspace, name)
	if err != nil {
		return postgres.Classify(fmt.Errorf("deleting a file of rules: %w", err))
	}
	if tag.RowsAffected() == 0 {
		return errNoFile()
	}
	return nil
}

// Revision identifies the state of the files of a workspace: it differs after each change.
type Revision struct {
	Version int64
	Files   int64
}

// RuleRevisions returns the revisions of all workspaces that have rules, or alerts or a state of former ones.
func (db *Store) RuleRevisions(ctx context.Context) (map[uuid.UUID]Revision, error) {
	rows, err := db.pool.Query(ctx, `SELECT w.id, COALESCE(max(f.version), 0), count(f.name)
		FROM (SELECT workspace_id AS id FROM rule_files UNION SELECT workspace_id FROM firing_alerts
			UNION SELECT workspace_id FROM rule_states) h
		JOIN workspaces w USING (id) LEFT JOIN rule_files f ON f.workspace_id = w.id
		WHERE w.deleted_at IS NULL GROUP BY w.id`)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the revisions of rules: %w", err))
	}
	revisions := map[uuid.UUID]Revision{}
	var workspace uuid.UUID
	var r Revision
	_, err = pgx.ForEachRow(rows, []any{&workspace, &r.Version, &r.Files}, func() error {
		revisions[workspace] = r
		return nil
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the revisions of rules: %w", err))
	}
	return revisions, nil
}
