package timeseries

import (
	"fmt"
	"strings"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// A point that was stored again, or was overwritten, has several rows until ClickHouse merges them.
// FINAL merges them for each query, which takes most of its time. It is rarely necessary: no part of
// the table has two rows of one point, because the points of an insert are distinct and merges keep
// one row of each. A point has several rows only if it is in several parts, and then the time ranges
// of its series in these parts overlap. Points that arrive in the order of time do not overlap.
//
// Statements that read by part therefore aggregate the rows of each series, bucket and part first,
// with the time range of these rows. Bucket and part are one key, which takes less time than two. If
// no ranges of one series and bucket overlap, each point was counted once, and the parts are combined.
// Otherwise the result is uncertain, and the query is repeated with FINAL. A statement reads a snapshot
// of the parts, so merges and inserts that take place meanwhile do not matter. See
// docs/adr/0048-reading-without-final.md.

// partsPerBucket is the factor by which the number of a bucket is multiplied in a key that also contains
// the index of a part. The numbers of buckets are microseconds, so keys are distinct as long as there
// are fewer parts than this factor times the microseconds of a bucket.
const partsPerBucket = 4096

// maxHashedRows is the number of rows of a result up to which a statement by part keeps its groups in
// memory, with about 100 bytes each.
const maxHashedRows = 1_000_000

// pointsStatement returns the statement that reads points of series, with the columns of
// rollupPlan.subqueries.
func (q *AggregateQuery) pointsStatement(columns []rollupColumn, series []uint64, where string, how reading) string {
	if how == onlyCurrent {
		return q.pointRows(columns, clickhouse.TablePoints+" FINAL", series, where)
	}
	key := "part"
	if q.Grid != nil {
		key = fmt.Sprintf("(%s - %d) * %d + part", q.Grid.sql("at"), q.Range.FromUS, partsPerBucket)
	}
	with, bucket := q.bucketSQL("part_from")
	var part, parts strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&part, ", %s AS part_%s", c.part, c.name)
		fmt.Fprintf(&parts, ", %s AS %s", c.parts, c.name)
	}
	withAt, _ := q.bucketSQL("at")
	// Expressions in WITH take ClickHouse less time to analyze than subqueries that add columns.
	byPart := fmt.Sprintf("WITH toUnixTimestamp64Micro(ts) AS at, %s_part_index AS part"+
		" SELECT series, %s AS key, min(at) AS part_from, max(at) AS part_to%s FROM %s PREWHERE %s GROUP BY series, key",
		withAt, key, part.String(), q.layout.ShardTable(clickhouse.TablePoints), q.pointCondition(series, where))
	return q.layout.OnShards(fmt.Sprintf(`
		WITH %s%s AS bucket
		SELECT series, min(part_from) AS us%s, toUInt8(maxIntersections(part_from, part_to + 1) > 1) AS uncertain
		FROM (%s) GROUP BY series, bucket`, with, bucket, parts.String(), byPart))
}

// pointCondition returns the condition, for PREWHERE, that points are of the series, fulfil where and are not hidden.
func (q *AggregateQuery) pointCondition(series []uint64, where string) string {
	return "series IN (" + clickhouse.IDArray(series) + ") AND " + where + q.Range.hiddenCondition("WHERE")
}

// pointRows returns the statement that reads a row for each stored point of series, or row of a point.
func (q *AggregateQuery) pointRows(columns []rollupColumn, table string, series []uint64, where string) string {
	list := "series, toUnixTimestamp64Micro(ts) AS us"
	for _, c := range columns {
		list += ", " + c.point + " AS " + c.name
	}
	return "SELECT " + list + ", toUInt8(0) AS uncertain FROM " + table + " PREWHERE " + q.pointCondition(series, where)
}

// settings returns the settings of a statement, preceded by their keyword. If the result has few rows,
// a statement by part keeps all groups in memory. In the order of the table it would need memory for
// one series only, but it would have to merge the rows of all parts, as FINAL does.
func (q *AggregateQuery) settings(how reading) string {
	if how == onlyCurrent || q.maxRows() > maxHashedRows {
		return ""
	}
	return " SETTINGS optimize_aggregation_in_order = 0"
}

// maxRows returns the number of buckets of all series, or more than maxHashedRows.
func (q *AggregateQuery) maxRows() int {
	if q.Grid == nil {
		return len(q.Series)
	}
	return len(q.Series) * q.Grid.Count(q.Range.FromUS, q.Range.ToUS, maxHashedRows)
}
