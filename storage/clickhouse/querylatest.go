package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
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
}

// LatestSeries is a series whose newest point is asked for.
type LatestSeries struct {
	ID     uint64
	Source uuid.UUID
	Texts  bool // and not numbers
}

// LatestPoints gives the newest point of each series, in one column, index for index; nil for
// series without one.
func (db *DB) LatestPoints(ctx context.Context, q LatestQuery) ([]*Points, error) {
	places := newLatestPlaces(q.Series)
	if len(q.Series) == 0 {
		return places.found, nil
	}
	parameters := Range{FromUS: q.FromUS}.parameters()
	parameters["workspace"] = q.Workspace.String()
	var ( // where a row is scanned into: not anew for each
		series uint64
		ts     int64
		number float64
		text   string
	)
	columns, targets := "", []any{&series, &ts, &number}
	if slices.ContainsFunc(q.Series, func(s LatestSeries) bool { return s.Texts }) {
		columns, targets = ", text", append(targets, &text)
	}
	statement := fmt.Sprintf(`
		SELECT series, toUnixTimestamp64Micro(ts) AS us, value%s FROM latest FINAL
		WHERE workspace = {workspace:UUID} AND %s AND us >= {from:Int64}`, columns, q.which())
	err := db.query(ctx, opLatest, statement, parameters, func(scan func(...any) error) error {
		if err := scan(targets...); err != nil {
			return err
		}
		places.put(series, ts, number, text)
		return nil
	})
	for i, p := range places.found {
		if p != nil && p.TS[0] < q.Kept.from(q.Series[i].ID) {
			places.found[i] = nil
		}
	}
	return places.found, err
}

// which gives the condition that selects the series.
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
		either = append(either, fmt.Sprintf("source IN (%s)", uuidList(q.Whole)))
	}
	if len(ids) > 0 {
		either = append(either, fmt.Sprintf("source IN (%s) AND series IN (%s)", uuidList(sources), idArray(ids)))
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
