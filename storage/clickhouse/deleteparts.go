package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// maxPartialDeletions is the maximum number of deletions in one statement.
const maxPartialDeletions = 100

// partialDeletion is a deletion of points of a source that is not deleted itself, with the
// series that it applies to: all of them, or as many as fit into one statement.
type partialDeletion struct {
	*Deletion
	series []uint64
}

// where returns the condition that a row is to be deleted.
func (p *partialDeletion) where() string {
	return "series IN (" + joinIDs(p.series) + ")" + p.condition()
}

// deletePartial removes points of sources that are not deleted themselves. Each statement
// executes as many deletions as fit, because it costs as much for a hundred as for one.
func (db *DB) deletePartial(ctx context.Context, deletions []Deletion) error {
	for chunk := range slices.Chunk(deletions, maxPartialDeletions) {
		parts, err := db.partialDeletions(ctx, chunk)
		if err != nil {
			return err
		}
		for len(parts) > 0 {
			n := fitStatement(parts)
			if err := db.deleteParts(ctx, parts[:n]); err != nil {
				return err
			}
			parts = parts[n:]
		}
	}
	return nil
}

// fitStatement returns how many of the first parts fit into one statement, at least one.
func fitStatement(parts []partialDeletion) (n int) {
	series := 0
	for n < len(parts) {
		if series += len(parts[n].series); n > 0 && series > maxDeleteSeries {
			break
		}
		n++
	}
	return n
}

// deleteParts executes parts with one statement for each table. The conditions contain
// versions, so the order of the parts does not matter.
func (db *DB) deleteParts(ctx context.Context, parts []partialDeletion) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	marks, err := db.markRemoval(ctx, parts)
	if err != nil {
		return err
	}
	condition := anyCondition(parts, (*partialDeletion).where)
	for _, table := range []string{TablePoints, TableStates, TableExemplars, "latest"} {
		if err := db.deleteWhere(ctx, table, condition); err != nil {
			return err
		}
	}
	if err := marks.markAgain(ctx); err != nil {
		return err
	}
	return db.recomputeLatest(ctx, parts)
}

// anyCondition returns the condition that one of the conditions of parts is true.
func anyCondition(parts []partialDeletion, condition func(*partialDeletion) string) string {
	conditions := make([]string, len(parts))
	for i := range parts {
		conditions[i] = "(" + condition(&parts[i]) + ")"
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// partialDeletions reads the series of deletions: those of one metric, or all of their
// source. Deletions without series are left out.
func (db *DB) partialDeletions(ctx context.Context, deletions []Deletion) ([]partialDeletion, error) {
	query := "SELECT DISTINCT workspace, source, metric, id FROM series WHERE " + sourcesCondition(deletions)
	parameters := ch.Parameters{}
	if !slices.ContainsFunc(deletions, func(d Deletion) bool { return d.Metric == nil }) {
		placeholders := make([]string, len(deletions))
		for i, d := range deletions {
			name := "m" + strconv.Itoa(i)
			placeholders[i], parameters[name] = "{"+name+":String}", *d.Metric
		}
		query += " AND metric IN (" + strings.Join(placeholders, ",") + ")"
	}
	found, err := db.seriesByMetric(ctx, query, parameters)
	if err != nil {
		return nil, fmt.Errorf("finding the series to delete from: %w", err)
	}
	var parts []partialDeletion
	for i := range deletions {
		d := &deletions[i]
		var series []uint64
		for metric, ids := range found[SourceID{d.Workspace, d.Source}] {
			if d.Metric == nil || *d.Metric == metric {
				series = append(series, ids...)
			}
		}
		for chunk := range slices.Chunk(series, maxDeleteSeries) {
			parts = append(parts, partialDeletion{d, chunk})
		}
	}
	return parts, nil
}

// seriesByMetric returns the ids of the series that a query finds, by source and metric.
func (db *DB) seriesByMetric(
	ctx context.Context, query string, parameters ch.Parameters,
) (found map[SourceID]map[string][]uint64, err error) {
	rows, err := db.conn.Query(ch.Context(ctx, ch.WithParameters(parameters)), query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns its error
	found = map[SourceID]map[string][]uint64{}
	for rows.Next() {
		var source SourceID
		var metric string
		var id uint64
		if err := rows.Scan(&source.Workspace, &source.Source, &metric, &id); err != nil {
			return nil, err
		}
		if found[source] == nil {
			found[source] = map[string][]uint64{}
		}
		found[source][metric] = append(found[source][metric], id)
	}
	return found, rows.Err()
}

// recomputeLatest inserts the newest remaining points into table latest, for all series of
// the parts. Table latest keeps one row for each series, so a deleted row may have replaced
// any other.
func (db *DB) recomputeLatest(ctx context.Context, parts []partialDeletion) error {
	bySource := map[SourceID][]uint64{}
	for _, p := range parts {
		source := SourceID{p.Workspace, p.Source}
		bySource[source] = append(bySource[source], p.series...)
	}
	for source, series := range bySource {
		slices.Sort(series)
		for chunk := range slices.Chunk(slices.Compact(series), maxDeleteSeries) {
			if err := db.recomputeLatestOf(ctx, source, "("+joinIDs(chunk)+")"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (db *DB) recomputeLatestOf(ctx context.Context, source SourceID, ids string) error {
	for table, columns := range map[string]string{
		"points": "argMax(value, version), ''",
		"states": "0, argMax(value, version)",
	} {
		statement := fmt.Sprintf(`INSERT INTO latest (workspace, source, series, ts, value, text, version)
			SELECT toUUID('%s'), toUUID('%s'), series, ts, %s, max(version) FROM %s
			WHERE series IN %s AND (series, ts) IN (SELECT series, max(ts) FROM %s WHERE series IN %s GROUP BY series)
			GROUP BY series, ts`, source.Workspace, source.Source, columns, table, ids, table, ids)
		if err := db.conn.Exec(ch.Context(ctx, ch.WithSettings(insertSettings)), statement); err != nil {
			return fmt.Errorf("finding the newest points that are left: %w", err)
		}
	}
	return nil
}
