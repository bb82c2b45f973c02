package clickhouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

const rollupColumns = "(series, ts, points, total, lowest, highest, first, last, first_us, last_us, increase, spread," +
	" version)"

// defaultRollupMemory is the memory of a statement in bytes. The arrays of its minutes have 16 bytes per
// point.
const defaultRollupMemory = 512 << 20

// maxMinuteBytes is the size of the arrays that a statement with FINAL collects before it computes their
// minutes. It needs several times as much memory.
const maxMinuteBytes = 8 << 20

// compute writes the rollups of a window: minutes from points, then hours from minutes. If
// points may have been deleted, it first writes empty rows for the minutes and hours that no
// longer have points.
//
// A point may have several rows, in different parts of the table, if it was overwritten or stored
// again. This is rare, and FINAL takes more time than everything else. The minutes are therefore
// computed without FINAL by a statement that fails if the times of a minute do not rise. Then it is
// repeated with FINAL, and at last with sorting, also for the rest of the pass. It is repeated with
// FINAL, too, if it exceeds its memory: it keeps all minutes of the window, and even one series may have
// too many points for that. Rows that a failed statement has inserted are valid.
func (r *passRun) compute(ctx context.Context, w window) (err error) {
	where := w.condition()
	if w.removal {
		for table, unit := range map[string]string{TableMinutes: "Minute", TableHours: "Hour"} {
			if err := r.write(ctx, table, emptyRows(r.db.layout, table, unit, where)); err != nil {
				return err
			}
		}
	}
	how := &r.newHours
	if w.marked {
		how = &r.markedHours
	}
	for {
		err = r.write(ctx, TableMinutes, minutesOf(r.db.layout, where, *how))
		if !isDisordered(err) && (*how > readOrdered || !hasCode(err, codeMemoryLimit)) {
			break
		}
		r.report.Repeated++
		*how++
	}
	if err != nil {
		return err
	}
	if err := r.countWritten(ctx, where); err != nil {
		return err
	}
	return r.write(ctx, TableHours, hoursOf(r.db.layout, where, r.version))
}

// pointReading is how the points of minutes are read.
type pointReading int

const (
	readOrdered pointReading = iota // all rows of a point, in the order of the table
	readFinal                       // one row of each point, in the order in which ClickHouse merges them
	readSorted                      // one row of each point, sorted in each minute
)

// minutesOf returns the query for the minutes of points. Unless they are sorted, it fails with
// codeThrown if the times of a minute do not rise.
func minutesOf(l Layout, where string, how pointReading) string {
	const values, times = "groupArray(value)", "groupArray(toUnixTimestamp64Micro(ts))"
	arrays := values + " AS values_, " + times + " AS times_, " +
		"throwIf(arrayCount(step_ -> step_ <= 0, arrayDifference(times_)) > 1) AS checked_"
	if how == readSorted {
		arrays = "arraySort((value_, time_) -> time_, " + values + ", " + times + ") AS values_, " +
			"arraySort(" + times + ") AS times_, 0 AS checked_"
	}
	table := l.ShardTable(TablePoints)
	points := table + " FINAL PREWHERE " + where
	if how == readOrdered {
		points = "(SELECT series, ts, value FROM " + table + " PREWHERE " + where + " ORDER BY series, ts)"
	}
	return minuteRows(arrays + " FROM " + points)
}

// minuteRows returns the query for the rows of minutes from arrays of their values and times in the
// order of time. The increase is the sum of the steps between consecutive points, as of a counter; see
// timeseries.Delta. The spread is the sum of the squared distances of the values from their mean.
func minuteRows(arrays string) string {
	return `
		SELECT series, bucket,
			toUInt32(length(values_) + checked_), arraySum(values_) AS total_, arrayMin(values_), arrayMax(values_),
			values_[1], values_[-1],
			toUInt32(times_[1] - toUnixTimestamp64Micro(bucket)), toUInt32(times_[-1] - toUnixTimestamp64Micro(bucket)),
			arraySum((step_, value_) -> if(step_ >= 0, step_, value_), arrayDifference(values_), values_),
			arraySum((value_, mean_) -> pow(value_ - mean_, 2), values_,
				arrayWithConstant(length(values_), total_ / length(values_))), %d
		FROM (SELECT series, ` + startOf("Minute") + ` AS bucket, ` + arrays + ` GROUP BY series, bucket)`
}

// hoursOf returns the query for the hours of minutes that were written with a version. The increase of
// an hour is the sum of those of its minutes and of the steps between them. The spreads are merged as
// by Chan, Golub and LeVeque.
func hoursOf(l Layout, where string, version uint64) string {
	return fmt.Sprintf(`
		SELECT series, bucket, toUInt32(arraySum(points_)), arraySum(totals_) AS total_, lowest_, highest_,
			firsts_[1], lasts_[-1],
			toUInt32(first_us_ - toUnixTimestamp64Micro(bucket)), toUInt32(last_us_ - toUnixTimestamp64Micro(bucket)),
			increase_ + arraySum((from_, to_) -> if(to_ >= from_, to_ - from_, to_), arrayPopBack(lasts_),
				arrayPopFront(firsts_)),
			spread_ + arraySum((points_, mean_, hour_) -> points_ * pow(mean_ - hour_, 2), points_,
				arrayMap((value_, points_) -> value_ / points_, totals_, points_),
				arrayWithConstant(length(points_), total_ / arraySum(points_))), %%d
		FROM (SELECT series, %s AS bucket, groupArray(points) AS points_, groupArray(total) AS totals_,
				min(lowest) AS lowest_, max(highest) AS highest_,
				min(toUnixTimestamp64Micro(ts) + first_us) AS first_us_, max(toUnixTimestamp64Micro(ts) + last_us) AS last_us_,
				arraySort((first_, time_) -> time_, groupArray(first), groupArray(ts)) AS firsts_,
				arraySort((last_, time_) -> time_, groupArray(last), groupArray(ts)) AS lasts_,
				sum(increase) AS increase_, sum(spread) AS spread_
			FROM %s PREWHERE %s WHERE version = %d GROUP BY series, bucket)`,
		startOf("Hour"), l.ShardTable(TableMinutes), where, version)
}

// zeroColumns are the columns of a row without points, between its time and its version.
const zeroColumns = "0 AS c1, 0 AS c2, 0 AS c3, 0 AS c4, 0 AS c5, 0 AS c6, 0 AS c7, 0 AS c8, 0 AS c9, 0 AS c10"

// emptyRows returns the query for rows without points in place of the rows of a table in whose minute
// or hour there are no points.
func emptyRows(l Layout, table, unit, where string) string {
	return `SELECT series, ts, ` + zeroColumns + `, %d FROM ` + l.ShardTable(table) + ` FINAL PREWHERE ` + where +
		` WHERE points > 0 AND (series, ts) NOT IN (
			SELECT series, ` + startOf(unit) + ` FROM ` + l.ShardTable(TablePoints) + ` WHERE ` + where + `)`
}

// startOf returns the expression for the start of the minute or hour of a time. Times are in
// UTC, whose hours are those of the Unix epoch.
func startOf(unit string) string { return "toDateTime64(toStartOf" + unit + "(ts), 6, 'UTC')" }

// isDisordered reports whether a statement failed because the times of a minute do not rise.
func isDisordered(err error) bool { return hasCode(err, codeThrown) }

// hasCode reports whether an error is an exception of ClickHouse with a code.
func hasCode(err error, code int32) bool {
	var exception *ch.Exception
	return errors.As(err, &exception) && exception.Code == code
}

// write runs a query that computes rows of a table, and inserts them. The query has a
// placeholder for their version. Each call uses a higher version.
func (r *passRun) write(ctx context.Context, table, query string) (err error) {
	if r.pass.Proceed != nil {
		if err := r.pass.Proceed(ctx); err != nil {
			return err
		}
	}
	defer func(began time.Time) {
		if !isDisordered(err) {
			r.db.metrics.observe(opRollup, began, 0, err)
		}
	}(time.Now())
	ctx, cancel := context.WithTimeout(ctx, RollUpLimit+statementGrace)
	defer cancel()
	r.version++
	statement := "INSERT INTO " + table + " " + rollupColumns + r.db.layout.OnShards(fmt.Sprintf(query, r.version))
	if err := r.db.conn.Exec(ch.Context(ctx, ch.WithSettings(r.settings())), statement); err != nil {
		return fmt.Errorf("writing to %s: %w", table, err)
	}
	return nil
}

// settings returns the settings of the statements of a pass. They use one thread,
// because they are never urgent, and so that rows stay in order. Rows of one time are in one month, so
// that FINAL need not merge across months.
func (r *passRun) settings() ch.Settings {
	return ch.Settings{
		"async_insert": 0, "optimize_on_insert": 0, "insert_deduplicate": 0, "max_partitions_per_insert_block": 0,
		"max_execution_time": int(RollUpLimit.Seconds()), "timeout_overflow_mode": "throw",
		"max_memory_usage": cmp.Or(r.pass.Memory, defaultRollupMemory), "max_query_size": maxStatement,
		"max_threads": 1, "max_insert_threads": 1, "do_not_merge_across_partitions_select_final": 1,
		"optimize_aggregation_in_order": 1, "aggregation_in_order_max_block_bytes": maxMinuteBytes,
	}
}

// countWritten adds the minutes that the last statement wrote to the report.
func (r *passRun) countWritten(ctx context.Context, where string) error {
	var rows, points uint64
	err := r.db.conn.QueryRow(ch.Context(ctx, ch.WithSettings(settings())), fmt.Sprintf(
		"SELECT toUInt64(count()), toUInt64(sum(points)) FROM rollup_1m WHERE %s AND version = %d", where,
		r.version)).Scan(&rows, &points)
	if err != nil {
		return fmt.Errorf("counting rollups: %w", err)
	}
	r.report.Minutes += rows
	r.report.Points += points
	return nil
}
