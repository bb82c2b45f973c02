package contract_test

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// modelSeries is a series of a naive model: the last value of each time.
type modelSeries struct {
	seriesKey
	points map[int64]any
}

// modelQuery is a query of the model.
type modelQuery struct {
	sources, metrics, rooms []string
	from, to                int64
	functions               []string
	interval                time.Duration
	zone                    string
	fill                    string
	groupBy                 []string // nil: each series
	descending              bool
}

func (q *modelQuery) params() string {
	v := url.Values{"pointsLimit": {"1000000"}, "limit": {"100"}, "epoch": {"us"}}
	v["sourceId"], v["metric"], v["tag.room"] = q.sources, q.metrics, q.rooms
	for name, us := range map[string]int64{"from": q.from, "to": q.to} {
		v.Set(name, time.UnixMicro(us).UTC().Format(time.RFC3339Nano))
	}
	for name, text := range map[string]string{
		"aggregation": strings.Join(q.functions, ","), "timezone": q.zone, "fill": q.fill,
		"groupBy": strings.Join(q.groupBy, ","),
	} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if q.interval > 0 {
		v.Set("interval", fmt.Sprintf("%ds", int(q.interval.Seconds())))
	}
	if q.descending {
		v.Set("order", "desc")
	}
	return v.Encode()
}

func (q *modelQuery) selects(s *modelSeries) bool {
	takes := func(of []string, value string) bool { return len(of) == 0 || slices.Contains(of, value) }
	room, has := s.tags["room"]
	return takes(q.sources, s.source) && takes(q.metrics, s.metric) &&
		(len(q.rooms) == 0 || has && slices.Contains(q.rooms, room))
}

// group returns the name of the row of the answer that a series belongs to.
func (q *modelQuery) group(s *modelSeries) string {
	source, metric, tags := s.source, s.metric, fmt.Sprint(s.tags)
	if q.groupBy != nil {
		if !slices.Contains(q.groupBy, "sourceId") {
			source = ""
		}
		if !slices.Contains(q.groupBy, "metric") {
			metric = ""
		}
		tags = "map[]"
		if room, has := s.tags["room"]; has && slices.Contains(q.groupBy, "tag.room") {
			tags = "map[room:" + room + "]"
		}
	}
	return fmt.Sprint(source, " ", metric, " ", tags, " ", s.text)
}

// bucketPoint is a point of a bucket.
type bucketPoint struct {
	us    int64
	value any
}

// answer returns the expected rows of the query, by group.
func (q *modelQuery) answer(all []*modelSeries) map[string][][]any {
	zone, _ := time.LoadLocation(orDefault(q.zone, "UTC"))
	grid := timeseries.NewGrid(max(q.interval, time.Second), zone, q.from, q.to)
	found := map[string]map[int64][]bucketPoint{} // group, bucket
	textual := map[string]bool{}
	for _, s := range all {
		if !q.selects(s) {
			continue
		}
		key := q.group(s)
		if found[key] == nil {
			found[key] = map[int64][]bucketPoint{}
		}
		textual[key] = s.text
		for us, value := range s.points {
			if us < q.from || us >= q.to {
				continue
			}
			bucket := q.from
			switch {
			case len(q.functions) == 0:
				bucket = us
			case q.interval > 0:
				bucket = grid.Start(us)
			}
			found[key][bucket] = append(found[key][bucket], bucketPoint{us, value})
		}
	}
	out := map[string][][]any{}
	counters := q.counters(all, grid)
	for key, buckets := range found {
		out[key] = q.rows(buckets, textual[key], grid, counters[key])
		if q.descending {
			slices.Reverse(out[key])
		}
	}
	return out
}

// counters returns the rate and delta of each group and bucket that has a step.
func (q *modelQuery) counters(all []*modelSeries, grid *timeseries.Grid) map[string]map[int64]map[string]float64 {
	back := max(q.interval, time.Hour)
	if q.interval == 0 {
		back = min(max(time.Duration(q.to-q.from)*time.Microsecond, time.Hour), 24*time.Hour)
	}
	out := map[string]map[int64]map[string]float64{}
	for _, s := range all {
		if s.text || !q.selects(s) {
			continue
		}
		deltas, seconds := map[int64]float64{}, map[int64]float64{}
		prior := int64(math.MinInt64)
		for _, us := range sortedInts(s.points) {
			if us < q.from-back.Microseconds() || us >= q.to {
				continue
			}
			if us >= q.from && prior != math.MinInt64 {
				now, before := s.points[us].(float64), s.points[prior].(float64)
				if now >= before {
					now -= before
				}
				bucket := q.from
				if q.interval > 0 {
					bucket = grid.Start(us)
				}
				deltas[bucket] += now
				seconds[bucket] += float64(us-prior) / 1e6
			}
			prior = us
		}
		key := q.group(s)
		for bucket, delta := range deltas {
			if out[key] == nil {
				out[key] = map[int64]map[string]float64{}
			}
			if out[key][bucket] == nil {
				out[key][bucket] = map[string]float64{}
			}
			out[key][bucket]["delta"] += delta
			out[key][bucket]["rate"] += delta / seconds[bucket]
		}
	}
	return out
}

func (q *modelQuery) rows(
	buckets map[int64][]bucketPoint, textual bool, grid *timeseries.Grid, counters map[int64]map[string]float64,
) [][]any {
	starts := sortedInts(buckets)
	if q.fill != "" && q.fill != "none" {
		starts = nil
		for us := q.from; us < q.to; us = grid.Next(grid.Start(us)) {
			starts = append(starts, grid.Start(us))
		}
	}
	list := [][]any{}
	for _, start := range starts {
		row := []any{float64(start)}
		if len(q.functions) == 0 {
			list = append(list, append(row, buckets[start][0].value))
			continue
		}
		for _, f := range q.functions {
			points := buckets[start]
			switch value, counted := counters[start][f]; {
			case len(points) == 0:
				row = append(row, missing{})
			case counted:
				row = append(row, value)
			case f == "rate" || f == "delta":
				row = append(row, nil)
			default:
				row = append(row, aggregate(f, points, textual))
			}
		}
		list = append(list, row)
	}
	for column := 1; column < 1+len(q.functions); column++ {
		isText := textual && timeseries.Function(q.functions[column-1]).ReturnsStrings()
		q.fillColumn(list, column, isText)
	}
	return list
}

// missing marks a bucket without points until it is filled.
type missing struct{}

func (q *modelQuery) fillColumn(list [][]any, column int, isText bool) {
	original := make([]any, len(list))
	for i := range list {
		original[i] = list[i][column]
	}
	for i := range list {
		if original[i] != (missing{}) {
			continue
		}
		var value any
		switch q.fill {
		case "previous":
			if i > 0 {
				value = list[i-1][column]
			}
		case "linear":
			value = interpolate(list, original, i)
		case "7.5":
			if !isText {
				value = 7.5
			}
		}
		list[i][column] = value
	}
}

// interpolate interpolates linearly between the nearest numbers on both sides.
func interpolate(list [][]any, original []any, i int) any {
	left, right := i-1, i+1
	for ; left >= 0; left-- {
		if _, ok := original[left].(float64); ok {
			break
		}
	}
	for ; right < len(list); right++ {
		if _, ok := original[right].(float64); ok {
			break
		}
	}
	if left < 0 || right == len(list) {
		return nil
	}
	x0, x1, x := list[left][0].(float64), list[right][0].(float64), list[i][0].(float64)
	y0, y1 := original[left].(float64), original[right].(float64)
	return y0 + (y1-y0)*(x-x0)/(x1-x0)
}

// aggregate computes one function over the points of a bucket.
func aggregate(f string, points []bucketPoint, textual bool) any {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b bucketPoint) int { return int(a.us - b.us) })
	if f == "count" {
		return float64(len(points))
	}
	if f == "first" {
		return points[0].value
	}
	if f == "last" {
		return points[len(points)-1].value
	}
	if textual {
		return nil
	}
	values := make([]float64, len(points))
	sum := 0.0
	for i, p := range points {
		values[i] = p.value.(float64)
		sum += values[i]
	}
	slices.Sort(values)
	mean := sum / float64(len(values))
	switch f {
	case "avg":
		return mean
	case "sum":
		return sum
	case "min":
		return values[0]
	case "max":
		return values[len(values)-1]
	case "stddev":
		if len(values) == 1 {
			return nil
		}
		squares := 0.0
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		return math.Sqrt(squares / float64(len(values)-1))
	}
	level, known := map[string]float64{"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}[f]
	if !known {
		panic("the model has no function " + f)
	}
	share := level * float64(len(values)-1)
	low := int(share)
	high := min(low+1, len(values)-1)
	return values[low] + (values[high]-values[low])*(share-float64(low))
}

func sortedInts[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
