package promql_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	jsoniter "github.com/json-iterator/go"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/jsonutil"
	"github.com/stretchr/testify/require"
)

// evaluation is a query that is evaluated at one time or at the times of a range.
type evaluation struct {
	text     string
	from, to int64         // in milliseconds
	step     time.Duration // zero: at the time to only
}

func seconds(t int64) string { return strconv.FormatFloat(float64(t)/1000, 'f', 3, 64) }

// String returns the evaluation for messages.
func (e evaluation) String() string {
	if e.step == 0 {
		return fmt.Sprintf("%s at %s", e.text, seconds(e.to))
	}
	return fmt.Sprintf("%s from %s to %s by %s", e.text, seconds(e.from), seconds(e.to), e.step)
}

// refusedQuery is the error of a query that the engine does not accept. Others fail while they are evaluated.
type refusedQuery struct{ error }

// by evaluates the query with the engine of Prometheus. The result is never returned to the engine's pool.
func (e evaluation) by(t *testing.T, engine promql.QueryEngine, data storage.Queryable) *promql.Result {
	t.Helper()
	var query promql.Query
	var err error
	if e.step == 0 {
		query, err = engine.NewInstantQuery(t.Context(), data, nil, e.text, time.UnixMilli(e.to))
	} else {
		query, err = engine.NewRangeQuery(
			t.Context(), data, nil, e.text, time.UnixMilli(e.from), time.UnixMilli(e.to), e.step,
		)
	}
	if err != nil {
		return &promql.Result{Err: refusedQuery{err}}
	}
	return query.Exec(t.Context())
}

// answer is a response of the API.
type answer struct {
	httpStatus               int
	Status, ErrorType, Error string
	Data                     struct {
		ResultType string
		Result     json.RawMessage
	}
	Warnings, Infos []string
}

// ask evaluates the query with the API.
func (s *server) ask(t *testing.T, e evaluation) (a answer) {
	t.Helper()
	path, form := "/query", url.Values{"query": {e.text}, "time": {seconds(e.to)}}
	if e.step != 0 {
		path, form = "/query_range", url.Values{
			"query": {e.text}, "start": {seconds(e.from)}, "end": {seconds(e.to)},
			"step": {strconv.FormatFloat(e.step.Seconds(), 'f', -1, 64)},
		}
	}
	status, body := s.do(
		t, http.MethodPost, "/prometheus/api/v1"+path, "application/x-www-form-urlencoded", []byte(form.Encode()),
	)
	require.NoError(t, json.Unmarshal(body, &a), "%s: %s", e, body)
	a.httpStatus = status
	return a
}

// matches returns the number of points of an answer, or an error if it is not the one of Prometheus.
func (a *answer) matches(e evaluation, want *promql.Result) (points int, err error) {
	if want.Err != nil {
		return 0, a.matchesError(want.Err)
	}
	if a.httpStatus != http.StatusOK || a.Status != "success" {
		return 0, fmt.Errorf("status %d with the error %q", a.httpStatus, a.Error)
	}
	warnings, infos := want.Warnings.AsStrings(e.text, 10, 10)
	warnings = slices.DeleteFunc(warnings, dependsOnChunks)
	for _, list := range [][2][]string{
		{warnings, slices.DeleteFunc(slices.Clone(a.Warnings), dependsOnChunks)}, {infos, a.Infos},
	} {
		slices.Sort(list[0])
		slices.Sort(list[1])
		if !slices.Equal(list[0], list[1]) {
			return 0, fmt.Errorf("annotations %q and not %q", list[1], list[0])
		}
	}
	if kind := parser.ValueType(a.Data.ResultType); kind != want.Value.Type() {
		return 0, fmt.Errorf("a result of type %s and not %s", kind, want.Value.Type())
	}
	series, order, err := a.points()
	if err != nil {
		return 0, fmt.Errorf("the answer %s: %w", a.Data.Result, err)
	}
	return matchValues(series, order, want.Value, e.step == 0 && strings.HasPrefix(e.text, "sort"))
}

// dependsOnChunks reports whether an annotation depends on the chunks of Prometheus' database: the first histogram
// of a chunk has another hint than the rest.
func dependsOnChunks(annotation string) bool {
	return strings.Contains(annotation, "conflicting counter resets during histogram")
}

func (a *answer) matchesError(want error) error {
	status, kind, text := http.StatusUnprocessableEntity, "execution", want.Error()
	if refused, ok := errors.AsType[refusedQuery](want); ok {
		status, kind, text = http.StatusBadRequest, "bad_data", `invalid parameter "query": `+refused.Error()
	}
	text = strings.ToValidUTF8(text, "\ufffd") // as JSON has it
	if a.httpStatus != status || a.Status != "error" || a.ErrorType != kind || a.Error != text {
		return fmt.Errorf("status %d, type %q and error %q, and not %d, %q and %q", a.httpStatus, a.ErrorType, a.Error,
			status, kind, text)
	}
	return nil
}

// matchValues compares a result with the points of an answer, with their order if ordered.
func matchValues(series map[string][]point, order []string, want parser.Value, ordered bool) (points int, err error) {
	expected, expectedOrder := pointsOf(want)
	if len(series) != len(order) || len(order) != len(expectedOrder) {
		return 0, fmt.Errorf("the series %q and not %q", order, expectedOrder)
	}
	if ordered && !sameOrder(order, expectedOrder, expected) {
		return 0, fmt.Errorf("the order %q and not %q", order, expectedOrder)
	}
	for name, list := range expected {
		found, ok := series[name]
		if !ok || len(found) != len(list) {
			return 0, fmt.Errorf("%s: the points %v and not %v", name, found, list)
		}
		for i, p := range list {
			if found[i].ms != p.ms || !equal(found[i].value, p.value) {
				return 0, fmt.Errorf("%s: the point %v and not %v", name, found[i], p)
			}
			points++
		}
	}
	return points, nil
}

// sameOrder reports whether a sorted vector has an expected order. The engine orders equal values by chance.
func sameOrder(order, expected []string, values map[string][]point) bool {
	for i, name := range order {
		at, ok := values[name]
		if want := values[expected[i]]; name != expected[i] && (!ok || !equal(at[0].value, want[0].value)) {
			return false
		}
	}
	return true
}

// pointsOf returns the points of a result by series, and the series in their order. A text is the name of a series.
func pointsOf(value parser.Value) (series map[string][]point, order []string) {
	series = map[string][]point{}
	switch v := value.(type) {
	case promql.Scalar:
		series["scalar"] = []point{{v.T, v.V}}
	case promql.String:
		series["string "+v.V] = []point{{v.T, 0}}
	case promql.Vector:
		for _, s := range v {
			name, points := s.Metric.String(), []point{{s.T, s.F}}
			if s.H != nil {
				name, points = name+histogramSuffix, histogramPoints(s.T, s.H)
			}
			series[name], order = points, append(order, name)
		}
		return series, order
	case promql.Matrix:
		for _, s := range v {
			name := s.Metric.String()
			for _, p := range s.Floats {
				series[name] = append(series[name], point{p.T, p.F})
			}
			for _, p := range s.Histograms {
				series[name+histogramSuffix] = append(series[name+histogramSuffix], histogramPoints(p.T, p.H)...)
			}
		}
		order = slices.Sorted(maps.Keys(series))
		return series, order
	}
	for name := range series {
		order = append(order, name)
	}
	return series, order
}

// equal reports whether two values differ by at most a billionth.
func equal(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

// histogramSuffix is the end of the name under which the native histograms of a series are compared.
const histogramSuffix = " (histograms)"

// histogramPoints returns the numbers of a histogram in JSON.
func histogramPoints(ms int64, h *histogram.FloatHistogram) []point {
	stream := jsoniter.NewStream(jsoniter.ConfigDefault, nil, 512)
	jsonutil.MarshalHistogram(h, stream)
	p := jsonHistogram{ms: ms}
	if err := p.parse(stream.Buffer()); err != nil {
		panic(err)
	}
	return p.points
}

// points returns the points of the result by series, and the series in their order, as pointsOf.
func (a *answer) points() (series map[string][]point, order []string, err error) {
	switch kind := parser.ValueType(a.Data.ResultType); kind {
	case parser.ValueTypeScalar, parser.ValueTypeString:
		var pair jsonPoint
		if err := json.Unmarshal(a.Data.Result, &pair); err != nil {
			return nil, nil, err
		}
		if kind == parser.ValueTypeString {
			series, order = pointsOf(promql.String{T: pair.ms, V: pair.text})
			return series, order, nil
		}
		p, err := pair.number()
		series, order = pointsOf(promql.Scalar{T: p.ms, V: p.value})
		return series, order, err
	case parser.ValueTypeVector, parser.ValueTypeMatrix:
		var list []jsonSeries
		if err := json.Unmarshal(a.Data.Result, &list); err != nil {
			return nil, nil, err
		}
		return seriesPoints(kind, list)
	default:
		return nil, nil, fmt.Errorf("unknown type %q", kind)
	}
}

// jsonSeries is a series of an answer.
type jsonSeries struct {
	Metric     map[string]string
	Value      *jsonPoint
	Values     []jsonPoint
	Histogram  *jsonHistogram
	Histograms []jsonHistogram
}

// jsonPoint is a pair of a time in seconds and a text.
type jsonPoint struct {
	ms   int64
	text string
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *jsonPoint) UnmarshalJSON(data []byte) error {
	var at float64
	if err := json.Unmarshal(data, &[2]any{&at, &p.text}); err != nil {
		return err
	}
	p.ms = int64(math.Round(at * 1000))
	return nil
}

func (p *jsonPoint) number() (point, error) {
	v, err := strconv.ParseFloat(p.text, 64)
	return point{p.ms, v}, err
}

// jsonHistogram is a pair of a time in seconds and a native histogram, of which it has the numbers: the count, the
// sum, and four numbers of each bucket.
type jsonHistogram struct {
	ms     int64
	points []point
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *jsonHistogram) UnmarshalJSON(data []byte) error {
	var at float64
	var rest json.RawMessage
	if err := json.Unmarshal(data, &[2]any{&at, &rest}); err != nil {
		return err
	}
	h.ms = int64(math.Round(at * 1000))
	return h.parse(rest)
}

func (h *jsonHistogram) parse(data []byte) error {
	var fields struct {
		Count, Sum string
		Buckets    [][4]json.RawMessage
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	texts := []string{fields.Count, fields.Sum}
	for _, bucket := range fields.Buckets {
		for _, number := range bucket {
			texts = append(texts, strings.Trim(string(number), `"`))
		}
	}
	for _, text := range texts {
		p := jsonPoint{h.ms, text}
		number, err := p.number()
		if err != nil {
			return err
		}
		h.points = append(h.points, number)
	}
	return nil
}

// seriesPoints returns the points of a vector or a matrix.
func seriesPoints(kind parser.ValueType, list []jsonSeries) (series map[string][]point, order []string, err error) {
	series = map[string][]point{}
	for _, s := range list {
		single := s.Value != nil || s.Histogram != nil
		if s.Value != nil {
			s.Values = append(s.Values, *s.Value)
		}
		if s.Histogram != nil {
			s.Histograms = append(s.Histograms, *s.Histogram)
		}
		name := labels.FromMap(s.Metric).String()
		if len(s.Values)+len(s.Histograms) == 0 || single != (kind == parser.ValueTypeVector) {
			return nil, nil, fmt.Errorf("the values of %s", name)
		}
		if len(series[name])+len(series[name+histogramSuffix]) > 0 {
			return nil, nil, fmt.Errorf("%s is there twice", name)
		}
		for _, pair := range s.Values {
			p, err := pair.number()
			if err != nil {
				return nil, nil, err
			}
			series[name] = append(series[name], p)
		}
		for _, h := range s.Histograms {
			series[name+histogramSuffix] = append(series[name+histogramSuffix], h.points...)
		}
		for _, key := range []string{name, name + histogramSuffix} {
			if len(series[key]) > 0 {
				order = append(order, key)
			}
		}
	}
	if kind == parser.ValueTypeMatrix {
		slices.Sort(order)
	}
	return series, order, nil
}

// The comparison finds a wrong value, time, label, type, annotation and order, and a missing series.
func TestComparisonFindsDifferences(t *testing.T) {
	sample := promql.Sample{Metric: labels.FromStrings("a", "1"), T: 1000, F: 2}
	other := promql.Sample{Metric: labels.FromStrings("a", "2"), T: 1000, F: 3}
	want := &promql.Result{Value: promql.Vector{sample, other}}
	const first, second = `{"metric":{"a":"1"},"value":[1,"2"]}`, `{"metric":{"a":"2"},"value":[1,"3"]}`
	matches := func(kind, list, warning string) error {
		a := answer{httpStatus: http.StatusOK, Status: "success", Warnings: strings.Fields(warning)}
		a.Data.ResultType, a.Data.Result = kind, json.RawMessage("["+list+"]")
		_, err := a.matches(evaluation{text: "sort(x)", to: 1000}, want)
		return err
	}
	require.NoError(t, matches("vector", first+","+second, ""))
	for name, list := range map[string]string{
		"value": first + "," + strings.Replace(second, `"3"`, `"3.0000001"`, 1), "series": first, "empty": "",
		"time": first + "," + strings.Replace(second, "[1,", "[1.001,", 1), "repeated": first + "," + first,
		"label": first + "," + strings.Replace(second, `"a":`, `"b":`, 1), "order": second + "," + first,
	} {
		require.Error(t, matches("vector", list, ""), name)
	}
	require.Error(t, matches("vector", first+","+second, "warning"))
	require.Error(t, matches("matrix", strings.ReplaceAll(first+","+second, `"value":[1,`, `"values":[[1,`), ""))
	require.Error(t, (&answer{httpStatus: http.StatusOK, Status: "success"}).matchesError(errors.New("a failure")))
}
