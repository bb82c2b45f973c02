package load

import (
	"fmt"
	"strconv"
	"time"
)

// Format is the shape of the bodies.
type Format string

// The formats.
const (
	FormatSeries Format = "series" // JSON, each series once with its arrays
	FormatRows   Format = "rows"   // JSON, an object a point
)

// AllFormats are the formats.
var AllFormats = []Format{FormatSeries, FormatRows}

func (f Format) check() error {
	if _, ok := encodings[f]; !ok {
		return fmt.Errorf("format must be one of %v", AllFormats)
	}
	return nil
}

// encoding is how a format writes a request. A new format is a line in the table.
type encoding struct {
	media  string
	append func(b []byte, w *writing, s slice) []byte
}

var encodings = map[Format]encoding{
	FormatSeries: {"application/json", appendSeries},
	FormatRows:   {"application/json", appendRows},
}

// writing is what bodies are made of.
type writing struct {
	sources  []string // ids
	values   Values
	start    int64 // ms since the epoch
	interval int64 // ms
}

func newWriting(sources []string, p *Plan) *writing {
	return &writing{sources: sources, values: p.Values, start: p.Start.UnixMilli(), interval: int64(p.Interval / time.Millisecond)}
}

// appendIdentity writes which series it is: they are dealt out to the sources in
// turn, and each of a source's is another metric.
func (w *writing) appendIdentity(b []byte, series int) []byte {
	b = append(b, `"sourceId":"`...)
	b = append(b, w.sources[series%len(w.sources)]...)
	b = append(b, `","metric":"m`...)
	b = strconv.AppendInt(b, int64(series/len(w.sources)), 10)
	return append(b, '"')
}

func (w *writing) at(step int64) int64 { return w.start + step*w.interval }

func appendSeries(b []byte, w *writing, s slice) []byte {
	b = append(b, `{"series":[`...)
	for i := s.first; i < s.end; i++ {
		if i > s.first {
			b = append(b, ',')
		}
		b = append(b, '{')
		b = w.appendIdentity(b, i)
		b = append(b, `,"timestamps":[`...)
		for p := range int64(s.points) {
			if p > 0 {
				b = append(b, ',')
			}
			b = appendInt(b, w.at(s.step+p))
		}
		b = append(b, `],"values":[`...)
		for p := range int64(s.points) {
			if p > 0 {
				b = append(b, ',')
			}
			b = w.values.append(b, i, s.step+p)
		}
		b = append(b, `]}`...)
	}
	return append(b, `]}`...)
}

func appendRows(b []byte, w *writing, s slice) []byte {
	b = append(b, `{"points":[`...)
	for p := range int64(s.points) {
		for i := s.first; i < s.end; i++ {
			if p > 0 || i > s.first {
				b = append(b, ',')
			}
			b = append(b, '{')
			b = w.appendIdentity(b, i)
			b = append(b, `,"timestamp":`...)
			b = appendInt(b, w.at(s.step+p))
			b = append(b, `,"value":`...)
			b = w.values.append(b, i, s.step+p)
			b = append(b, '}')
		}
	}
	return append(b, `]}`...)
}
