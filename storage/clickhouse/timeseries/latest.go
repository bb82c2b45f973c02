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

// LatestQuery asks for the newest point of series.
type LatestQuery struct {
	Workspace uuid.UUID
	Series    []LatestSeries
	// Whole are sources all of whose series are asked for. ClickHouse is not told their
	// series one by one, which takes it longer to read than the points.
	Whole  []uuid.UUID
	FromUS int64 // only points from here on
	Kept   Kept
	Hidden Hidden
}

// LatestSeries is a series whose newest point is asked for.
type LatestSeries struct {
	ID     uint64
	Source uuid.UUID
	Texts  bool // and not numbers
}

// LatestPoints returns the newest point of each series, in one column, index for index; nil for
// series without one.
func (r *Reader) LatestPoints(ctx context.Context, q LatestQuery) ([]*Points, error) {
	places := newLatestPlaces(q.Series)
	if len(q.Series) == 0 {
		return places.found, nil
	}
	parameters := Range{FromUS: q.FromUS}.parameters()
	parameters["workspace"] = q.Workspace.String()
	var ( // where a row is scanned into: not again for each
		series uint64
		ts     int64
		number float64
		text   string

		version uint64
	)
	columns, targets := "", []any{&series, &ts, &number}
	if slices.ContainsFunc(q.Series, func(s LatestSeries) bool { return s.Texts }) {
		columns, targets = ", text", append(targets, &text)
	}
	if len(q.Hidden) > 0 {
		columns, targets = columns+", version", append(targets, &version)
	}
	statement := fmt.Sprintf(`
		SELECT series, toUnixTimestamp64Micro(ts) AS us, value%s FROM latest FINAL
		WHERE workspace = {workspace:UUID} AND %s AND us >= {from:Int64}`, columns, q.which())
	err := r.db.Query(ctx, clickhouse.OpLatest, statement, parameters, func(scan func(...any) error) error {
		if err := scan(targets...); err != nil {
			return err
		}
		if !q.Hidden.covers(series, ts, version) {
			places.put(series, ts, number, text)
		}
		return nil
	})
	if err == nil && len(q.Hidden) > 0 {
		err = r.findLatest(ctx, &q, places)
	}
	for i, p := range places.found {
		if p != nil && p.TS[0] < q.Kept.from(q.Series[i].ID) {
			places.found[i] = nil
		}
	}
	return places.found, err
}

// findLatest finds the newest points of series of which table latest cannot tell them:
// it has one row of each, so a deleted one hides those before it until its deletion
// comes to an end.
func (r *Reader) findLatest(ctx context.Context, q *LatestQuery, places *latestPlaces) error {
	var numbers, texts []uint64
	for i := range q.Series {
		id := q.Series[i].ID
		switch {
		case len(q.Hidden[id]) == 0, places.found[i] != nil && !q.Hidden.unexecuted(id):
		case q.Series[i].Texts:
			texts = append(texts, id)
		default:
			numbers = append(numbers, id)
		}
		if q.Hidden.unexecuted(id) {
			places.found[i] = nil
		}
	}
	within := Range{FromUS: q.FromUS, ToUS: math.MaxInt64, Hidden: q.Hidden}
	if err := within.hide(within.FromUS, numbers, texts); err != nil {
		return err
	}
	for table, of := range map[string][]uint64{clickhouse.TableNumbers: numbers, clickhouse.TableTexts: texts} {
		if err := r.findLatestIn(ctx, table, of, &within, places); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) findLatestIn(
	ctx context.Context,
	table string,
	of []uint64,
	within *Range,
	places *latestPlaces,
) error {
	if len(of) == 0 {
		return nil
	}
	var (
		series uint64
		ts     int64
		number float64
		text   string
	)
	value, target := "argMax(value, (ts, version))", any(&number)
	if table == clickhouse.TableTexts {
		target = &text
	}
	statement := fmt.Sprintf(`SELECT series, toUnixTimestamp64Micro(max(ts)), %s FROM %s
		PREWHERE series IN (%s) AND ts >= fromUnixTimestamp64Micro({from:Int64}, 'UTC')%s GROUP BY series`,
		value, table, clickhouse.IDArray(of), within.leavingOut("WHERE"))
	parameters := ch.Parameters{"from": strconv.FormatInt(within.FromUS, 10)}
	return r.db.Query(ctx, clickhouse.OpLatest, statement, parameters, func(scan func(...any) error) error {
		if err := scan(&series, &ts, target); err != nil {
			return err
		}
		places.put(series, ts, number, text)
		return nil
	})
}

// which returns the condition that selects the series.
func (q *LatestQuery) which() string {
	whole := make(map[uuid.UUID]bool, len(q.Whole))
	for _, source := range q.Whole {
		whole[source] = true
	}
	var (
		sources []uuid.UUID // of the series that are told
		ids     []uint64
		told    = map[uuid.UUID]bool{}
	)
	for i := range q.Series {
		s := &q.Series[i]
		if whole[s.Source] {
			continue
		}
		if ids = append(ids, s.ID); !told[s.Source] {
			told[s.Source], sources = true, append(sources, s.Source)
		}
	}
	var either []string
	if len(q.Whole) > 0 {
		either = append(either, fmt.Sprintf("source IN (%s)", clickhouse.UUIDList(q.Whole)))
	}
	if len(ids) > 0 {
		either = append(
			either,
			fmt.Sprintf("source IN (%s) AND series IN (%s)", clickhouse.UUIDList(sources), clickhouse.IDArray(ids)),
		)
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// latestPlaces are where the newest points of series go, all made at once.
type latestPlaces struct {
	series  []LatestSeries
	of      map[uint64]int // by series: the index of its place
	points  []Points
	times   []int64
	columns []Column
	numbers []float64
	found   []*Points
}

func newLatestPlaces(series []LatestSeries) *latestPlaces {
	n := len(series)
	l := &latestPlaces{
		series: series, of: make(map[uint64]int, n), points: make([]Points, n), times: make([]int64, n),
		columns: make([]Column, n), numbers: make([]float64, n), found: make([]*Points, n),
	}
	for i := range series {
		l.of[series[i].ID] = i
	}
	return l
}

// put takes up a point, unless its series was not asked for.
func (l *latestPlaces) put(series uint64, ts int64, number float64, text string) {
	i, asked := l.of[series]
	if !asked {
		return
	}
	l.times[i], l.numbers[i] = ts, number
	if l.series[i].Texts {
		l.columns[i].Texts = []*string{new(text)}
	} else {
		l.columns[i].Numbers = l.numbers[i : i+1 : i+1]
	}
	l.points[i] = Points{TS: l.times[i : i+1 : i+1], Columns: l.columns[i : i+1 : i+1]}
	l.found[i] = &l.points[i]
}
