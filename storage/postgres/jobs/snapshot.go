package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/migration"
	"github.com/livegraph/livegraph/schemas"
	"github.com/livegraph/livegraph/storage/postgres"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// excludedTables are the tables that are not part of a backup: those with the state of one
// running installation (leases, sessions, log positions, which a restore creates again), and
// those that are derived from other tables (the search index).
var excludedTables = []string{
	"goose_db_version", postgres.RestoreMarkerTable,
	"leases", "route_leases", "operator_sessions", "auth_changes", "watermarks", "command_offsets", "log_marks",
	"search_indexes", "reindex_requests", "workspace_reindexes", "embedding_nodes", "embedding_progress", "rule_states",
}

// Table is a table of a backup. Columns does not include generated columns.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// columns returns the column list for a COPY.
func (t *Table) columns() string {
	quoted := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		quoted[i] = pgx.Identifier{c}.Sanitize()
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

func (t *Table) name() string { return pgx.Identifier{t.Name}.Sanitize() }

// Snapshot reads all tables as of one point in time. It must be used by one goroutine.
type Snapshot struct {
	tx pgx.Tx
	// At is the time of the snapshot, by the database's clock.
	At time.Time
	// Schema is the last migration of the database.
	Schema int64
	// Installation is the installation's id.
	Installation uuid.UUID
}

// Snapshot runs work on a snapshot. Meanwhile it holds a connection and a transaction, which
// keeps vacuum from removing rows that are deleted after the snapshot.
func (db *Store) Snapshot(ctx context.Context, work func(*Snapshot) error) error {
	tx, err := db.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgres.Classify(fmt.Errorf("beginning a snapshot: %w", err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it wrote nothing
	s := &Snapshot{tx: tx}
	if _, err := tx.Exec(ctx, disableTimeouts); err != nil {
		return postgres.Classify(fmt.Errorf("beginning a snapshot: %w", err))
	}
	err = tx.QueryRow(
		ctx, `SELECT now(), (SELECT max(version_id) FROM goose_db_version WHERE is_applied), (SELECT id FROM installation)`,
	).
		Scan(&s.At, &s.Schema, &s.Installation)
	if err != nil {
		return postgres.Classify(fmt.Errorf("beginning a snapshot: %w", err))
	}
	if err := migration.CheckVersion("Postgres", s.Schema, schemas.Postgres); err != nil {
		return err // a newer schema may have tables that this version does not know
	}
	s.At = s.At.UTC()
	return work(s)
}

// disableTimeouts disables the timeouts of the pool for the current transaction.
const disableTimeouts = `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
	SET LOCAL idle_in_transaction_session_timeout = 0`

// Tables returns the tables of a backup. Referenced tables come before those that refer to
// them.
func (s *Snapshot) Tables(ctx context.Context) ([]Table, error) {
	tables, err := readTables(ctx, s.tx)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing the tables: %w", err))
	}
	tables = slices.DeleteFunc(tables, func(t Table) bool { return slices.Contains(excludedTables, t.Name) })
	references, err := readReferences(ctx, s.tx)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing the references of tables: %w", err))
	}
	return sortByReferences(tables, references)
}

func readTables(ctx context.Context, q postgres.Querier) ([]Table, error) {
	rows, err := q.Query(ctx, `SELECT c.relname, array_agg(a.attname ORDER BY a.attnum)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
			AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		GROUP BY c.relname ORDER BY c.relname`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Table, err error) {
		err = row.Scan(&t.Name, &t.Columns)
		return t, err
	})
}

// readReferences returns, by table, the other tables that its foreign keys refer to.
func readReferences(ctx context.Context, q postgres.Querier) (map[string][]string, error) {
	rows, err := q.Query(ctx, `SELECT f.relname, t.relname FROM pg_constraint k
		JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
		WHERE k.contype = 'f' AND f.oid <> t.oid AND f.relnamespace = current_schema()::regnamespace`)
	if err != nil {
		return nil, err
	}
	references := map[string][]string{}
	var from, to string
	_, err = pgx.ForEachRow(rows, []any{&from, &to}, func() error {
		references[from] = append(references[from], to)
		return nil
	})
	return references, err
}

// sortByReferences sorts the tables so that each comes after those that it refers to.
func sortByReferences(tables []Table, references map[string][]string) ([]Table, error) {
	var ordered []Table
	placed := map[string]bool{}
	for len(tables) > 0 {
		var later []Table
		for _, t := range tables {
			waits := slices.ContainsFunc(references[t.Name], func(other string) bool {
				return !placed[other] && slices.ContainsFunc(tables, func(t Table) bool { return t.Name == other })
			})
			if waits {
				later = append(later, t)
				continue
			}
			placed[t.Name] = true
			ordered = append(ordered, t)
		}
		if len(later) == len(tables) {
			return nil, fmt.Errorf("tables have circular references: %s", later[0].Name)
		}
		tables = later
	}
	return ordered, nil
}

// Copy writes the rows of a table to w, in the text format of COPY, and returns their number.
func (s *Snapshot) Copy(ctx context.Context, t Table, w io.Writer) (rows int64, err error) {
	tag, err := s.tx.Conn().PgConn().CopyTo(ctx, w, `COPY `+t.name()+` `+t.columns()+` TO STDOUT`)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("reading table %s: %w", t.Name, err))
	}
	return tag.RowsAffected(), nil
}

// Generations returns the generations of a topic as of the snapshot.
func (s *Snapshot) Generations(ctx context.Context, topic string) (registry.Generations, error) {
	all, err := registry.ReadGenerations(ctx, s.tx, topic)
	return all, postgres.Classify(err)
}

// CommandOffsets returns, by partition of the commands topic with that id, the offset below which
// all commands were decided as of the snapshot.
func (s *Snapshot) CommandOffsets(ctx context.Context, topicID [16]byte) (map[int32]int64, error) {
	all, err := graphstore.AllCommandOffsets(ctx, s.tx)
	return all[topicID], postgres.Classify(err)
}

// Sequences returns the last number of each sequence. Sequences are not part of the
// snapshot: the numbers are those at the time of the call, and so may be higher.
func (s *Snapshot) Sequences(ctx context.Context) (map[string]int64, error) {
	rows, err := s.tx.Query(ctx, `SELECT sequencename, last_value FROM pg_sequences
		WHERE schemaname = current_schema() AND last_value IS NOT NULL AND sequencename <> 'goose_db_version_id_seq'`)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the sequences: %w", err))
	}
	last := map[string]int64{}
	var name string
	var value int64
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		last[name] = value
		return nil
	})
	return last, postgres.Classify(err)
}

// errTruncated reports that the data of a table ended early.
var errTruncated = errors.New("there are fewer rows than the backup says")
