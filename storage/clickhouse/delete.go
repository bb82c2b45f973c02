package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/tracing"
)

const (
	// deleteTimeout limits the wait for statements. They continue in ClickHouse after it.
	deleteTimeout = 5 * time.Minute
	// maxDeleteSources is the maximum number of sources in one statement.
	maxDeleteSources = 1000
	// maxDeleteSeries is the maximum number of series in one statement.
	maxDeleteSeries = 10_000
)

// Deletion selects the points to delete: points of the series of a source, of one metric or
// of all, in [FromUS, ToUS), up to and including a version.
type Deletion struct {
	Workspace, Source uuid.UUID
	Metric            *string // nil: all metrics
	FromUS            *int64  // microseconds since the Unix epoch; nil: no lower bound
	ToUS              *int64  // exclusive; nil: no upper bound
	Ceiling           uint64
	WholeSource       bool // the source itself is deleted, with its activity
	// ForgetSeries also deletes the identities of the series of a deleted source. A repetition
	// would not find the series without them, so Forget is for the last execution.
	ForgetSeries bool
}

// Delete removes points: numbers, strings, their exemplars, and their rows of table latest. It may be
// repeated, also after an interruption. It need not remove rows that are stored while it
// runs. Deletions share statements, because a statement costs as much for many deletions as
// for one.
func (db *DB) Delete(ctx context.Context, deletions ...Deletion) (err error) {
	if len(deletions) == 0 {
		return nil
	}
	defer func(began time.Time) { db.metrics.observe(opDelete, began, 0, err) }(time.Now())
	ctx, span := db.start(ctx, opDelete)
	defer func() { tracing.End(span, err) }()
	var sources, partial []Deletion
	for _, d := range deletions {
		if d.WholeSource {
			sources = append(sources, d)
		} else {
			partial = append(partial, d)
		}
	}
	if err := db.deletePartial(ctx, partial); err != nil {
		return err
	}
	for chunk := range slices.Chunk(sources, maxDeleteSources) {
		if err := db.deleteSources(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// deleteSources removes sources with all of their rows.
func (db *DB) deleteSources(ctx context.Context, sources []Deletion) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	series, err := db.sourceSeries(ctx, sources...)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(series, maxDeleteSeries) {
		// Their rollups need no marks, because the series can no longer be queried.
		for _, table := range timedTables() {
			if err := db.deleteWhere(ctx, table.name, "series IN ("+joinIDs(chunk)+")"); err != nil {
				return err
			}
		}
	}
	for _, table := range []string{"latest", "source_activity"} {
		if err := db.deleteWhere(ctx, table, sourcesCondition(sources)); err != nil {
			return err
		}
	}
	final := slices.DeleteFunc(slices.Clone(sources), func(d Deletion) bool { return !d.ForgetSeries })
	if len(final) == 0 {
		return nil
	}
	return db.deleteWhere(ctx, "series", sourcesCondition(final))
}

// sourcesCondition returns the condition that a row belongs to one of the sources of
// deletions. It contains only UUIDs, and no text of callers.
func sourcesCondition(deletions []Deletion) string {
	ids := make([]string, len(deletions))
	for i, d := range deletions {
		ids[i] = fmt.Sprintf("('%s','%s')", d.Workspace, d.Source)
	}
	return "(workspace, source) IN (" + strings.Join(ids, ",") + ")"
}

// condition returns the condition on time and version. It contains only numbers.
func (d *Deletion) condition() string {
	var c strings.Builder
	if d.FromUS != nil {
		c.WriteString(" AND ts >= " + TimeExpression(*d.FromUS))
	}
	if d.ToUS != nil {
		c.WriteString(" AND ts < " + TimeExpression(*d.ToUS))
	}
	fmt.Fprintf(&c, " AND version <= %d", d.Ceiling)
	return c.String()
}

// sourceSeries returns the ids of the series of the sources of deletions.
func (db *DB) sourceSeries(ctx context.Context, deletions ...Deletion) ([]uint64, error) {
	return db.seriesWhere(ctx, sourcesCondition(deletions))
}

func (db *DB) seriesWhere(ctx context.Context, condition string) ([]uint64, error) {
	rows, err := db.conn.Query(ctx, "SELECT DISTINCT id FROM series WHERE "+condition)
	if err != nil {
		return nil, fmt.Errorf("finding the series to delete: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err returns its error
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

// anyRow reports whether there is a row. The argument is the part of the statement after
// FROM.
func (db *DB) anyRow(ctx context.Context, from string) (bool, error) {
	var found uint8
	err := db.conn.QueryRow(ctx, "SELECT count() > 0 FROM (SELECT 1 FROM "+from+" LIMIT 1)").Scan(&found)
	return found > 0, err
}

// joinIDs returns a list of series ids for an IN. They are too many for a parameter.
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
