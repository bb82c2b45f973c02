// Package dump reads the tables of a backup in ClickHouse's format Native, and stores them.
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

// keptTable is a table of a backup. Rollups are none: they are computed again from points.
type keptTable struct {
	name    string
	columns []ch.ColumnNameAndType
	key     []string // what tells rows apart; in this order they are read
	newest  string   // of rows of one key that with the highest of this stands; empty: they are the same
	monthly bool     // its own part is each month
	by      string   // and in it each value of this column, an id, by which the table is ordered; may be empty
	page    int      // rows that are read at once, by what they may weigh
}

func keptTables() []keptTable {
	const light, heavy = 250_000, 20_000
	return []keptTable{
		{
			name: clickhouse.TableNumbers, columns: clickhouse.PointsTarget.Columns, key: []string{"series", "ts"},
			newest: "version", monthly: true,
			page: light,
		},
		{
			name: clickhouse.TableTexts, columns: clickhouse.StatesTarget.Columns, key: []string{"series", "ts"},
			newest: "version", monthly: true,
			page: heavy,
		},
		{name: "latest", columns: clickhouse.LatestTarget.Columns, key: []string{"series"}, newest: "rank", page: heavy},
		{
			name: "source_activity", columns: clickhouse.ActivityTarget.Columns,
			key: []string{"toString(source)", "toString(workspace)"}, newest: "received_at", page: light,
		},
		{name: "series", columns: clickhouse.SeriesTarget.Columns, key: []string{"id"}, page: heavy},
		{
			name: "audit", columns: auditlog.Target.Columns, key: []string{"ts", "request_id"},
			newest: "final", monthly: true,
			by: "workspace", page: heavy,
		},
	}
}

// Store is a database that is dumped, or that a dump is loaded into.
type Store struct{ db *clickhouse.DB }

// New returns the store of a database.
func New(db *clickhouse.DB) *Store { return &Store{db: db} }

// Part is a piece of a backup: a table, or a month of one.
type Part struct {
	Table string `json:"table"`
	Month string `json:"month,omitempty"` // 202611
}

// String names it, as its file.
func (p Part) String() string {
	if p.Month == "" {
		return p.Table
	}
	return p.Table + "-" + p.Month
}

// table returns what the part is of; false: there is no such table.
func (p Part) table() (keptTable, bool) {
	for _, t := range keptTables() {
		if t.name == p.Table && t.monthly == (p.Month != "") {
			return t, true
		}
	}
	return keptTable{}, false
}

// RequireEmpty refuses a database with rows in any table, fault.Conflict.
func (s *Store) RequireEmpty(ctx context.Context) error {
	return s.texts(
		ctx,
		`SELECT DISTINCT table FROM system.parts WHERE database = currentDatabase() AND active AND rows > 0
			AND table != 'goose_db_version' ORDER BY table`,
		func(table string) error {
			return fault.Newf(
				fault.Conflict,
				"ClickHouse is not empty: table %s has rows. A restore wants stores that nothing was written to",
				table,
			)
		},
	)
}

// Parts lists the parts of a backup that is taken now.
func (s *Store) Parts(ctx context.Context) (parts []Part, err error) {
	for _, t := range keptTables() {
		if !t.monthly {
			parts = append(parts, Part{Table: t.name})
			continue
		}
		err := s.texts(ctx, `SELECT DISTINCT partition_id FROM system.parts
			WHERE database = currentDatabase() AND active AND rows > 0 AND table = '`+
			t.name+`' ORDER BY partition_id`, func(month string) error {
			parts = append(parts, Part{Table: t.name, Month: month})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("listing the months of table %s: %w", t.name, err)
		}
	}
	return parts, nil
}

// texts calls each for the one column of a statement's rows.
func (s *Store) texts(ctx context.Context, statement string, each func(string) error) error {
	return s.db.Query(ctx, clickhouse.OpBackup, statement, nil, func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		return each(text)
	})
}

// Dump writes the rows of a part in ClickHouse's format Native, and returns how many:
// of rows that replace each other the one that stands. What is written meanwhile may be
// among them, or not; what was there before is, unless it was deleted. progress hears of
// rows as they are written.
//
// It is read in pages by the table's order, so that neither the server nor this process
// holds more than one, and no statement lasts.
func (s *Store) Dump(
	ctx context.Context, p Part, w io.Writer, progress func(rows int64),
) (total int64, err error) {
	t, ok := p.table()
	if !ok {
		return 0, fmt.Errorf("table %s is not of a backup", p)
	}
	within := []string{"1"}
	if p.Month != "" {
		if !isMonth(p.Month) {
			return 0, fmt.Errorf("part %s: it is not of a month", p)
		}
		within[0] = "_partition_id = '" + p.Month + "'"
	}
	if t.by != "" {
		where := within[0]
		within = nil
		err := s.texts(ctx, `SELECT DISTINCT toString(`+t.by+`) FROM `+t.name+` WHERE `+where, func(id string) error {
			within = append(within, where+" AND "+t.by+" = toUUID('"+id+"')")
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("reading part %s: %w", p, err)
		}
	}
	for _, where := range within {
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
	ctx context.Context, t *keptTable, where string, w io.Writer, progress func(int64),
) (total int64, err error) {
	behind := "" // the last row's key
	for {
		block := native.NewBlock(t.columns)
		if behind, err = s.readPage(ctx, t, where, behind, block); err != nil {
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
		if rows < t.page {
			return total, nil
		}
	}
}

// readPage reads the rows behind a key, and returns the key of the last one.
func (s *Store) readPage(
	ctx context.Context,
	t *keptTable,
	where, behind string,
	into *native.Block,
) (last string, err error) {
	keys := strings.Join(t.key, ", ")
	order, one := keys, ""
	if t.newest != "" {
		order, one = keys+", "+t.newest+" DESC", " LIMIT 1 BY "+keys
	}
	if behind != "" {
		where += " AND " + behind
	}
	statement := fmt.Sprintf(
		"SELECT %s FROM %s WHERE %s ORDER BY %s%s LIMIT %d", strings.Join(into.Names(), ", "), t.name, where, order, one,
		t.page,
	)
	targets := into.Targets()
	err = s.db.Query(ctx, clickhouse.OpBackup, statement, nil, func(scan func(...any) error) error {
		if err := scan(targets...); err != nil {
			return err
		}
		into.Keep()
		return nil
	})
	return t.behind(into), err
}

// behind returns the condition of the rows that come behind the last one of a block: the
// first part of the key by itself, for the sake of the index, and the whole.
func (t *keptTable) behind(b *native.Block) string {
	values := make([]string, len(t.key))
	for i, k := range t.key {
		switch v := b.Last(strings.TrimSuffix(strings.TrimPrefix(k, "toString("), ")")).(type) {
		case uint64:
			values[i] = strconv.FormatUint(v, 10)
		case time.Time:
			values[i] = clickhouse.Moment(v.UnixMicro())
		default: // a text of any characters, or an id, which is read as its text
			values[i] = "unhex('" + hex.EncodeToString(fmt.Append(nil, v)) + "')"
		}
	}
	return fmt.Sprintf(
		"%s >= %s AND (%s) > (%s)", t.key[0], values[0], strings.Join(t.key, ", "), strings.Join(values, ", "),
	)
}

// Load stores what Dump wrote, and checks that it is so many rows. Rollups of it
// are not marked: there are none.
func (s *Store) Load(ctx context.Context, p Part, rows int64, r io.Reader, progress func(rows int64)) error {
	t, ok := p.table()
	if !ok {
		return fmt.Errorf("table %s is not of a backup", p)
	}
	target := clickhouse.Target{Operation: clickhouse.OpRestore, Table: t.name, Columns: t.columns, Bulk: true}
	from, total := native.NewReader(r, t.columns), int64(0)
	for {
		block, err := from.Next()
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
