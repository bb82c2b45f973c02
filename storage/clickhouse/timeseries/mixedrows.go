package timeseries

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// A query with rollups also reads points: before the first full minute, since the last full hour, and in marked hours.
// ClickHouse plans the groups of few points longer than it reads them. If both are few, the statement returns the rows
// of the rollup and the points, and this process groups them.

// hasFewRows reports whether the plan reads few rows of the rollup and probably few points. Without points, ClickHouse
// does not take longer.
func (p *rollupPlan) hasFewRows(q *AggregateQuery) bool {
	points := p.pointSeconds(q)
	return q.FineFrom == 0 && points > 0 && points <= fewPoints && p.rollupRows() <= fewPoints
}

// groupMixed reads the rows of the plan and groups them. It returns nil if they are more than maxFewRows.
func (r *Reader) groupMixed(
	ctx context.Context, q *AggregateQuery, requested []Function, p *rollupPlan,
) (*aggregateRows, error) {
	var columns []rollupColumn
	for _, f := range requested {
		for _, c := range rollupExpressions[f].columns {
			// Rows are in the order of time, so the times of the first and the last point are not needed.
			if c != firstAtColumn && c != lastAtColumn && !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	subqueries := p.subqueries(q, columns, func(series []uint64, where string) string {
		return fmt.Sprintf("(%s LIMIT %d)", q.pointRows(columns, clickhouse.TablePoints, series, where), maxFewRows+1)
	})
	m := newMixedRows(newBucketRuns(q, maxFewRows), columns)
	return r.groupRuns(ctx, q, requested, m.runs, strings.Join(subqueries, " UNION ALL "), m.columns, m.add)
}

// mixedRows collects rows of a rollup, each of which is for all points of its time, and points. No point is in two
// rows, unless points have several.
type mixedRows struct {
	runs    *bucketRuns
	columns []ch.ColumnNameAndType // series, us, those requested, uncertain
	count   int                    // index of the column with the number of points; -1: it is not requested
	// values are the indexes of the columns with the total, the lowest, the highest, the first and the last value; -1 as
	// for count.
	values [5]int
}

func newMixedRows(runs *bucketRuns, requested []rollupColumn) *mixedRows {
	m := &mixedRows{runs: runs, columns: []ch.ColumnNameAndType{pointColumns[0], pointColumns[1]}}
	for _, c := range requested {
		kind := "Float64"
		if c == countColumn {
			kind = "UInt64"
		}
		m.columns = append(m.columns, ch.ColumnNameAndType{Name: c.name, Type: kind})
	}
	m.columns = append(m.columns, ch.ColumnNameAndType{Name: "uncertain", Type: "UInt8"})
	index := func(c rollupColumn) int {
		if i := slices.Index(requested, c); i >= 0 {
			return 2 + i
		}
		return -1
	}
	m.count = index(countColumn)
	for i, c := range []rollupColumn{totalColumn, lowestColumn, highestColumn, firstColumn, lastColumn} {
		m.values[i] = index(c)
	}
	return m
}

// add adds the rows of a block. Consecutive rows of one series and bucket in the order of time are one run.
func (m *mixedRows) add(block *native.Block) error {
	b, series, times := m.runs, block.UInt64(0), block.Int64(1)
	var counts []uint64
	if m.count >= 0 {
		counts = block.UInt64(m.count)
	}
	unused := make([]float64, len(series)) // the values of columns that are not requested
	var values [5][]float64
	for i, column := range m.values {
		if values[i] = unused; column >= 0 {
			values[i] = block.Float64(column)
		}
	}
	totals, lows, highs, firsts, lasts := values[0], values[1], values[2], values[3], values[4]
	before, end := len(b.series), int64(0) // end is that of the bucket of the last run
	for row, at := range times {
		count := 1.0
		if counts != nil {
			count = float64(counts[row])
		}
		if last := len(b.series) - 1; last >= before && b.series[last] == series[row] && at > b.to[last] && at < end {
			b.to[last], b.last[last] = at, lasts[row]
			b.count[last], b.sum[last] = b.count[last]+count, b.sum[last]+totals[row]
			b.low[last], b.high[last] = min(b.low[last], lows[row]), max(b.high[last], highs[row])
			continue
		}
		bucket := b.grid.Start(at)
		end = b.grid.Next(bucket)
		b.appendRun(series[row], bucket, at, at, count, totals[row], lows[row], highs[row], firsts[row], lasts[row])
	}
	return b.endBlock(before, len(series))
}
