package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// deleteParts is how many deletions one statement does.
const deleteParts = 100

// part is a deletion of points of a source that stays, with series that it is about:
// all, or as many as one statement names.
type part struct {
	*Deletion
	series []uint64
}

// where is the condition that a row goes.
func (p *part) where() string { return "series IN (" + joinIDs(p.series) + ")" + p.condition() }

// deletePart removes points of sources that stay. As many deletions as a statement may
// name go together: it costs as much for a hundred of them as for one.
func (db *DB) deletePart(ctx context.Context, deletions []Deletion) error {
	for some := range slices.Chunk(deletions, deleteParts) {
		parts, err := db.partsOf(ctx, some)
		if err != nil {
			return err
		}
		for len(parts) > 0 {
			n := together(parts)
			if err := db.removeParts(ctx, parts[:n]); err != nil {
				return err
			}
			parts = parts[n:]
		}
	}
	return nil
}

// together is how many of the first parts one statement names, one at least.
func together(parts []part) (n int) {
	series := 0
	for n < len(parts) {
		if series += len(parts[n].series); n > 0 && series > deleteChunk {
			break
		}
		n++
	}
	return n
}

// removeParts removes some parts with one statement a table. Each names its versions,
// so that their order is nothing.
func (db *DB) removeParts(ctx context.Context, parts []part) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	marks, err := db.beginRemoval(ctx, parts)
	if err != nil {
		return err
	}
	condition := anyPart(parts, (*part).where)
	for _, table := range []string{"points", "states", "latest"} {
		if err := db.deleteWhere(ctx, table, condition); err != nil {
			return err
		}
	}
	if err := marks.done(ctx); err != nil {
		return err
	}
	return db.recomputeLatest(ctx, parts)
}

// anyPart is the condition that one of the parts' conditions holds.
func anyPart(parts []part, of func(*part) string) string {
	each := make([]string, len(parts))
	for i := range parts {
		each[i] = "(" + of(&parts[i]) + ")"
	}
	return "(" + strings.Join(each, " OR ") + ")"
}

// partsOf finds the series of deletions: those of one metric, or all of their source.
// One that is about none is left out.
func (db *DB) partsOf(ctx context.Context, deletions []Deletion) ([]part, error) {
	query := "SELECT DISTINCT workspace, source, metric, id FROM series WHERE " + ofSources(deletions)
	parameters := ch.Parameters{}
	if !slices.ContainsFunc(deletions, func(d Deletion) bool { return d.Metric == nil }) {
		named := make([]string, len(deletions))
		for i, d := range deletions {
			name := "m" + strconv.Itoa(i)
			named[i], parameters[name] = "{"+name+":String}", *d.Metric
		}
		query += " AND metric IN (" + strings.Join(named, ",") + ")"
	}
	found, err := db.seriesByMetric(ctx, query, parameters)
	if err != nil {
		return nil, fmt.Errorf("finding the series to delete from: %w", err)
	}
	var parts []part
	for i := range deletions {
		d := &deletions[i]
		var series []uint64
		for metric, ids := range found[Owner{d.Workspace, d.Source}] {
			if d.Metric == nil || *d.Metric == metric {
				series = append(series, ids...)
			}
		}
		for chunk := range slices.Chunk(series, deleteChunk) {
			parts = append(parts, part{d, chunk})
		}
	}
	return parts, nil
}

// seriesByMetric returns the ids of series that a query finds, by whose they are and what
// they are of.
func (db *DB) seriesByMetric(
	ctx context.Context, query string, parameters ch.Parameters,
) (found map[Owner]map[string][]uint64, err error) {
	rows, err := db.conn.Query(ch.Context(ctx, ch.WithParameters(parameters)), query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // what it says, rows.Err has said
	found = map[Owner]map[string][]uint64{}
	for rows.Next() {
		var of Owner
		var metric string
		var id uint64
		if err := rows.Scan(&of.Workspace, &of.Source, &metric, &id); err != nil {
			return nil, err
		}
		if found[of] == nil {
			found[of] = map[string][]uint64{}
		}
		found[of][metric] = append(found[of][metric], id)
	}
	return found, rows.Err()
}

// recomputeLatest offers to table latest the newest points that are left. It does so
// for all series of the parts: table latest keeps one row of each, so what was deleted
// there may have hidden any other.
func (db *DB) recomputeLatest(ctx context.Context, parts []part) error {
	series := map[Owner][]uint64{}
	for _, p := range parts {
		of := Owner{p.Workspace, p.Source}
		series[of] = append(series[of], p.series...)
	}
	for of, all := range series {
		slices.Sort(all)
		for chunk := range slices.Chunk(slices.Compact(all), deleteChunk) {
			if err := db.recomputeLatestOf(ctx, of, "("+joinIDs(chunk)+")"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (db *DB) recomputeLatestOf(ctx context.Context, of Owner, ids string) error {
	for table, columns := range map[string]string{
		"points": "argMax(value, version), ''",
		"states": "0, argMax(value, version)",
	} {
		statement := fmt.Sprintf(`INSERT INTO latest (workspace, source, series, ts, value, text, version)
			SELECT toUUID('%s'), toUUID('%s'), series, ts, %s, max(version) FROM %s
			WHERE series IN %s AND (series, ts) IN (SELECT series, max(ts) FROM %s WHERE series IN %s GROUP BY series)
			GROUP BY series, ts`, of.Workspace, of.Source, columns, table, ids, table, ids)
		if err := db.conn.Exec(ch.Context(ctx, ch.WithSettings(insertSettings)), statement); err != nil {
			return fmt.Errorf("finding the newest points that are left: %w", err)
		}
	}
	return nil
}
