package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/tracing"
)

const (
	deleteTimeout = 5 * time.Minute
	// deleteSources is how many sources one statement names.
	deleteSources = 1000
	// deleteChunk is how many series one statement names.
	deleteChunk = 10_000
)

// Deletion says which points go: those of the series of a source, of one metric or
// all, in [FromUS, ToUS), up to and including a version.
type Deletion struct {
	Workspace, Source uuid.UUID
	Metric            *string // nil: all
	FromUS            *int64  // microseconds since the Unix epoch; nil: from the beginning
	ToUS              *int64  // exclusive; nil: without end
	Ceiling           uint64
	WholeSource       bool // the source itself goes, with its activity
	// Forget lets the identities of a whole source's series go too. Without them a
	// repetition finds nothing any more, so it is for the last one.
	Forget bool
}

// Delete removes points: numbers, texts, and what latest knows of them. It may be
// repeated, and be cut short and begun again. Rows that are stored while it runs
// are not its concern. Whole sources go together, however many they are: a
// statement costs as much for a thousand of them as for one.
func (db *DB) Delete(ctx context.Context, deletions ...Deletion) (err error) {
	if len(deletions) == 0 {
		return nil
	}
	defer func(began time.Time) { db.metrics.observe(opDelete, began, 0, err) }(time.Now())
	ctx, span := db.start(ctx, opDelete)
	defer func() { tracing.End(span, err) }()
	var whole []Deletion
	for _, d := range deletions {
		if d.WholeSource {
			whole = append(whole, d)
		} else if err := db.deletePart(ctx, d); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(whole, deleteSources) {
		if err := db.deleteWhole(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// deletePart removes some points of a source that stays.
func (db *DB) deletePart(ctx context.Context, d Deletion) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	series, err := db.seriesOf(ctx, d.Metric, d)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(series, deleteChunk) {
		ids := "(" + joinIDs(chunk) + ")"
		marks, err := db.beginRemoval(ctx, chunk, &d)
		if err != nil {
			return err
		}
		for _, table := range []string{"points", "states", "latest"} {
			if err := db.deleteWhere(ctx, table, "series IN "+ids+d.condition()); err != nil {
				return err
			}
		}
		if err := marks.done(ctx); err != nil {
			return err
		}
		if err := db.recomputeLatest(ctx, d, ids); err != nil {
			return err
		}
	}
	return nil
}

// deleteWhole removes sources with all that is theirs.
func (db *DB) deleteWhole(ctx context.Context, sources []Deletion) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	series, err := db.seriesOf(ctx, nil, sources...)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(series, deleteChunk) {
		// Their rollups need no marks: nobody can ask for the series any more.
		for _, table := range timedTables() {
			if err := db.deleteWhere(ctx, table.name, "series IN ("+joinIDs(chunk)+")"); err != nil {
				return err
			}
		}
	}
	for _, table := range []string{"latest", "source_activity"} {
		if err := db.deleteWhere(ctx, table, ofSources(sources)); err != nil {
			return err
		}
	}
	forgotten := slices.DeleteFunc(slices.Clone(sources), func(d Deletion) bool { return !d.Forget })
	if len(forgotten) == 0 {
		return nil
	}
	return db.deleteWhere(ctx, "series", ofSources(forgotten))
}

// ofSources is the condition that a row is of one of the sources. All of it is
// numbers of ours.
func ofSources(of []Deletion) string {
	names := make([]string, len(of))
	for i, d := range of {
		names[i] = fmt.Sprintf("('%s','%s')", d.Workspace, d.Source)
	}
	return "(workspace, source) IN (" + strings.Join(names, ",") + ")"
}

// condition gives the bounds of time and version. All of it is numbers of ours.
func (d *Deletion) condition() string {
	var c strings.Builder
	if d.FromUS != nil {
		c.WriteString(" AND ts >= " + moment(*d.FromUS))
	}
	if d.ToUS != nil {
		c.WriteString(" AND ts < " + moment(*d.ToUS))
	}
	fmt.Fprintf(&c, " AND version <= %d", d.Ceiling)
	return c.String()
}

// seriesOf gives the ids of the series that deletions are about: those of one
// metric, or, when it is nil, all of their sources.
func (db *DB) seriesOf(ctx context.Context, metric *string, of ...Deletion) ([]uint64, error) {
	return db.seriesWhere(ctx, metric, ofSources(of))
}

func (db *DB) seriesWhere(ctx context.Context, metric *string, condition string) ([]uint64, error) {
	query := "SELECT DISTINCT id FROM series WHERE " + condition
	parameters := ch.Parameters{}
	if metric != nil {
		query += " AND metric = {metric:String}"
		parameters["metric"] = *metric
	}
	rows, err := db.conn.Query(ch.Context(ctx, ch.WithParameters(parameters)), query)
	if err != nil {
		return nil, fmt.Errorf("finding the series to delete: %w", err)
	}
	defer func() { _ = rows.Close() }() // what it says, rows.Err has said
	var ids []uint64
	for rows.Next() {
		var id uint64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("finding the series to delete: %w", err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("finding the series to delete: %w", err)
	}
	return ids, nil
}

// deleteWhere deletes rows if there are any: to look is cheap, to delete rewrites
// a mask in every part, and a replay repeats deletions that were done long ago.
func (db *DB) deleteWhere(ctx context.Context, table, condition string) error {
	var found uint8
	err := db.conn.QueryRow(ctx, "SELECT count() > 0 FROM (SELECT 1 FROM "+table+" WHERE "+condition+" LIMIT 1)").Scan(&found)
	if err != nil {
		return fmt.Errorf("looking for rows to delete in %s: %w", table, err)
	}
	if found == 0 {
		return nil
	}
	sync := ch.Context(ctx, ch.WithSettings(ch.Settings{"lightweight_deletes_sync": 2}))
	if err := db.conn.Exec(sync, "DELETE FROM "+table+" WHERE "+condition); err != nil {
		return fmt.Errorf("deleting from %s: %w", table, err)
	}
	return nil
}

// recomputeLatest offers to table latest the newest points that are left. It does
// so for all series of the deletion: table latest keeps one row of each, so what
// was deleted there may have hidden any other.
func (db *DB) recomputeLatest(ctx context.Context, d Deletion, ids string) error {
	for table, columns := range map[string]string{
		"points": "argMax(value, version), ''",
		"states": "0, argMax(value, version)",
	} {
		statement := fmt.Sprintf(`INSERT INTO latest (workspace, source, series, ts, value, text, version)
			SELECT toUUID('%s'), toUUID('%s'), series, ts, %s, max(version) FROM %s
			WHERE series IN %s AND (series, ts) IN (SELECT series, max(ts) FROM %s WHERE series IN %s GROUP BY series)
			GROUP BY series, ts`, d.Workspace, d.Source, columns, table, ids, table, ids)
		if err := db.conn.Exec(ch.Context(ctx, ch.WithSettings(insertSettings)), statement); err != nil {
			return fmt.Errorf("finding the newest points that are left: %w", err)
		}
	}
	return nil
}

// joinIDs writes series ids for an IN: numbers of ours, too many for a parameter.
func joinIDs(ids []uint64) string {
	text := make([]byte, 0, 21*len(ids))
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, id, 10)
	}
	return string(text)
}
