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

// leftOut are the tables that a backup does not have: what is true of one running
// installation alone (leases, sessions, places in logs that a restore makes again), and
// what is made again from the rest (the search index).
var leftOut = []string{
	"goose_db_version", postgres.RestoreMark,
	"leases", "route_leases", "operator_sessions", "auth_changes", "watermarks", "command_offsets", "log_marks",
	"search_indexes", "reindex_requests", "workspace_reindexes", "embedding_nodes", "embedding_progress",
}

// Table is a table as a backup has it. The columns that Postgres computes by itself
// are not among its columns.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// columns returns the list of the columns for a COPY.
func (t *Table) columns() string {
	quoted := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		quoted[i] = pgx.Identifier{c}.Sanitize()
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

func (t *Table) name() string { return pgx.Identifier{t.Name}.Sanitize() }

// Snapshot reads all tables as they were at one moment, whatever is written meanwhile.
// It belongs to one goroutine.
type Snapshot struct {
	tx pgx.Tx
	// At is the moment, by the database's clock.
	At time.Time
	// Schema is the last migration that the database has had.
	Schema int64
	// Installation is the installation's id.
	Installation uuid.UUID
}

// Snapshot runs work on a snapshot. It holds a connection and a transaction, which
// keeps Postgres from clearing away what is deleted meanwhile.
func (db *Store) Snapshot(ctx context.Context, work func(*Snapshot) error) error {
	tx, err := db.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgres.Classify(fmt.Errorf("beginning a snapshot: %w", err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it wrote nothing
	s := &Snapshot{tx: tx}
	if _, err := tx.Exec(ctx, withoutLimits); err != nil {
		return postgres.Classify(fmt.Errorf("beginning a snapshot: %w", err))
	}
	err = tx.QueryRow(
		ctx, `SELECT now(), (SELECT max(version_id) FROM goose_db_version WHERE is_applied), (SELECT id FROM installation)`,
	).
		Scan(&s.At, &s.Schema, &s.Installation)
	if err != nil {
		return postgres.Classify(fmt.Errorf("beginning a snapshot: %w", err))
	}
	if err := migration.Known("Postgres", s.Schema, schemas.Postgres); err != nil {
		return err // there may be tables of which this version does not know what they are
	}
	s.At = s.At.UTC()
	return work(s)
}

// withoutLimits takes off, for a transaction, what bounds statements of requests.
const withoutLimits = `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
	SET LOCAL idle_in_transaction_session_timeout = 0`

// Tables lists the tables of a backup, those first that others refer to.
func (s *Snapshot) Tables(ctx context.Context) ([]Table, error) {
	tables, err := readTables(ctx, s.tx)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing the tables: %w", err))
	}
	tables = slices.DeleteFunc(tables, func(t Table) bool { return slices.Contains(leftOut, t.Name) })
	refers, err := readReferences(ctx, s.tx)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing what tables refer to: %w", err))
	}
	return inOrder(tables, refers)
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

// readReferences returns, by table, the other tables that its foreign keys name.
func readReferences(ctx context.Context, q postgres.Querier) (map[string][]string, error) {
	rows, err := q.Query(ctx, `SELECT f.relname, t.relname FROM pg_constraint k
		JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
		WHERE k.contype = 'f' AND f.oid <> t.oid AND f.relnamespace = current_schema()::regnamespace`)
	if err != nil {
		return nil, err
	}
	refers := map[string][]string{}
	var from, to string
	_, err = pgx.ForEachRow(rows, []any{&from, &to}, func() error {
		refers[from] = append(refers[from], to)
		return nil
	})
	return refers, err
}

// inOrder puts every table behind those that it refers to.
func inOrder(tables []Table, refers map[string][]string) ([]Table, error) {
	var ordered []Table
	placed := map[string]bool{}
	for len(tables) > 0 {
		var later []Table
		for _, t := range tables {
			waits := slices.ContainsFunc(refers[t.Name], func(other string) bool {
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
			return nil, fmt.Errorf("tables refer to each other in a circle: %s", later[0].Name)
		}
		tables = later
	}
	return ordered, nil
}

// Copy writes the rows of a table, in the text format of COPY, and gives how many.
func (s *Snapshot) Copy(ctx context.Context, t Table, w io.Writer) (rows int64, err error) {
	tag, err := s.tx.Conn().PgConn().CopyTo(ctx, w, `COPY `+t.name()+` `+t.columns()+` TO STDOUT`)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("reading table %s: %w", t.Name, err))
	}
	return tag.RowsAffected(), nil
}

// Generations returns the generations of a topic as they were at the moment.
func (s *Snapshot) Generations(ctx context.Context, topic string) (registry.Generations, error) {
	all, err := registry.ReadGenerations(ctx, s.tx, topic)
	return all, postgres.Classify(err)
}

// Decided returns, by partition of the commands' topic of that id, the offset below
// which every command was decided at the moment.
func (s *Snapshot) Decided(ctx context.Context, topicID [16]byte) (map[int32]int64, error) {
	all, err := graphstore.AllCommandOffsets(ctx, s.tx)
	return all[topicID], postgres.Classify(err)
}

// Sequences returns, by sequence, the last number that it gave. Sequences are not of the
// moment, but of when they are asked for: later, and so higher.
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

// errTruncated says that a table ended early.
var errTruncated = errors.New("there are fewer rows than the backup says")
