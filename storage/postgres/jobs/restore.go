package jobs

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/migration"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// DeadLetterMove maps the position of a dead letter in a backup to its current position.
type DeadLetterMove struct {
	OldTopic, Topic         [16]byte
	OldPartition, Partition int32
	OldOffset, Offset       int64
}

// BeginRestore migrates an empty database to the schema of a backup and marks it until
// EndRestore. It returns an error if the database is not empty, or if the schema of the
// backup is newer than this version.
func (db *Store) BeginRestore(ctx context.Context, schema int64) error {
	if err := db.root.CheckNoRestore(ctx); err != nil {
		return err
	}
	tables, err := readTables(ctx, db.pool)
	if err != nil {
		return postgres.Classify(fmt.Errorf("checking that the database is empty: %w", err))
	}
	for _, t := range tables {
		var rows bool
		if t.Name == "goose_db_version" || t.Name == "auth_revision" { // the migrations write there
			continue
		}
		if err := db.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+t.name()+`)`).Scan(&rows); err != nil {
			return postgres.Classify(fmt.Errorf("checking that the database is empty: %w", err))
		}
		if rows {
			return fault.Newf(
				fault.Conflict, "Postgres is not empty: table %s has rows. A restore needs empty stores",
				t.Name,
			)
		}
	}
	if err := db.root.MigrateTo(ctx, schema); err != nil {
		return err
	}
	if _, err := db.pool.Exec(
		ctx, `CREATE TABLE `+postgres.RestoreMarkerTable+` (begun_at timestamptz NOT NULL DEFAULT now())`,
	); err != nil {
		return postgres.Classify(fmt.Errorf("marking the restore: %w", err))
	}
	return nil
}

// Restoration fills the tables in one transaction. It must be used by one goroutine.
type Restoration struct {
	tx pgx.Tx
	// BackupStartedAt is the start of the backup, by the clock of its database.
	BackupStartedAt time.Time
}

// Restore empties the tables, runs work, which fills them, and commits.
func (db *Store) Restore(ctx context.Context, tables []Table, begun time.Time, work func(*Restoration) error) error {
	err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, disableTimeouts+`; `+textindex.KeepsChampions); err != nil {
			return err
		}
		for _, t := range tables {
			// Delete the rows that the migrations wrote. An unknown table is an error here.
			if _, err := tx.Exec(ctx, `DELETE FROM `+t.name()); err != nil {
				return fmt.Errorf("emptying table %s: %w", t.Name, err)
			}
		}
		return work(&Restoration{tx: tx, BackupStartedAt: begun})
	})
	return postgres.Classify(err)
}

// Load fills a table with the output of Snapshot.Copy and verifies the number of rows.
func (r *Restoration) Load(ctx context.Context, t Table, rows int64, from io.Reader) error {
	tag, err := r.tx.Conn().PgConn().CopyFrom(ctx, from, `COPY `+t.name()+` `+t.columns()+` FROM STDIN`)
	if err == nil && tag.RowsAffected() != rows {
		err = errTruncated
	}
	if err != nil {
		return fmt.Errorf("filling table %s: %w", t.Name, err)
	}
	return nil
}

// SetSequences sets sequences, by name, to the last numbers of the backup.
func (r *Restoration) SetSequences(ctx context.Context, last map[string]int64) error {
	for name, value := range last {
		sequence := pgx.Identifier{name}.Sanitize()
		// Triggers may have drawn higher numbers while the tables were filled.
		_, err := r.tx.Exec(
			ctx, `SELECT setval($1::text::regclass, GREATEST($2, last_value)) FROM `+sequence, sequence, value,
		)
		if err != nil {
			return fmt.Errorf("setting the sequence %s: %w", name, err)
		}
	}
	return nil
}

// Finish corrects rows that are inconsistent with the points because both were backed up at
// different times: deletions during the backup are repeated, and the marks of dead letters
// get the new positions of their dead letters.
func (r *Restoration) Finish(ctx context.Context, moves []DeadLetterMove) error {
	for _, step := range []struct {
		action, statement string
		args              []any
	}{
		{"invalidating cached keys", `UPDATE auth_revision SET revision = revision + 1`, nil},
		{
			"deleting sources again",
			`INSERT INTO pending_deletions (id, workspace_id, source_id, request_id)
			SELECT gen_random_uuid(), s.workspace_id, s.id, 'restore' FROM sources s WHERE s.deleted_at >= $1
				AND NOT EXISTS (SELECT FROM pending_deletions p
					WHERE p.workspace_id = s.workspace_id AND p.source_id = s.id)`,
			[]any{r.BackupStartedAt},
		},
		{
			"deleting workspaces again",
			`UPDATE workspace_deletions SET removed_at = NULL, finished_at = NULL, progress = '[]', updated_at = now()
			WHERE removed_at >= $1 OR finished_at >= $1`, []any{r.BackupStartedAt},
		},
		{
			"opening dead letters that were redriven meanwhile",
			`DELETE FROM dead_letter_marks WHERE state = 'redriven' AND marked_at >= $1`, []any{r.BackupStartedAt},
		},
	} {
		if _, err := r.tx.Exec(ctx, step.statement, step.args...); err != nil {
			return fmt.Errorf("%s: %w", step.action, err)
		}
	}
	if err := r.repeatDeletions(ctx); err != nil {
		return err
	}
	return r.moveDeadLetterMarks(ctx, moves)
}

// repeatDeletions resets the deletions that are unsettled or were completed during the
// backup, because their points may have been backed up before. A backup of an older schema,
// without the column settled_at, has no such deletions.
func (r *Restoration) repeatDeletions(ctx context.Context) error {
	var pending bool
	err := r.tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = 'tombstones' AND column_name = 'settled_at')`).Scan(&pending)
	if err == nil && pending {
		_, err = r.tx.Exec(
			ctx, `UPDATE tombstones t SET `+registry.ResetDeletion+`
				WHERE settled_at IS NULL OR GREATEST(executed_at, settled_at) >= $1`,
			r.BackupStartedAt,
		)
	}
	if err != nil {
		return fmt.Errorf("repeating deletions: %w", err)
	}
	return nil
}

// moveDeadLetterMarks changes the marks of dead letters to the new positions of these.
func (r *Restoration) moveDeadLetterMarks(ctx context.Context, moves []DeadLetterMove) error {
	_, err := r.tx.Exec(ctx, `CREATE TEMPORARY TABLE moved_letters (was_topic bytea, was_partition int, was_offset bigint,
		topic bytea, partition int, "offset" bigint) ON COMMIT DROP`)
	if err != nil {
		return fmt.Errorf("moving the marks of dead letters: %w", err)
	}
	_, err = r.tx.CopyFrom(ctx, pgx.Identifier{"moved_letters"}, []string{
		"was_topic", "was_partition", "was_offset", "topic", "partition", "offset",
	},
		pgx.CopyFromSlice(len(moves), func(i int) ([]any, error) {
			m := &moves[i]
			return []any{m.OldTopic[:], m.OldPartition, m.OldOffset, m.Topic[:], m.Partition, m.Offset}, nil
		}))
	if err == nil {
		_, err = r.tx.Exec(
			ctx,
			`UPDATE dead_letter_marks m SET topic_id = l.topic, partition = l.partition, "offset" = l."offset"
			FROM moved_letters l WHERE m.topic_id = l.was_topic AND m.partition = l.was_partition AND m."offset" = l.was_offset`,
		)
	}
	if err != nil {
		return fmt.Errorf("moving the marks of dead letters: %w", err)
	}
	return nil
}

// TombstonesFrom returns the tombstones that were written at a time of the database or
// later.
func (db *Store) TombstonesFrom(ctx context.Context, from time.Time) ([]registry.Tombstone, error) {
	rows, err := db.pool.Query(ctx, registry.SelectTombstones+` WHERE created_at >= $1`, from)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading tombstones: %w", err))
	}
	list, err := pgx.CollectRows(rows, registry.ScanTombstone)
	return list, postgres.Classify(err)
}

// EndRestore migrates the schema to this version and removes the mark, so that a server may
// start.
func (db *Store) EndRestore(ctx context.Context) error {
	if err := db.root.MigrateTo(ctx, migration.Latest); err != nil {
		return err
	}
	if _, err := db.pool.Exec(ctx, `DROP TABLE `+postgres.RestoreMarkerTable); err != nil {
		return postgres.Classify(fmt.Errorf("ending the restore: %w", err))
	}
	return nil
}
