// Package dump writes the tables of a backup in ClickHouse's format Native, and loads them.
package dump

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// backupTable is a table of a backup. Backups have no rollups, because they can be computed
// from points.
type backupTable struct {
	name        string
	columns     []ch.ColumnNameAndType
	key         []string // unique key of rows; rows are read in this order
	newest      string   // column whose highest value wins among rows of one key; empty: they are equal
	monthly     bool     // each month is a separate part
	partitionBy string   // read the ids in this column one after the other; a prefix of the table's order; may be empty
	pageRows    int      // rows of a page, depending on their size
}

func backupTables() []backupTable {
	const light, heavy = 250_000, 20_000
	return []backupTable{
		{
			name: clickhouse.TablePoints, columns: clickhouse.PointsTarget.Columns, key: []string{"series", "ts"},
			newest: "version", monthly: true,
			pageRows: light,
		},
		{
			name: clickhouse.TableStates, columns: clickhouse.StatesTarget.Columns, key: []string{"series", "ts"},
			newest: "version", monthly: true,
			pageRows: heavy,
		},
		{
			name: clickhouse.TableExemplars, columns: clickhouse.ExemplarsTarget.Columns,
			key: []string{"series", "ts", "labels"}, newest: "version", monthly: true,
			pageRows: heavy,
		},
		{name: "latest", columns: clickhouse.LatestTarget.Columns, key: []string{"series"}, newest: "rank", pageRows: heavy},
		{
			name: "source_activity", columns: clickhouse.ActivityTarget.Columns,
			key: []string{"toString(source)", "toString(workspace)"}, newest: "received_at", pageRows: light,
		},
		{name: "series", columns: clickhouse.SeriesTarget.Columns, key: []string{"id"}, pageRows: heavy},
		{
			name: "audit", columns: auditlog.Target.Columns, key: []string{"ts", "request_id"},
			newest: "final", monthly: true,
			partitionBy: "workspace", pageRows: heavy,
		},
	}
}

// Store is a database to dump, or to load a dump into.
type Store struct{ db *clickhouse.DB }

// New returns a Store for a database.
func New(db *clickhouse.DB) *Store { return &Store{db: db} }

// Part is a part of a backup: a table, or a month of a table.
type Part struct {
	Table string `json:"table"`
	Month string `json:"month,omitempty"` // 202611
}

// String returns the name of the part and its file.
func (p Part) String() string {
	if p.Month == "" {
		return p.Table
	}
	return p.Table + "-" + p.Month
}

// table returns the table of the part, and false if there is no such table.
func (p Part) table() (backupTable, bool) {
	for _, t := range backupTables() {
		if t.name == p.Table && t.monthly == (p.Month != "") {
			return t, true
		}
	}
	return backupTable{}, false
}

// RequireEmpty returns fault.Conflict if any table of the database has rows.
func (s *Store) RequireEmpty(ctx context.Context) error {
	layout := s.db.Layout()
	return s.eachString(
		ctx,
		`SELECT DISTINCT table FROM `+layout.System("parts")+` WHERE database = `+layout.Database()+`
			AND active AND rows > 0 AND table != '`+layout.StoredName(clickhouse.VersionTable)+`' ORDER BY table`,
		func(table string) error {
			return fault.Newf(
				fault.Conflict,
				"ClickHouse is not empty: table %s has rows. A restore needs empty stores",
				layout.TableOf(table),
			)
		},
	)
}

// Parts returns the parts of a backup of the current data.
func (s *Store) Parts(ctx context.Context) (parts []Part, err error) {
	layout := s.db.Layout()
	for _, t := range backupTables() {
		if !t.monthly {
			parts = append(parts, Part{Table: t.name})
			continue
		}
		err := s.eachString(ctx, `SELECT DISTINCT partition_id FROM `+layout.System("parts")+`
			WHERE database = `+layout.Database()+` AND active AND rows > 0 AND table = '`+
			layout.StoredName(t.name)+`' ORDER BY partition_id`, func(month string) error {
			parts = append(parts, Part{Table: t.name, Month: month})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("listing the months of table %s: %w", t.name, err)
		}
	}
	return parts, nil
}

// eachString calls each for every row of a statement with one string column.
func (s *Store) eachString(ctx context.Context, statement string, each func(string) error) error {
	return s.db.Query(ctx, clickhouse.OpBackup, statement, nil, func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		return each(text)
	})
}

// Dump writes the rows of a part in ClickHouse's format Native, and returns their number. Of
// rows that replace each other, it writes only the current one. Rows that are inserted
// meanwhile may be missing; earlier rows are included, unless they were deleted. Dump calls
// progress with the number of rows after each page.
//
// It reads pages in the order of the table, so that neither the server nor this process keeps
// more than one page in memory, and no statement takes long.
func (s *Store) Dump(
	ctx context.Context, p Part, w io.Writer, progress func(rows int64),
) (total int64, err error) {
	t, ok := p.table()
	if !ok {
		return 0, fmt.Errorf("table %s is not of a backup", p)
	}
	conditions := []string{"1"}
	if p.Month != "" {
		if !isMonth(p.Month) {
			return 0, fmt.Errorf("part %s: it is not of a month", p)
		}
		conditions[0] = "_partition_id = '" + p.Month + "'"
	}
	if t.partitionBy != "" {
		where := conditions[0]
		conditions = nil
		statement := `SELECT DISTINCT toString(` + t.partitionBy + `) FROM ` + t.name + ` WHERE ` + where
		err := s.eachString(ctx, statement, func(id string) error {
			conditions = append(conditions, where+" AND "+t.partitionBy+" = toUUID('"+id+"')")
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("reading part %s: %w", p, err)
		}
	}
	for _, where := range conditions {
		rows, err := s.dumpWhere(ctx, &t, where, w, progress)
		total += rows
		if err != nil {
			return total, fmt.Errorf("reading part %s: %w", p, err)
		}
	}
	return total, nil
}

func isMonth(text string) bool {
	return len(text) == 6 && strings.Trim(text, "0123456789") == ""
}

func (s *Store) dumpWhere(
	ctx context.Context, t *backupTable, where string, w io.Writer, progress func(int64),
) (total int64, err error) {
	after := "" // condition of the rows after the last page
	for {
		block := native.NewBlock(t.columns)
		if after, err = s.readPage(ctx, t, where, after, block); err != nil {
			return total, err
		}
		rows := block.Rows()
		if rows > 0 {
			if err := block.Write(w); err != nil {
				return total, err
			}
			total += int64(rows)
			progress(int64(rows))
		}
		if rows < t.pageRows {
			return total, nil
		}
	}
}

// readPage reads the next page of rows into a block, and returns the condition of the rows
// after it.
func (s *Store) readPage(
	ctx context.Context,
	t *backupTable,
	where, after string,
	block *native.Block,
) (next string, err error) {
	keys := strings.Join(t.key, ", ")
	order, limitBy := keys, ""
	if t.newest != "" {
		order, limitBy = keys+", "+t.newest+" DESC", " LIMIT 1 BY "+keys
	}
	if after != "" {
		where += " AND " + after
	}
	statement := fmt.Sprintf(
		"SELECT %s FROM %s WHERE %s ORDER BY %s%s LIMIT %d", strings.Join(block.Names(), ", "), t.name, where, order,
		limitBy, t.pageRows,
	)
	targets := block.Targets()
	err = s.db.Query(ctx, clickhouse.OpBackup, statement, nil, func(scan func(...any) error) error {
		if err := scan(targets...); err != nil {
			return err
		}
		block.Keep()
		return nil
	})
	return t.after(block), err
}

// after returns the condition of the rows after the last one of a block. It has a separate
// condition on the first column of the key, which can use the index, and one on the full key.
func (t *backupTable) after(b *native.Block) string {
	values := make([]string, len(t.key))
	for i, k := range t.key {
		switch v := b.Last(strings.TrimSuffix(strings.TrimPrefix(k, "toString("), ")")).(type) {
		case uint64:
			values[i] = strconv.FormatUint(v, 10)
		case time.Time:
			values[i] = clickhouse.TimeExpression(v.UnixMicro())
		default: // a string with any characters, or an id, which is compared in text form
			values[i] = "unhex('" + hex.EncodeToString(fmt.Append(nil, v)) + "')"
		}
	}
	return fmt.Sprintf(
		"%s >= %s AND (%s) > (%s)", t.key[0], values[0], strings.Join(t.key, ", "), strings.Join(values, ", "),
	)
}

// Load stores the rows that Dump wrote, and checks their number. It does not mark rollups,
// because there are none.
func (s *Store) Load(ctx context.Context, p Part, rows int64, r io.Reader, progress func(rows int64)) error {
	t, ok := p.table()
	if !ok {
		return fmt.Errorf("table %s is not of a backup", p)
	}
	target := clickhouse.Target{Operation: clickhouse.OpRestore, Table: t.name, Columns: t.columns, Bulk: true}
	reader, total := native.NewReader(r, t.columns), int64(0)
	for {
		block, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.db.Insert(ctx, &target, block.Rows(), block.Columns()...)
		}
		if err != nil {
			return fmt.Errorf("storing part %s: %w", p, err)
		}
		total += int64(block.Rows())
		progress(int64(block.Rows()))
	}
	if total != rows {
		return fmt.Errorf("storing part %s: it has %d rows, and %d were written", p, total, rows)
	}
	return nil
}
