package otlp

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
)

// readPair parses a KeyValue. Values that are no strings are converted to text: numbers and booleans as in JSON, bytes
// in base64, lists and maps as JSON. The text of a list that is too long for a tag ends after its first bytes; it is
// still too long. An empty value is the same as no attribute, as in Prometheus.
func (p *Parser) readPair(b []byte) (key, value string, ok bool) {
	var raw []byte
	for i := 0; i < len(b); {
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); i == scan.Failed {
			return "", "", false
		}
		switch f.Tag {
		case pairKey:
			key = scan.View(f.Bytes)
		case pairValue:
			raw = f.Bytes
		}
	}
	f, ok := anyValue(raw)
	if !ok || f.Tag == anyString {
		return key, scan.View(f.Bytes), ok
	}
	unescaped := &p.batch.Unescaped
	from := len(*unescaped)
	text := textWriter{b: *unescaped, from: from}
	ok = text.value(&f, false)
	*unescaped = text.b
	return key, scan.View(text.b[from:len(text.b):len(text.b)]), ok
}

// anyValue returns the field of an AnyValue that is set, the last one if there are several.
func anyValue(b []byte) (value protobuf.Field, ok bool) {
	for i := 0; i < len(b); {
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); i == scan.Failed {
			return value, false
		}
		switch f.Tag {
		case anyString, anyBool, anyInt, anyDouble, anyArray, anyPairs, anyBytes:
			value = f
		}
	}
	return value, true
}

// textWriter writes attribute values as text. It stops when the text is too long for a tag, so that the depth of lists
// is bounded as well.
type textWriter struct {
	b    []byte
	from int
}

func (w *textWriter) tooLong() bool { return len(w.b)-w.from > block.MaxTextBytes }

// value writes a value. Strings and bytes within lists are quoted.
func (w *textWriter) value(f *protobuf.Field, quoted bool) (ok bool) {
	switch f.Tag {
	case anyString:
		w.quote(f.Bytes[:min(len(f.Bytes), 2*block.MaxTextBytes)])
	case anyBool:
		w.b = strconv.AppendBool(w.b, f.Value != 0)
	case anyInt:
		w.b = strconv.AppendInt(w.b, int64(f.Value), 10)
	case anyDouble:
		w.double(math.Float64frombits(f.Value), quoted)
	case anyBytes:
		if quoted {
			w.b = append(w.b, '"')
		}
		w.b = base64.StdEncoding.AppendEncode(w.b, f.Bytes[:min(len(f.Bytes), 2*block.MaxTextBytes)])
		if quoted {
			w.b = append(w.b, '"')
		}
	case anyArray:
		return w.list(f.Bytes, '[', ']', w.element)
	case anyPairs:
		return w.list(f.Bytes, '{', '}', w.pair)
	default:
		if quoted {
			w.b = append(w.b, "null"...)
		}
	}
	return true
}

func (w *textWriter) quote(text []byte) {
	w.b, _ = jsontext.AppendQuote(w.b, strings.ToValidUTF8(scan.View(text), "\ufffd"))
}

// double writes a number as JSON does. NaN and infinities are written as in the JSON of protobuf.
func (w *textWriter) double(v float64, quoted bool) {
	if isFinite(v) {
		w.b = appendFloat(w.b, v)
		return
	}
	text := map[bool]string{true: "Infinity", false: "-Infinity"}[v > 0]
	if math.IsNaN(v) {
		text = "NaN"
	}
	if quoted {
		text = `"` + text + `"`
	}
	w.b = append(w.b, text...)
}

// appendFloat appends a finite number in the shortest form that is exact: without an exponent, unless it is very large
// or small.
func appendFloat(b []byte, v float64) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}

// list writes the elements of an ArrayValue or a KeyValueList.
func (w *textWriter) list(b []byte, open, end byte, write func(b []byte) bool) bool {
	w.b = append(w.b, open)
	first := true
	for i := 0; i < len(b); {
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); i == scan.Failed {
			return false
		}
		if f.Tag != listValue || w.tooLong() {
			continue
		}
		if !first {
			w.b = append(w.b, ',')
		}
		if first = false; !write(f.Bytes) {
			return false
		}
	}
	w.b = append(w.b, end)
	return true
}

func (w *textWriter) element(b []byte) bool {
	f, ok := anyValue(b)
	return ok && w.value(&f, true)
}

func (w *textWriter) pair(b []byte) bool {
	key, ok := lastBytes(b, pairKey)
	if !ok {
		return false
	}
	raw, _ := lastBytes(b, pairValue)
	w.quote(key[:min(len(key), 2*block.MaxTextBytes)])
	w.b = append(w.b, ':')
	return w.element(raw)
}
