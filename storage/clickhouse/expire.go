package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// SourceID is a source of a workspace.
type SourceID struct{ Workspace, Source uuid.UUID }

// Expire removes the rows of sources from before a time, in microseconds since the Unix
// epoch, and returns their number. It processes the series of the sources in chunks and
// calls pause after each chunk with rows to remove: it is not urgent, because queries no
// longer return these rows. It may be repeated, also after an interruption.
func (db *DB) Expire(
	ctx context.Context, sources []SourceID, fromUS int64, pause func(context.Context, time.Duration) error,
) (removed int64, err error) {
	if len(sources) == 0 {
		return 0, nil
	}
	defer func(began time.Time) { db.metrics.observe(OpExpire, began, 0, err) }(time.Now())
	ctx, span := db.start(ctx, OpExpire)
	defer func() { tracing.End(span, err) }()
	deletions := make([]Deletion, len(sources))
	for i, s := range sources {
		deletions[i] = Deletion{Workspace: s.Workspace, Source: s.Source}
	}
	// Only full hours are removed, together with their rollups, so that rollups always match
	// the stored points. Queries never return rows past their retention, removed or not.
	hourUS := fromUS - (fromUS%HourUS+HourUS)%HourUS
	for sourceChunk := range slices.Chunk(deletions, maxDeleteSources) {
		series, err := db.sourceSeries(ctx, sourceChunk...)
		if err != nil {
			return removed, err
		}
		for chunk := range slices.Chunk(series, maxDeleteSeries) {
			began := time.Now()
			n, err := db.expireSeries(ctx, chunk, hourUS)
			removed += n
			if err == nil && n > 0 {
				err = pause(ctx, time.Since(began))
			}
			if err != nil {
				return removed, err
			}
		}
		if _, err := db.removeWhere(
			ctx, "latest", sourcesCondition(sourceChunk)+" AND ts < "+TimeExpression(fromUS),
		); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

func (db *DB) expireSeries(ctx context.Context, series []uint64, fromUS int64) (removed int64, err error) {
	ids := "series IN (" + joinIDs(series) + ") AND "
	for _, table := range timedTables() {
		n, err := db.removeWhere(ctx, table.name, ids+table.before(fromUS))
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// removeWhere deletes rows, if there are any, and returns their number.
func (db *DB) removeWhere(ctx context.Context, table, condition string) (rows int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if rows, err = db.countWhere(ctx, table, condition); err != nil || rows == 0 {
		return 0, err
	}
	if err := db.deleteWhere(ctx, table, condition); err != nil {
		return 0, err
	}
	return rows, nil
}

func (db *DB) countWhere(ctx context.Context, table, condition string) (rows int64, err error) {
	err = db.conn.QueryRow(
		ch.Context(ctx, ch.WithSettings(settings())), "SELECT toInt64(count()) FROM "+table+" WHERE "+condition,
	).Scan(&rows)
	if err != nil {
		return 0, fmt.Errorf("counting rows to delete in %s: %w", table, err)
	}
	return rows, nil
}

// Part is a data part of a table of points. All of its rows belong to one partition.
type Part struct {
	Table, Name string
	EndUS       int64 // exclusive upper bound of the times of its rows; microseconds since the Unix epoch
	Rows        int64
}

// Parts lists the parts of the tables of points whose partitions end at a time or before. It lists none on a
// cluster, because a statement cannot drop the part of one shard: Expire deletes its rows.
func (db *DB) Parts(ctx context.Context, untilUS int64) ([]Part, error) {
	if db.layout.cluster != "" {
		return nil, nil
	}
	names := make([]string, 0, 4)
	for _, t := range timedTables() {
		names = append(names, "'"+t.name+"'")
	}
	rows, err := db.conn.Query(ctx, `
		SELECT table, name, toUnixTimestamp64Micro(toDateTime64(addMonths(toDate(concat(partition_id, '01')), 1), 6,
		'UTC')) AS ends, toInt64(rows)
		FROM system.parts
		WHERE database = currentDatabase() AND active AND table IN (`+strings.Join(names, ",")+`)
			AND match(partition_id, '^[0-9]{6}$') AND ends <= `+fmt.Sprint(untilUS)+` ORDER BY table, name`)
	if err != nil {
		return nil, fmt.Errorf("listing the parts of tables: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err returns its error
	var parts []Part
	for rows.Next() {
		var p Part
		if err := rows.Scan(&p.Table, &p.Name, &p.EndUS, &p.Rows); err != nil {
			return nil, fmt.Errorf("listing the parts of tables: %w", err)
		}
		parts = append(parts, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("listing the parts of tables: %w", err)
	}
	return parts, nil
}

// codeNoSuchPart is ClickHouse's error for a part that no longer exists, because it was
// merged into another one.
const codeNoSuchPart = 232

// DropPart removes a part that was listed by Parts, with all its rows. If the part has been
// merged into another one since, DropPart removes nothing and dropped is false.
func (db *DB) DropPart(ctx context.Context, p Part) (dropped bool, err error) {
	defer func(began time.Time) { db.metrics.observe(OpExpire, began, 0, err) }(time.Now())
	err = db.conn.Exec(ctx, "ALTER TABLE "+p.Table+" DROP PART '"+p.Name+"'")
	if isException(err, codeNoSuchPart) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("dropping a part of %s: %w", p.Table, err)
	}
	return true, nil
}

// Reclaim frees the disk space of deleted rows, in partitions that consist of deleted rows
// by at least half, and returns how many partitions it rewrote. ClickHouse only marks rows as
// deleted; merges remove them, but old partitions are no longer merged. Because of the
// threshold, each deleted row causes at most one other row to be rewritten.
func (db *DB) Reclaim(
	ctx context.Context, pause func(context.Context, time.Duration) error,
) (rewritten int, err error) {
	for _, table := range timedTables() {
		ids, err := db.markedPartitions(ctx, table.name)
		if err != nil {
			return rewritten, err
		}
		for id, stored := range ids {
			began := time.Now()
			live, err := db.countWhere(ctx, table.name, "_partition_id = '"+id+"'")
			if err != nil {
				return rewritten, err
			}
			if live*2 > stored {
				continue
			}
			sync := ch.Context(ctx, ch.WithSettings(ch.Settings{"mutations_sync": 2}))
			statement := "ALTER TABLE " + db.layout.Stored(table.name) + " APPLY DELETED MASK IN PARTITION ID '" + id + "'"
			if err := db.conn.Exec(sync, statement); err != nil {
				return rewritten, fmt.Errorf("taking deleted rows out of %s: %w", table.name, err)
			}
			rewritten++
			if err := pause(ctx, time.Since(began)); err != nil {
				return rewritten, err
			}
		}
	}
	return rewritten, nil
}

// markedPartitions returns the partitions of a table in which rows are marked as
// deleted, with how many rows are stored there, marked or not.
func (db *DB) markedPartitions(ctx context.Context, table string) (map[string]int64, error) {
	rows, err := db.conn.Query(ctx, `
		SELECT partition_id, toInt64(sum(rows)) FROM `+db.layout.System("parts")+`
		WHERE database = `+db.layout.Database()+` AND active AND table = '`+db.layout.StoredName(table)+`'
			AND match(partition_id, '^[0-9a-z]+$')
		GROUP BY partition_id HAVING max(has_lightweight_delete) = 1`)
	if err != nil {
		return nil, fmt.Errorf("listing the partitions of %s: %w", table, err)
	}
	defer func() { _ = rows.Close() }() // rows.Err returns its error
	found := map[string]int64{}
	for rows.Next() {
		var id string
		var n int64
		if err := rows.Scan(&id, &n); err != nil {
			return nil, fmt.Errorf("listing the partitions of %s: %w", table, err)
		}
		found[id] = n
	}
	return found, rows.Err()
}
