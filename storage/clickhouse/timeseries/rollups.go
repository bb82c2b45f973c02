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
	// minRollupRange is the shortest range for which rollups are used. For shorter ranges,
	// checking whether they are valid costs as much as they save.
	minRollupRange = clickhouse.HourUS
	// maxMarks limits the marks that a query reads, and maxMarkedHours the hours in its
	// statement. Beyond either limit, the query reads only points.
	maxMarks       = 100_000
	maxMarkedHours = 20_000
	// maxRollupSeries is the maximum number of series in a statement over rollups, which
	// repeats them in each of its subqueries. The length of a statement is limited.
	maxRollupSeries = 20_000
	// maxMarkedHoursPerSeries is the maximum number of marked hours of a series. Beyond it,
	// the series is read from points for the whole range.
	maxMarkedHoursPerSeries = 48
)

// hourRange is a range of marked hours of a series, from inclusive to exclusive, counted
// from the Unix epoch.
type hourRange struct {
	series   uint64
	from, to uint32
}

// rollupPlan is the part of a query that is read from rollups. Points are read for the time
// before and after, for marked hours, and for series with too many marked hours.
type rollupPlan struct {
	table        string
	unit         int64        // duration of a row of the table, in microseconds
	from, to     int64        // range that is read from rollups, in microseconds
	divided      int64        // start of a row that is not read because a bucket begins within it; 0: none
	rollupSeries []uint64     // series that are read from rollups
	pointSeries  []uint64     // series that are read from points
	markedHours  []seriesHour // of rollupSeries; read from points
	truncated    truncatedSeries
	allVersions  bool // all rows of the table are read, with their versions, instead of the newest
}

// truncatedSeries are those of the plan's rollupSeries whose points are kept only from a
// time after the begin of the plan. Rollups are read from the first row that is kept
// entirely. The row before it may contain points that are past their retention, so its kept
// points are read instead.
type truncatedSeries struct {
	ids        []uint64
	keptFrom   []int64 // time from which on points are kept
	rollupFrom []int64 // time from which on rollups are read
}

// seriesHour is one marked hour of a series, counted from the Unix epoch.
type seriesHour struct {
	series uint64
	hour   uint32
}

// plan returns the part of a query that is read from rollups, nil if there is none.
func (r *Reader) plan(ctx context.Context, q *AggregateQuery, requested []Function) (*rollupPlan, error) {
	table, unit := q.rollupTable(requested)
	if unit == 0 {
		return nil, nil
	}
	p := &rollupPlan{table: table, unit: unit, from: max(q.Range.FromUS, 0, q.Range.KeptFrom.earliest(q.Series))}
	p.from += mod(-p.from, unit)
	p.to = q.Range.ToUS - mod(q.Range.ToUS, unit)
	if p.to-p.from < minRollupRange {
		return nil, nil
	}
	cleanUntil, err := r.db.CleanUntil(ctx)
	if err != nil {
		return nil, err
	}
	if p.to = min(p.to, cleanUntil); p.to-p.from < minRollupRange {
		return nil, nil
	}
	marks, err := r.readMarks(ctx, q.Series, p)
	if err != nil {
		return nil, err
	}
	marks = append(marks, q.Range.Hidden.marks(q.Series, p.from, p.to, maxMarks)...)
	if len(marks) > maxMarks || !p.excludeMarked(q.Series, marks) {
		return nil, nil
	}
	p.setTruncated(q.Range.KeptFrom)
	return p, nil
}

// setTruncated sets the truncated series of the plan.
func (p *rollupPlan) setTruncated(kept KeptFrom) {
	t := &p.truncated
	for _, id := range p.rollupSeries {
		if from := kept.from(id); from > p.from {
			t.ids, t.keptFrom = append(t.ids, id), append(t.keptFrom, from)
			t.rollupFrom = append(t.rollupFrom, from+mod(-from, p.unit))
		}
	}
}

// rollupCondition returns the condition, beginning with AND, that rows are in the time in
// which rollups are read for their series. It is empty if no series is truncated.
func (p *rollupPlan) rollupCondition() string {
	r := &p.truncated
	if len(r.ids) == 0 {
		return ""
	}
	return fmt.Sprintf(" AND toUnixTimestamp64Micro(ts) >= transform(series, %s, %s, %d::Int64)",
		clickhouse.IDArray(r.ids), clickhouse.NumberArray("Int64", r.rollupFrom), p.from)
}

// pointsCondition returns the condition that points of truncated series are kept and before
// the time from which on rollups are read. ok is false if no point can fulfil it.
func (r *truncatedSeries) pointsCondition(to int64) (where string, ok bool) {
	if len(r.ids) == 0 || slices.Min(r.keptFrom) >= to {
		return "", false
	}
	ids := clickhouse.IDArray(r.ids)
	return fmt.Sprintf("ts >= %s AND ts < %s AND toUnixTimestamp64Micro(ts) >= transform(series, %s, %s, 0::Int64)"+
		" AND toUnixTimestamp64Micro(ts) < transform(series, %s, %s, 0::Int64)",
		clickhouse.TimeExpression(slices.Min(r.keptFrom)), clickhouse.TimeExpression(min(slices.Max(r.rollupFrom), to)),
		ids, clickhouse.NumberArray("Int64", r.keptFrom), ids, clickhouse.NumberArray("Int64", r.rollupFrom)), true
}

// rollupTable returns the rollup table of which each row lies within one bucket of the
// query, and the duration of its rows. The duration is 0 if the query requires points.
func (q *AggregateQuery) rollupTable(requested []Function) (table string, unit int64) {
	if q.PointsOnly || len(q.Series) > maxRollupSeries || !q.canUseRollups(requested) {
		return "", 0
	}
	switch {
	case q.Grid == nil || q.Grid.alignedTo(clickhouse.HourUS):
		return clickhouse.TableHours, clickhouse.HourUS
	case q.Grid.alignedTo(clickhouse.MinuteUS):
		return clickhouse.TableMinutes, clickhouse.MinuteUS
	}
	return "", 0
}

// canUseRollups reports whether the functions can be computed from rollups.
func (q *AggregateQuery) canUseRollups(requested []Function) bool {
	return !q.IsString && !slices.ContainsFunc(requested, func(f Function) bool {
		_, ok := rollupExpressions[f]
		return !ok && !f.isCounter()
	})
}

// readMarks reads the marks of series in the range of the plan. It must run after clean was read and before
// rollups are: clean rollups are then already written.
func (r *Reader) readMarks(ctx context.Context, series []uint64, p *rollupPlan) (marks []hourRange, err error) {
	statement := fmt.Sprintf(`
		SELECT DISTINCT series, from_hour, to_hour FROM rollup_marks
		WHERE series IN (%s) AND from_hour < %d AND to_hour > %d LIMIT %d`,
		clickhouse.IDArray(series), clickhouse.HourOf(p.to-1)+1, clickhouse.HourOf(p.from), maxMarks+1)
	err = r.db.Query(ctx, clickhouse.OpRollupMarks, statement, nil, func(scan func(...any) error) error {
		var m hourRange
		if err := scan(&m.series, &m.from, &m.to); err != nil {
			return err
		}
		marks = append(marks, m)
		return nil
	})
	return marks, err
}

// excludeMarked removes marked hours and series from the part that is read from rollups. It
// reports whether the plan is still useful.
func (p *rollupPlan) excludeMarked(series []uint64, marks []hourRange) bool {
	first, end := uint32(clickhouse.HourOf(p.from)), uint32(clickhouse.HourOf(p.to-1)+1)
	marked := map[uint64]map[uint32]bool{}
	for _, m := range marks {
		hours := marked[m.series]
		if hours == nil {
			hours = map[uint32]bool{}
			marked[m.series] = hours
		}
		for h := max(m.from, first); h < min(m.to, end) && len(hours) <= maxMarkedHoursPerSeries; h++ {
			hours[h] = true
		}
	}
	for _, id := range series {
		hours := marked[id]
		if len(hours) > maxMarkedHoursPerSeries {
			p.pointSeries = append(p.pointSeries, id)
			continue
		}
		p.rollupSeries = append(p.rollupSeries, id)
		for h := range hours {
			p.markedHours = append(p.markedHours, seriesHour{id, h})
		}
		delete(marked, id) // a query may contain a series twice
	}
	return len(p.rollupSeries) > 0 && len(p.markedHours) <= maxMarkedHours
}

// markedSpan returns the series of the marked hours, and the range from the start of the
// first hour to the end of the last.
func (p *rollupPlan) markedSpan() (series []uint64, from, to int64) {
	first, last := p.markedHours[0].hour, p.markedHours[0].hour
	for _, h := range p.markedHours {
		first, last = min(first, h.hour), max(last, h.hour)
		if n := len(series); n == 0 || series[n-1] != h.series {
			series = append(series, h.series)
		}
	}
	return series, int64(first) * clickhouse.HourUS, int64(last+1) * clickhouse.HourUS
}

// hourExpression is the SQL expression for the series and the hour of a row, in the form of
// hourList.
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

// alignedTo reports whether all boundaries of the grid are multiples of a unit, so that the
// time between two such multiples is in one bucket.
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
