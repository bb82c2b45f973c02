package query

import (
	"math"
	"regexp"
	"strconv"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// fill defines the values of buckets without points.
type fill struct {
	mode  fillMode
	value float64 // of fillNumber
}

type fillMode uint8

const (
	fillNone     fillMode = iota // the bucket is left out
	fillNull                     // null
	fillPrevious                 // the value of the previous bucket; null if there is none
	fillLinear                   // linear between the nearest buckets with values; null outside them
	fillNumber                   // a number; null in string columns
)

var fillNames = map[string]fillMode{"none": fillNone, "null": fillNull, "previous": fillPrevious, "linear": fillLinear}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

func parseFill(text string) (f fill, ok bool) {
	if mode, named := fillNames[text]; named {
		return fill{mode: mode}, true
	}
	value, err := strconv.ParseFloat(text, 64)
	return fill{mode: fillNumber, value: value}, err == nil && jsonNumber.MatchString(text)
}

// apply returns the rows of a group with the empty buckets of the range filled in. rows may be
// nil if all are empty. textual reports which columns contain strings.
func (f fill) apply(rows *timeseries.Points, starts []int64, textual []bool) *timeseries.Points {
	if rows == nil {
		rows = &timeseries.Points{Columns: make([]timeseries.Column, len(textual))}
	}
	if f.mode == fillNone {
		return rows
	}
	filled := &timeseries.Points{TS: starts, Columns: make([]timeseries.Column, len(textual))}
	for i, isText := range textual {
		if isText {
			filled.Columns[i].Strings = f.texts(rows.TS, rows.Columns[i].Strings, starts)
		} else {
			filled.Columns[i].Numbers = f.numbers(rows.TS, rows.Columns[i].Numbers, starts)
		}
	}
	return filled
}

func (f fill) texts(ts []int64, values []*string, starts []int64) []*string {
	out := make([]*string, len(starts))
	next := 0
	for i, start := range starts {
		switch {
		case next < len(ts) && ts[next] == start:
			out[i] = values[next]
			next++
		case f.mode == fillPrevious && i > 0:
			out[i] = out[i-1]
		}
	}
	return out
}

func (f fill) numbers(ts []int64, values []float64, starts []int64) []float64 {
	out := make([]float64, len(starts))
	next, known := 0, -1 // known: the last index with a value of its bucket
	var gaps []int       // since known
	for i, start := range starts {
		if next < len(ts) && ts[next] == start {
			out[i] = values[next]
			next++
			if !math.IsNaN(out[i]) {
				if f.mode == fillLinear && known >= 0 {
					interpolate(out, starts, known, i, gaps)
				}
				known, gaps = i, gaps[:0]
			}
			continue
		}
		gaps = append(gaps, i)
		switch {
		case f.mode == fillPrevious && i > 0:
			out[i] = out[i-1]
		case f.mode == fillNumber:
			out[i] = f.value
		default:
			out[i] = math.NaN()
		}
	}
	return out
}

// interpolate fills the gaps between two indexes with values, linearly by time.
func interpolate(out []float64, starts []int64, from, to int, gaps []int) {
	for _, i := range gaps {
		fraction := float64(starts[i]-starts[from]) / float64(starts[to]-starts[from])
		out[i] = out[from]*(1-fraction) + out[to]*fraction
	}
}
