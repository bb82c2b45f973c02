package timeseries

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// LatestQuery selects the newest point of series.
type LatestQuery struct {
	Workspace uuid.UUID
	Series    []LatestSeries
	// CompleteSources are the sources of which all series are requested. The statement does not list
	// their series, because parsing the list takes longer than reading the points.
	CompleteSources []uuid.UUID
	FromUS          int64 // only points of this time or later
	KeptFrom        KeptFrom
	Hidden          Hidden
}

// LatestSeries is a series whose newest point is requested.
type LatestSeries struct {
	ID       uint64
	Source   uuid.UUID
	IsString bool // a series of strings, not of numbers
}

// LatestPoints returns the newest point of each series, in one column and in the order of
// q.Series. Series without a point have nil.
func (r *Reader) LatestPoints(ctx context.Context, q LatestQuery) ([]*Points, error) {
	result := newLatestResult(q.Series)
	if len(q.Series) == 0 {
		return result.found, nil
	}
	parameters := Range{FromUS: q.FromUS}.parameters()
	parameters["workspace"] = q.Workspace.String()
	var ( // scan targets, reused by all rows
		series uint64
		ts     int64
		number float64
		text   string

		version uint64
	)
	columns, targets := "", []any{&series, &ts, &number}
	if slices.ContainsFunc(q.Series, func(s LatestSeries) bool { return s.IsString }) {
		columns, targets = ", text", append(targets, &text)
	}
	if len(q.Hidden) > 0 {
		columns, targets = columns+", version", append(targets, &version)
	}
	statement := fmt.Sprintf(`
		SELECT series, toUnixTimestamp64Micro(ts) AS us, value%s FROM latest FINAL
		WHERE workspace = {workspace:UUID} AND %s AND us >= {from:Int64}`, columns, q.seriesCondition())
	err := r.db.Query(ctx, clickhouse.OpLatest, statement, parameters, func(scan func(...any) error) error {
		if err := scan(targets...); err != nil {
			return err
		}
		if !q.Hidden.covers(series, ts, version) {
			result.set(series, ts, number, text)
		}
		return nil
	})
	if err == nil && len(q.Hidden) > 0 {
		err = r.readLatest(ctx, &q, result)
	}
	for i, p := range result.found {
		if p != nil && p.TS[0] < q.KeptFrom.from(q.Series[i].ID) {
			result.found[i] = nil
		}
	}
	return result.found, err
}

// readLatest reads the newest points of series from the tables of points where table latest
// is not sufficient: it has one row for each series, so that a deleted point replaces the
// earlier ones until its deletion is complete.
func (r *Reader) readLatest(ctx context.Context, q *LatestQuery, result *latestResult) error {
	var numbers, texts []uint64
	for i := range q.Series {
		id := q.Series[i].ID
		switch {
		case len(q.Hidden[id]) == 0, result.found[i] != nil && !q.Hidden.unexecuted(id):
		case q.Series[i].IsString:
			texts = append(texts, id)
		default:
			numbers = append(numbers, id)
		}
		if q.Hidden.unexecuted(id) {
			result.found[i] = nil
		}
	}
	points := Range{FromUS: q.FromUS, ToUS: math.MaxInt64, Hidden: q.Hidden}
	if err := points.applyHidden(points.FromUS, numbers, texts); err != nil {
		return err
	}
	for table, ids := range map[string][]uint64{clickhouse.TablePoints: numbers, clickhouse.TableStates: texts} {
		if err := r.readLatestFrom(ctx, table, ids, &points, result); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) readLatestFrom(
	ctx context.Context,
	table string,
	ids []uint64,
	points *Range,
	result *latestResult,
) error {
	if len(ids) == 0 {
		return nil
	}
	var (
		series uint64
		ts     int64
		number float64
		text   string
	)
	value, target := "argMax(value, (ts, version))", any(&number)
	if table == clickhouse.TableStates {
		target = &text
	}
	statement := fmt.Sprintf(`SELECT series, toUnixTimestamp64Micro(max(ts)), %s FROM %s
		PREWHERE series IN (%s) AND ts >= fromUnixTimestamp64Micro({from:Int64}, 'UTC')%s GROUP BY series`,
		value, table, clickhouse.IDArray(ids), points.hiddenCondition("WHERE"))
	parameters := ch.Parameters{"from": strconv.FormatInt(points.FromUS, 10)}
	return r.db.Query(ctx, clickhouse.OpLatest, statement, parameters, func(scan func(...any) error) error {
		if err := scan(&series, &ts, target); err != nil {
			return err
		}
		result.set(series, ts, number, text)
		return nil
	})
}

// seriesCondition returns the condition that selects the series.
func (q *LatestQuery) seriesCondition() string {
	complete := make(map[uuid.UUID]bool, len(q.CompleteSources))
	for _, source := range q.CompleteSources {
		complete[source] = true
	}
	var (
		sources []uuid.UUID // sources of the listed series
		ids     []uint64
		listed  = map[uuid.UUID]bool{}
	)
	for i := range q.Series {
		s := &q.Series[i]
		if complete[s.Source] {
			continue
		}
		if ids = append(ids, s.ID); !listed[s.Source] {
			listed[s.Source], sources = true, append(sources, s.Source)
		}
	}
	var conditions []string
	if len(q.CompleteSources) > 0 {
		conditions = append(conditions, fmt.Sprintf("source IN (%s)", clickhouse.UUIDList(q.CompleteSources)))
	}
	if len(ids) > 0 {
		conditions = append(
			conditions,
			fmt.Sprintf("source IN (%s) AND series IN (%s)", clickhouse.UUIDList(sources), clickhouse.IDArray(ids)),
		)
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// latestResult collects the newest points of series, in memory that is allocated once for
// all of them.
type latestResult struct {
	series  []LatestSeries
	index   map[uint64]int // index of each series
	points  []Points
	times   []int64
	columns []Column
	numbers []float64
	found   []*Points
}

func newLatestResult(series []LatestSeries) *latestResult {
	n := len(series)
	l := &latestResult{
		series: series, index: make(map[uint64]int, n), points: make([]Points, n), times: make([]int64, n),
		columns: make([]Column, n), numbers: make([]float64, n), found: make([]*Points, n),
	}
	for i := range series {
		l.index[series[i].ID] = i
	}
	return l
}

// set sets the point of a series. It ignores series that were not requested.
func (l *latestResult) set(series uint64, ts int64, number float64, text string) {
	i, requested := l.index[series]
	if !requested {
		return
	}
	l.times[i], l.numbers[i] = ts, number
	if l.series[i].IsString {
		l.columns[i].Strings = []*string{new(text)}
	} else {
		l.columns[i].Numbers = l.numbers[i : i+1 : i+1]
	}
	l.points[i] = Points{TS: l.times[i : i+1 : i+1], Columns: l.columns[i : i+1 : i+1]}
	l.found[i] = &l.points[i]
}
