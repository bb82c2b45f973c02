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
	// deleteTimeout bounds the wait for statements, which go on without it.
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
// are not its concern. Deletions go together: a statement costs as much for many of
// them as for one.
func (db *DB) Delete(ctx context.Context, deletions ...Deletion) (err error) {
	if len(deletions) == 0 {
		return nil
	}
	defer func(began time.Time) { db.metrics.observe(opDelete, began, 0, err) }(time.Now())
	ctx, span := db.start(ctx, opDelete)
	defer func() { tracing.End(span, err) }()
	var whole, some []Deletion
	for _, d := range deletions {
		if d.WholeSource {
			whole = append(whole, d)
		} else {
			some = append(some, d)
		}
	}
	if err := db.deletePart(ctx, some); err != nil {
		return err
	}
	for chunk := range slices.Chunk(whole, deleteSources) {
		if err := db.deleteWhole(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// deleteWhole removes sources with all that is theirs.
func (db *DB) deleteWhole(ctx context.Context, sources []Deletion) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	series, err := db.seriesOf(ctx, sources...)
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

// condition returns the bounds of time and version. All of it is numbers of ours.
func (d *Deletion) condition() string {
	var c strings.Builder
	if d.FromUS != nil {
		c.WriteString(" AND ts >= " + Moment(*d.FromUS))
	}
	if d.ToUS != nil {
		c.WriteString(" AND ts < " + Moment(*d.ToUS))
	}
	fmt.Fprintf(&c, " AND version <= %d", d.Ceiling)
	return c.String()
}

// seriesOf returns the ids of the series of deletions' sources.
func (db *DB) seriesOf(ctx context.Context, of ...Deletion) ([]uint64, error) {
	return db.seriesWhere(ctx, ofSources(of))
}

func (db *DB) seriesWhere(ctx context.Context, condition string) ([]uint64, error) {
	rows, err := db.conn.Query(ctx, "SELECT DISTINCT id FROM series WHERE "+condition)
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

// anyRow reports whether a table has a row; what follows FROM says which.
func (db *DB) anyRow(ctx context.Context, from string) (bool, error) {
	var found uint8
	err := db.conn.QueryRow(ctx, "SELECT count() > 0 FROM (SELECT 1 FROM "+from+" LIMIT 1)").Scan(&found)
	return found > 0, err
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
