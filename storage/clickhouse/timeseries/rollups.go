package timeseries

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

const (
	// rollupLeast is the shortest time for which rollups are asked: for less, to find
	// out whether they hold costs as much as they save.
	rollupLeast = clickhouse.HourUS
	// markedMost bounds the marks that a query reads, and markedHours the hours in
	// its statement; beyond, it reads points alone.
	markedMost  = 100_000
	markedHours = 20_000
	// rolledSeries is how many series a statement over rollups names at most: it does
	// so for each of its pieces, and is bounded itself.
	rolledSeries = 20_000
	// seriesMarkedHours is from how many marked hours on a series is read from points
	// for the whole range.
	seriesMarkedHours = 48
)

// stretch is the hours of a series that are marked, from inclusive to exclusive,
// counted from the Unix epoch.
type stretch struct {
	series   uint64
	from, to uint32
}

// rollupPlan says what of a query rollups answer. Points answer the rest: what is
// before and after, the hours that are marked, and the series that are too much so.
type rollupPlan struct {
	table    string
	unit     int64    // the length of its rows, microseconds
	from, to int64    // what rollups answer, microseconds
	rolled   []uint64 // series that they answer for
	points   []uint64 // series that they do not
	hours    []seriesHour
	raised   raisedSeries
}

// raisedSeries are those of the rolled series whose points are kept only from a time on
// that comes after the plan's begin. Rollups answer for each from its first whole row on:
// of what is past its retention some may be in the row before, so that its points answer
// for the rest of that.
type raisedSeries struct {
	ids          []uint64
	kept, rolled []int64 // from when points are kept, and from when rollups answer
}

// seriesHour is one marked hour of a series, counted from the Unix epoch.
type seriesHour struct {
	series uint64
	hour   uint32
}

// plan returns what rollups answer of a query, or nil.
func (r *Reader) plan(ctx context.Context, q *AggregateQuery, asked []Function) (*rollupPlan, error) {
	table, unit := q.rollup(asked)
	if unit == 0 {
		return nil, nil
	}
	p := &rollupPlan{table: table, unit: unit, from: max(q.Range.FromUS, 0, q.Range.Kept.earliest(q.Series))}
	p.from += mod(-p.from, unit)
	p.to = q.Range.ToUS - mod(q.Range.ToUS, unit)
	if p.to-p.from < rollupLeast {
		return nil, nil
	}
	clean, marks, err := r.marksOf(ctx, q.Series, p)
	if err != nil {
		return nil, err
	}
	p.to = min(p.to, clean)
	marks = append(marks, q.Range.Hidden.marks(q.Series, p.from, p.to, markedMost)...)
	if p.to-p.from < rollupLeast || len(marks) > markedMost || !p.leaveOut(q.Series, marks) {
		return nil, nil
	}
	p.raise(q.Range.Kept)
	return p, nil
}

// raise notes which of the rolled series are kept from a later time on than others.
func (p *rollupPlan) raise(kept Kept) {
	r := &p.raised
	for _, id := range p.rolled {
		if from := kept.from(id); from > p.from {
			r.ids, r.kept, r.rolled = append(r.ids, id), append(r.kept, from), append(r.rolled, from+mod(-from, p.unit))
		}
	}
}

// rolledOnly returns the condition that rows of rolled series are in the time for which
// rollups answer, with its AND.
func (p *rollupPlan) rolledOnly() string {
	r := &p.raised
	if len(r.ids) == 0 {
		return ""
	}
	return fmt.Sprintf(" AND toUnixTimestamp64Micro(ts) >= transform(series, %s, %s, %d::Int64)",
		clickhouse.IDArray(r.ids), clickhouse.NumberArray("Int64", r.rolled), p.from)
}

// before returns the condition that points of the raised series are kept and come before
// the time for which rollups answer; not ok: none can.
func (r *raisedSeries) before(to int64) (where string, ok bool) {
	if len(r.ids) == 0 || slices.Min(r.kept) >= to {
		return "", false
	}
	ids := clickhouse.IDArray(r.ids)
	return fmt.Sprintf("ts >= %s AND ts < %s AND toUnixTimestamp64Micro(ts) >= transform(series, %s, %s, 0::Int64)"+
		" AND toUnixTimestamp64Micro(ts) < transform(series, %s, %s, 0::Int64)",
		clickhouse.Moment(slices.Min(r.kept)), clickhouse.Moment(min(slices.Max(r.rolled), to)),
		ids, clickhouse.NumberArray("Int64", r.kept), ids, clickhouse.NumberArray("Int64", r.rolled)), true
}

// rollup returns the table whose rows each are in one bucket of the query, and how
// long they are; zero: none can answer it.
func (q *AggregateQuery) rollup(asked []Function) (table string, unit int64) {
	if q.Raw || q.Texts || len(q.Series) > rolledSeries {
		return "", 0
	}
	for _, f := range asked {
		if _, ok := rollupExpressions[f]; !ok {
			return "", 0
		}
	}
	switch {
	case q.Grid == nil || q.Grid.alignedTo(clickhouse.HourUS):
		return clickhouse.TableHours, clickhouse.HourUS
	case q.Grid.alignedTo(clickhouse.MinuteUS):
		return clickhouse.TableMinutes, clickhouse.MinuteUS
	}
	return "", 0
}

// marksOf reads up to where rollups are clean, and the marks of series in the plan's
// time. It comes before rollups are read: what it finds clean was written before.
func (r *Reader) marksOf(
	ctx context.Context,
	series []uint64,
	p *rollupPlan,
) (clean int64, marks []stretch, err error) {
	statement := fmt.Sprintf(`
		SELECT toUInt64(0), toUInt32(0), toUInt32(0), max(clean) FROM rollup_state
		UNION ALL
		SELECT DISTINCT series, from_hour, to_hour, toInt64(-1) FROM rollup_marks
		WHERE series IN (%s) AND from_hour < %d AND to_hour > %d LIMIT %d`,
		clickhouse.IDArray(series), clickhouse.HourOf(p.to-1)+1, clickhouse.HourOf(p.from), markedMost+1)
	err = r.db.Query(ctx, clickhouse.OpRollupMarks, statement, nil, func(scan func(...any) error) error {
		var (
			m     stretch
			value int64
		)
		if err := scan(&m.series, &m.from, &m.to, &value); err != nil {
			return err
		}
		if value >= 0 {
			clean = value
		} else {
			marks = append(marks, m)
		}
		return nil
	})
	return clean, marks, err
}

// leaveOut takes marked hours and series out of the plan, and reports whether it is
// one still.
func (p *rollupPlan) leaveOut(series []uint64, marks []stretch) bool {
	first, end := uint32(clickhouse.HourOf(p.from)), uint32(clickhouse.HourOf(p.to-1)+1)
	marked := map[uint64]map[uint32]bool{}
	for _, m := range marks {
		hours := marked[m.series]
		if hours == nil {
			hours = map[uint32]bool{}
			marked[m.series] = hours
		}
		for h := max(m.from, first); h < min(m.to, end) && len(hours) <= seriesMarkedHours; h++ {
			hours[h] = true
		}
	}
	for _, id := range series {
		hours := marked[id]
		if len(hours) > seriesMarkedHours {
			p.points = append(p.points, id)
			continue
		}
		p.rolled = append(p.rolled, id)
		for h := range hours {
			p.hours = append(p.hours, seriesHour{id, h})
		}
		delete(marked, id) // a series may be asked for twice
	}
	return len(p.rolled) > 0 && len(p.hours) <= markedHours
}

// rollupColumns of a query: what a point gives, and what a rollup does.
type rollupColumn struct{ name, point, rollup string }

var (
	countColumn   = rollupColumn{"n", "toUInt64(1)", "toUInt64(points)"}
	totalColumn   = rollupColumn{"total", "value", "total"}
	lowestColumn  = rollupColumn{"lowest", "value", "lowest"}
	highestColumn = rollupColumn{"highest", "value", "highest"}
	firstColumn   = rollupColumn{"head", "value", "first"}
	firstAtColumn = rollupColumn{"head_at", "toUnixTimestamp64Micro(ts)", "toUnixTimestamp64Micro(ts) + first_us"}
	lastColumn    = rollupColumn{"tail", "value", "last"}
	lastAtColumn  = rollupColumn{"tail_at", "toUnixTimestamp64Micro(ts)", "toUnixTimestamp64Micro(ts) + last_us"}
)

// rollupExpressions are the functions that rollups can answer, with the columns that
// they are made of. Others need the values themselves. ORDER stands for what orders
// the points of a group of several series.
var rollupExpressions = map[Function]rollupExpression{
	Avg:   {"sum(total) / sum(n)", "total / n", []rollupColumn{totalColumn, countColumn}},
	Sum:   {"sum(total)", "total", []rollupColumn{totalColumn}},
	Count: {"toFloat64(sum(n))", "toFloat64(n)", []rollupColumn{countColumn}},
	Min:   {"min(lowest)", "lowest", []rollupColumn{lowestColumn}},
	Max:   {"max(highest)", "highest", []rollupColumn{highestColumn}},
	First: {"argMin(head, FIRST)", "head", []rollupColumn{firstColumn, firstAtColumn}},
	Last:  {"argMax(tail, LAST)", "tail", []rollupColumn{lastColumn, lastAtColumn}},
}

// rollupExpression is a function of several rows, and of one that is a whole bucket.
type rollupExpression struct {
	sql, alone string
	columns    []rollupColumn
}

// statementFor returns the statement for functions: over rollups where they give the
// same answer, and over points for the rest.
func (r *Reader) statementFor(ctx context.Context, q *AggregateQuery, asked []Function) (string, error) {
	p, err := r.plan(ctx, q, asked)
	if err != nil {
		return "", err
	}
	if p == nil {
		r.db.CountAggregate(clickhouse.SourcePoints)
		return q.statement(asked), nil
	}
	r.db.CountAggregate(p.table)
	return p.statement(q, asked), nil
}

func (p *rollupPlan) statement(q *AggregateQuery, asked []Function) string {
	var columns []rollupColumn
	var several, alone strings.Builder
	at := [2]string{"head_at", "tail_at"}
	if q.several {
		at = [2]string{"(head_at, series)", "(tail_at, series)"}
	}
	for i, f := range asked {
		e := rollupExpressions[f]
		fmt.Fprintf(&several, ", %s AS answer%d", strings.NewReplacer("FIRST", at[0], "LAST", at[1]).Replace(e.sql), i)
		fmt.Fprintf(&alone, ", %s AS answer%d", e.alone, i)
		for _, c := range e.columns {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	pieces := p.pieces(q, columns)
	from := "(" + q.grouped(pieces, several.String()) + ")"
	if p.wholeBuckets(q) {
		from = fmt.Sprintf("(SELECT %s AS grp, us AS bucket%s FROM (%s)", q.groupSQL(), alone.String(), pieces[0])
		if len(pieces) > 1 {
			from += " UNION ALL " + q.grouped(pieces[1:], several.String())
		}
		from += ")"
	}
	return fmt.Sprintf("SELECT * FROM %s ORDER BY grp, bucket LIMIT %d", from, q.Limit+1)
}

// grouped returns the statement that makes the answer's rows of pieces.
func (q *AggregateQuery) grouped(pieces []string, expressions string) string {
	bucket, with := "{from:Int64}", ""
	if q.Grid != nil {
		bucket, with = q.Grid.sql("us"), q.Grid.with("us")
	}
	return fmt.Sprintf("SELECT grp, bucket%s FROM (SELECT *, %s AS grp, %s%s AS bucket FROM (%s)) GROUP BY grp, bucket",
		expressions, q.groupSQL(), with, bucket, strings.Join(pieces, " UNION ALL "))
}

// wholeBuckets reports whether each row of the rollup is a bucket of the answer, which
// then need not be grouped: that takes twice as long as reading it.
func (p *rollupPlan) wholeBuckets(q *AggregateQuery) bool {
	return q.Grid != nil && q.Grid.step == p.unit && !q.several
}

// pieces returns the statements that each read a part of the answer's rows, first that of
// the rollup. No point is in two of them.
func (p *rollupPlan) pieces(q *AggregateQuery, columns []rollupColumn) []string {
	point, row := "series, toUnixTimestamp64Micro(ts) AS us", "series, toUnixTimestamp64Micro(ts) AS us"
	for _, c := range columns {
		point += ", " + c.point + " AS " + c.name
		row += ", " + c.rollup + " AS " + c.name
	}
	points := func(series []uint64, where string) string {
		return fmt.Sprintf(
			"SELECT %s FROM points FINAL PREWHERE series IN (%s) AND %s%s", point, clickhouse.IDArray(series), where,
			q.Range.leavingOut("WHERE"),
		)
	}
	between := func(from, to int64) string {
		return "ts >= " + clickhouse.Moment(from) + " AND ts < " + clickhouse.Moment(to)
	}
	inner, rolledOnly, kept := between(p.from, p.to), p.rolledOnly(), q.Range.Kept
	rolled := fmt.Sprintf("SELECT %s FROM %s FINAL PREWHERE series IN (%s) AND %s WHERE points > 0",
		row, p.table, clickhouse.IDArray(p.rolled), inner+rolledOnly)
	if len(p.hours) > 0 {
		rolled += " AND " + hourExpression + " NOT IN (" + hourList(p.hours) + ")"
	}
	pieces := []string{rolled}
	if q.Range.FromUS < p.from {
		pieces = append(pieces, points(q.Series, between(q.Range.FromUS, p.from)+kept.condition(q.Series, q.Range.FromUS)))
	}
	if p.to < q.Range.ToUS {
		pieces = append(pieces, points(q.Series, between(p.to, q.Range.ToUS)+kept.condition(q.Series, p.to)))
	}
	if len(p.points) > 0 {
		pieces = append(pieces, points(p.points, inner+kept.condition(p.points, p.from)))
	}
	if where, ok := p.raised.before(p.to); ok {
		pieces = append(pieces, points(p.raised.ids, where))
	}
	if len(p.hours) > 0 {
		series, from, to := p.markedSpan()
		pieces = append(pieces, points(series, between(max(from, p.from), min(to, p.to))+rolledOnly+
			" AND "+hourExpression+" IN ("+hourList(p.hours)+")"))
	}
	return pieces
}

// markedSpan returns the series of the marked hours, and the time from the first to
// the end of the last.
func (p *rollupPlan) markedSpan() (series []uint64, from, to int64) {
	first, last := p.hours[0].hour, p.hours[0].hour
	for _, h := range p.hours {
		first, last = min(first, h.hour), max(last, h.hour)
		if n := len(series); n == 0 || series[n-1] != h.series {
			series = append(series, h.series)
		}
	}
	return series, int64(first) * clickhouse.HourUS, int64(last+1) * clickhouse.HourUS
}

// hourExpression is a row's series and hour, as hourList writes them.
var hourExpression = fmt.Sprintf("(series, toUInt32(intDiv(toUnixTimestamp64Micro(ts), %d)))", clickhouse.HourUS)

func hourList(hours []seriesHour) string {
	var list strings.Builder
	for i, h := range hours {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString("(" + strconv.FormatUint(h.series, 10) + "," + strconv.FormatUint(uint64(h.hour), 10) + ")")
	}
	return list.String()
}

// alignedTo reports whether all boundaries of the grid are multiples of a unit, so
// that what is between two of those is in one bucket.
func (g *Grid) alignedTo(unit int64) bool {
	if g.step%unit != 0 {
		return false
	}
	for i, s := range g.segments {
		if s.offset%unit != 0 {
			return false
		}
		if i > 0 && (s.from%unit != 0 || s.first != noBoundary && s.first%unit != 0 || s.before%unit != 0) {
			return false
		}
	}
	return true
}
