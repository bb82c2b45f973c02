package timeseries

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// rollupColumn is a column of the subqueries: its name, and its expressions over a row of a rollup,
// over a point, over the points of one part of the table, and over these parts (see partials.go).
type rollupColumn struct{ name, rollup, point, part, parts string }

var (
	countColumn   = rollupColumn{"n", "toUInt64(points)", "toUInt64(1)", "count()", "sum(part_n)"}
	totalColumn   = rollupColumn{"total", "total", "value", "sum(value)", "sum(part_total)"}
	lowestColumn  = rollupColumn{"lowest", "lowest", "value", "min(value)", "min(part_lowest)"}
	highestColumn = rollupColumn{"highest", "highest", "value", "max(value)", "max(part_highest)"}
	firstColumn   = rollupColumn{"head", "first", "value", "argMin(value, at)", "argMin(part_head, part_from)"}
	firstAtColumn = rollupColumn{
		"head_at", "toUnixTimestamp64Micro(ts) + first_us", "toUnixTimestamp64Micro(ts)", "min(at)", "min(part_from)",
	}
	lastColumn   = rollupColumn{"tail", "last", "value", "argMax(value, at)", "argMax(part_tail, part_to)"}
	lastAtColumn = rollupColumn{
		"tail_at", "toUnixTimestamp64Micro(ts) + last_us", "toUnixTimestamp64Micro(ts)", "max(at)", "max(part_to)",
	}
	increaseColumn = rollupColumn{name: "increase", rollup: "increase", point: "toFloat64(0)"}
	spreadColumn   = rollupColumn{
		"spread", "spread", "toFloat64(0)", "varPopStable(value) * count()",
		mergeSpread("part_n", "part_total", "part_spread"),
	}
)

// rollupExpressions are the functions that can be computed from rollups. Other functions
// require all values. FIRST and LAST are placeholders for the expressions that order the
// points of a group.
var rollupExpressions = map[Function]rollupExpression{
	Avg:   {"sum(total) / sum(n)", "total / n", []rollupColumn{totalColumn, countColumn}},
	Sum:   {"sum(total)", "total", []rollupColumn{totalColumn}},
	Count: {"toFloat64(sum(n))", "toFloat64(n)", []rollupColumn{countColumn}},
	Min:   {"min(lowest)", "lowest", []rollupColumn{lowestColumn}},
	Max:   {"max(highest)", "highest", []rollupColumn{highestColumn}},
	First: {"argMin(head, FIRST)", "head", []rollupColumn{firstColumn, firstAtColumn}},
	Last:  {"argMax(tail, LAST)", "tail", []rollupColumn{lastColumn, lastAtColumn}},
	StdDev: {
		"sqrt((" + mergeSpread("n", "total", "spread") + ") / (sum(n) - 1))", "sqrt(spread / (n - 1))",
		[]rollupColumn{totalColumn, countColumn, spreadColumn},
	},
}

// rollupExpression is the SQL of a function over columns.
type rollupExpression struct {
	multiRow  string // over several rows of a bucket
	singleRow string // over the only row of a bucket
	columns   []rollupColumn
}

// mergeSpread returns the expression for the spread of the values of several rows, each of which has
// the number, the sum and the spread of its values in the given columns.
func mergeSpread(count, total, spread string) string {
	return fmt.Sprintf("sum(%[3]s) + arraySum((count_, mean_) -> count_ * pow(mean_ - sum(%[2]s) / sum(%[1]s), 2),"+
		" groupArray(%[1]s), groupArray(%[2]s / %[1]s))", count, total, spread)
}

// reading is how points are read.
type reading int

const (
	// byPart reads the rows of each part of the table, and reports whether a point may be in several
	// parts. Then the result is wrong, and must be read again with onlyCurrent.
	byPart reading = iota
	// onlyCurrent reads only the newest version of each point, with FINAL. It takes longer.
	onlyCurrent
)

// untilCertain runs a query by part and, if points may have several rows, again with onlyCurrent.
// run reports whether they may.
func (r *Reader) untilCertain(run func(reading) (repeated bool, err error)) error {
	repeated, err := run(byPart)
	if err != nil || !repeated {
		return err
	}
	r.db.CountRepeated()
	_, err = run(onlyCurrent)
	return err
}

// statementFor returns the statement for functions. It reads the rollups of the plan, which may be
// nil, and points otherwise.
func (q *AggregateQuery) statementFor(requested []Function, p *rollupPlan, how reading) string {
	if p == nil {
		if q.PointsOnly || how == onlyCurrent || !q.canUseRollups(requested) {
			return q.statement(requested)
		}
		p = &rollupPlan{from: q.Range.FromUS, to: q.Range.ToUS, pointSeries: q.Series}
	}
	return p.statement(q, requested, how)
}

// statement returns a statement with the columns of aggregateRows.
func (p *rollupPlan) statement(q *AggregateQuery, requested []Function, how reading) string {
	var columns []rollupColumn
	var multiRow, singleRow strings.Builder
	order := [2]string{"head_at", "tail_at"}
	if q.multiSeries {
		order = [2]string{"(head_at, series)", "(tail_at, series)"}
	}
	for i, f := range requested {
		e := rollupExpressions[f]
		replacer := strings.NewReplacer("FIRST", order[0], "LAST", order[1])
		fmt.Fprintf(&multiRow, ", %s AS answer%d", replacer.Replace(e.multiRow), i)
		fmt.Fprintf(&singleRow, ", %s AS answer%d", e.singleRow, i)
		for _, c := range e.columns {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	subqueries := p.subqueries(q, columns, func(series []uint64, where string) string {
		return q.pointsStatement(columns, series, where, how)
	})
	rows := q.groupedStatement(subqueries, multiRow.String())
	if how == byPart && len(subqueries) == 1 && !q.multiSeries && len(p.rollupSeries) == 0 { // its rows are buckets
		with, bucket := q.bucketSQL("us")
		rows = fmt.Sprintf("WITH %s%s AS bucket SELECT series AS grp, bucket%s, uncertain AS repeated FROM (%s)",
			with, bucket, singleRow.String(), subqueries[0])
	} else if p.rowsAreBuckets(q) {
		rows = fmt.Sprintf("SELECT %s AS grp, us AS bucket%s, uncertain AS repeated FROM (%s)",
			q.groupSQL(), singleRow.String(), subqueries[0])
		if len(subqueries) > 1 {
			rows = "SELECT * FROM (" + rows + " UNION ALL " + q.groupedStatement(subqueries[1:], multiRow.String()) + ")"
		}
	}
	return fmt.Sprintf("%s ORDER BY grp, bucket LIMIT %d%s", rows, q.Limit+1, q.settings(how))
}

// bucketSQL returns the expression for the start of the bucket of a column with times, and the
// columns that it refers to, each followed by a comma.
func (q *AggregateQuery) bucketSQL(column string) (with, bucket string) {
	if q.Grid == nil {
		return "", strconv.FormatInt(q.Range.FromUS, 10) + "::Int64"
	}
	return q.Grid.with(column), q.Grid.sql(column)
}

// groupedStatement returns the statement that groups the rows of subqueries to rows of the
// result.
func (q *AggregateQuery) groupedStatement(subqueries []string, expressions string) string {
	with, bucket := q.bucketSQL("us")
	return fmt.Sprintf("WITH %s AS grp, %s%s AS bucket SELECT grp, bucket%s, max(uncertain) AS repeated FROM (%s)"+
		" GROUP BY grp, bucket", q.groupSQL(), with, bucket, expressions, strings.Join(subqueries, " UNION ALL "))
}

// rowsAreBuckets reports whether each row of the rollup is a bucket of the result. Its rows
// are then not grouped, because grouping takes twice as long as reading them.
func (p *rollupPlan) rowsAreBuckets(q *AggregateQuery) bool {
	return len(p.rollupSeries) > 0 && q.Grid != nil && q.Grid.step == p.unit && !q.multiSeries
}

// subqueries returns statements that each read a part of the rows of the result, with the columns
// series, us, those given, and uncertain: bits as in the last column of aggregateRows. The first one
// reads the rollup, if the plan has one. readPoints returns a statement for points. No point is in
// two of the statements.
func (p *rollupPlan) subqueries(
	q *AggregateQuery, columns []rollupColumn, readPoints func(series []uint64, where string) string,
) (subqueries []string) {
	points := func(series []uint64, where string) {
		subqueries = append(subqueries, readPoints(series, where))
	}
	between := func(from, to int64) string {
		return "ts >= " + clickhouse.TimeExpression(from) + " AND ts < " + clickhouse.TimeExpression(to)
	}
	inner, rollupOnly, kept := between(p.from, p.to), p.rollupCondition(), q.Range.KeptFrom
	if len(p.rollupSeries) > 0 {
		row, uncertain := "series, toUnixTimestamp64Micro(ts) AS us", "toUInt8(0)"
		for _, c := range columns {
			row += ", " + c.rollup + " AS " + c.name
			if c == spreadColumn || c == increaseColumn { // NaN if they did not exist yet
				uncertain = fmt.Sprintf("toUInt8(%d * isNaN(%s))", lackingColumn, c.name)
			}
		}
		final, where := " FINAL", "points > 0"
		if p.allVersions {
			row, final, where = row+", version", "", "true"
			uncertain = fmt.Sprintf("toUInt8(%s + %d * (points = 0))", uncertain, goneRow)
		}
		rollup := fmt.Sprintf(
			"SELECT %s, %s AS uncertain FROM %s%s PREWHERE series IN (%s) AND %s WHERE %s",
			row, uncertain, p.table, final, clickhouse.IDArray(p.rollupSeries), inner+rollupOnly, where,
		)
		unmarked := ""
		if len(p.markedHours) > 0 {
			unmarked = " AND " + hourExpression + " NOT IN (" + hourList(p.markedHours) + ")"
		}
		if p.divided != 0 {
			rollup += " AND ts != " + clickhouse.TimeExpression(p.divided)
		}
		subqueries = append(subqueries, rollup+unmarked)
		if p.divided != 0 {
			points(p.rollupSeries, between(p.divided, p.divided+p.unit)+rollupOnly+unmarked)
		}
	}
	if q.Range.FromUS < p.from {
		points(q.Series, between(q.Range.FromUS, p.from)+kept.condition(q.Series, q.Range.FromUS))
	}
	if p.to < q.Range.ToUS {
		points(q.Series, between(p.to, q.Range.ToUS)+kept.condition(q.Series, p.to))
	}
	if len(p.pointSeries) > 0 {
		points(p.pointSeries, inner+kept.condition(p.pointSeries, p.from))
	}
	if where, ok := p.truncated.pointsCondition(p.to); ok {
		points(p.truncated.ids, where)
	}
	if len(p.markedHours) > 0 {
		series, from, to := p.markedSpan()
		points(series, between(max(from, p.from), min(to, p.to))+rollupOnly+
			" AND "+hourExpression+" IN ("+hourList(p.markedHours)+")")
	}
	return subqueries
}
