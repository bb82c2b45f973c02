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
	FormatRows      Format = "rows"       // JSON, an object per point
	FormatNDJSON    Format = "ndjson"     // a line of JSON per point
	FormatLines     Format = "lines"      // InfluxDB's line protocol, a line per point
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

// encoding is the encoding of a format. A new format needs an entry in encodings.
type encoding struct {
	media  string
	append func(b []byte, w *bodySpec, s requestSpec) []byte
	// noCheckpoint is set for a format whose requests are answered with 204 and no content:
	// all points are accepted, and there is no checkpoint to wait for.
	noCheckpoint bool
}

var encodings = map[Format]encoding{
	FormatSeries:    {media: "application/json", append: appendSeries},
	FormatRows:      {media: "application/json", append: appendRows},
	FormatNDJSON:    {media: "application/x-ndjson", append: appendNDJSON},
	FormatLines:     {media: "text/plain", append: appendLines},
	FormatWideLines: {media: "text/plain", append: appendWideLines},
	FormatRemote:    {media: "application/x-protobuf", append: appendRemote, noCheckpoint: true},
}

// sensorTag is the tag that identifies a sensor of a source.
const sensorTag = "sensor"

// bodySpec contains the parameters from which bodies are encoded.
type bodySpec struct {
	sources  []string // ids
	names    []string // of the same sources
	sensors  int      // per source; 0: series have no tag
	values   Values
	start    int64 // ms since the epoch
	interval int64 // ms
}

// bodySpec returns the parameters for the bodies of a plan.
func (f *Fleet) bodySpec(p *Plan) *bodySpec {
	return &bodySpec{
		sources: f.sources, names: f.names, sensors: f.sensors,
		values: p.Values, start: p.Start.UnixMilli(), interval: int64(p.Interval / time.Millisecond),
	}
}

// identity is the source, sensor and metric of a series. Series are distributed round-robin
// over the sources, and those of a source round-robin over its sensors. The series of a
// sensor differ by metric.
type identity struct{ source, sensor, metric int }

func (w *bodySpec) identity(series int) identity {
	source, index := series%len(w.sources), series/len(w.sources)
	if w.sensors == 0 {
		return identity{source: source, metric: index}
	}
	return identity{source: source, sensor: index % w.sensors, metric: index / w.sensors}
}

// appendIdentity appends the identity of a series as members of a JSON object.
func (w *bodySpec) appendIdentity(b []byte, series int) []byte {
	id := w.identity(series)
	b = append(b, `"sourceId":"`...)
	b = append(b, w.sources[id.source]...)
	b = append(b, `","metric":"`...)
	b = appendMetric(b, id.metric)
	if w.sensors > 0 {
		b = append(b, `","tags":{"`+sensorTag+`":"`...)
		b = strconv.AppendInt(b, int64(id.sensor), 10)
		return append(b, `"}`...)
	}
	return append(b, '"')
}

func appendMetric(b []byte, metric int) []byte {
	return strconv.AppendInt(append(b, 'm'), int64(metric), 10)
}

func (w *bodySpec) timestamp(step int64) int64 { return w.start + step*w.interval }

func appendSeries(b []byte, w *bodySpec, s requestSpec) []byte {
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
			b = appendInt(b, w.timestamp(s.step+p))
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

func appendRows(b []byte, w *bodySpec, s requestSpec) []byte {
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

func appendNDJSON(b []byte, w *bodySpec, s requestSpec) []byte {
	for p := range int64(s.points) {
		for i := s.first; i < s.end; i++ {
			b = append(appendRow(b, w, i, s.step+p), '\n')
		}
	}
	return b
}

func appendRow(b []byte, w *bodySpec, series int, step int64) []byte {
	b = append(b, '{')
	b = w.appendIdentity(b, series)
	b = append(b, `,"timestamp":`...)
	b = appendInt(b, w.timestamp(step))
	b = append(b, `,"value":`...)
	b = w.values.append(b, series, step)
	return append(b, '}')
}
