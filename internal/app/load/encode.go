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
	FormatSeries    Format = "series"     // JSON, each series once with its arrays
	FormatRows      Format = "rows"       // JSON, an object a point
	FormatNDJSON    Format = "ndjson"     // a line of JSON a point
	FormatLines     Format = "lines"      // InfluxDB's line protocol, a line a point
	FormatWideLines Format = "wide-lines" // the same, with all metrics of a source in a line
	FormatRemote    Format = "remote"     // Prometheus' remote write 1.0
)

// AllFormats are the formats.
var AllFormats = []Format{FormatSeries, FormatRows, FormatNDJSON, FormatLines, FormatWideLines, FormatRemote}

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
	// silent is a format whose requests are answered by nothing but 204: all points
	// are accepted, and there is no checkpoint to see them by.
	silent bool
}

var encodings = map[Format]encoding{
	FormatSeries:    {media: "application/json", append: appendSeries},
	FormatRows:      {media: "application/json", append: appendRows},
	FormatNDJSON:    {media: "application/x-ndjson", append: appendNDJSON},
	FormatLines:     {media: "text/plain", append: appendLines},
	FormatWideLines: {media: "text/plain", append: appendWideLines},
	FormatRemote:    {media: "application/x-protobuf", append: appendRemote, silent: true},
}

// sensorTag is the tag that tells the sensors of a source apart, where it has some.
const sensorTag = "sensor"

// writing is what bodies are made of.
type writing struct {
	sources  []string // ids
	names    []string // of the same sources
	sensors  int      // of each source; 0: its series have no tag
	values   Values
	start    int64 // ms since the epoch
	interval int64 // ms
}

// writing returns what the bodies of a plan are made of.
func (f *Fleet) writing(p *Plan) *writing {
	return &writing{
		sources: f.sources, names: f.names, sensors: f.sensors,
		values: p.Values, start: p.Start.UnixMilli(), interval: int64(p.Interval / time.Millisecond),
	}
}

// identity says which series it is: series are dealt out to the sources in turn,
// those of a source to its sensors, and each of a sensor's is another metric.
type identity struct{ source, sensor, metric int }

func (w *writing) identity(series int) identity {
	source, rest := series%len(w.sources), series/len(w.sources)
	if w.sensors == 0 {
		return identity{source: source, metric: rest}
	}
	return identity{source: source, sensor: rest % w.sensors, metric: rest / w.sensors}
}

// appendIdentity writes it as members of a JSON object.
func (w *writing) appendIdentity(b []byte, series int) []byte {
	of := w.identity(series)
	b = append(b, `"sourceId":"`...)
	b = append(b, w.sources[of.source]...)
	b = append(b, `","metric":"`...)
	b = appendMetric(b, of.metric)
	if w.sensors > 0 {
		b = append(b, `","tags":{"`+sensorTag+`":"`...)
		b = strconv.AppendInt(b, int64(of.sensor), 10)
		return append(b, `"}`...)
	}
	return append(b, '"')
}

func appendMetric(b []byte, metric int) []byte {
	return strconv.AppendInt(append(b, 'm'), int64(metric), 10)
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
			b = appendRow(b, w, i, s.step+p)
		}
	}
	return append(b, `]}`...)
}

func appendNDJSON(b []byte, w *writing, s slice) []byte {
	for p := range int64(s.points) {
		for i := s.first; i < s.end; i++ {
			b = append(appendRow(b, w, i, s.step+p), '\n')
		}
	}
	return b
}

func appendRow(b []byte, w *writing, series int, step int64) []byte {
	b = append(b, '{')
	b = w.appendIdentity(b, series)
	b = append(b, `,"timestamp":`...)
	b = appendInt(b, w.at(step))
	b = append(b, `,"value":`...)
	b = w.values.append(b, series, step)
	return append(b, '}')
}
