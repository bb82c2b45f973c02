package promql

import (
	"net/http"

	jsoniter "github.com/json-iterator/go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/jsonutil"
	"github.com/prometheus/prometheus/util/stats"
)

// streamBuffer is the size of the buffer of a response, which is written as it is encoded.
const streamBuffer = 64 << 10

// answer is the body of a successful response.
type answer struct {
	data            encoder // nil: the answer has none
	warnings, infos []string
}

// encoder writes the data of an answer as JSON.
type encoder interface {
	encode(out *jsoniter.Stream)
}

// writeAnswer writes an answer. Numbers, times and histograms are encoded by Prometheus' own functions.
func writeAnswer(w http.ResponseWriter, a *answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := jsoniter.NewStream(jsoniter.ConfigCompatibleWithStandardLibrary, w, streamBuffer)
	out.WriteRaw(`{"status":"success"`)
	if a.data != nil {
		out.WriteRaw(`,"data":`)
		a.data.encode(out)
	}
	for _, list := range []struct {
		name   string
		values []string
	}{{"warnings", a.warnings}, {"infos", a.infos}} {
		if len(list.values) > 0 {
			out.WriteRaw(`,"` + list.name + `":`)
			texts(list.values).encode(out)
		}
	}
	out.WriteRaw("}\n")
	_ = out.Flush() // on an error the client has disconnected
}

// flushAfter writes the buffer to the client when it is nearly full.
func flushAfter(out *jsoniter.Stream) {
	if out.Buffered() > streamBuffer/2 {
		_ = out.Flush() // the stream keeps the error
	}
}

type text string

func (t text) encode(out *jsoniter.Stream) { out.WriteString(string(t)) }

type texts []string

func (t texts) encode(out *jsoniter.Stream) {
	writeList(out, len(t), func(i int) { out.WriteString(t[i]) })
}

// object is encoded as package encoding/json does.
type object struct{ value any }

func (o object) encode(out *jsoniter.Stream) { out.WriteVal(o.value) }

type labelSets []labels.Labels

func (l labelSets) encode(out *jsoniter.Stream) {
	writeList(out, len(l), func(i int) { writeLabels(out, l[i]) })
}

func writeList(out *jsoniter.Stream, n int, element func(i int)) {
	out.WriteArrayStart()
	for i := range n {
		if i > 0 {
			out.WriteMore()
		}
		element(i)
		flushAfter(out)
	}
	out.WriteArrayEnd()
}

func writeLabels(out *jsoniter.Stream, ls labels.Labels) {
	out.WriteObjectStart()
	first := true
	ls.Range(func(l labels.Label) {
		if !first {
			out.WriteMore()
		}
		first = false
		out.WriteString(l.Name)
		out.WriteRaw(":")
		out.WriteString(l.Value)
	})
	out.WriteObjectEnd()
}

// queryData is the result of a query.
type queryData struct {
	value parser.Value
	stats stats.QueryStats // nil: not asked for
}

func (d *queryData) encode(out *jsoniter.Stream) {
	out.WriteRaw(`{"resultType":"` + string(d.value.Type()) + `","result":`)
	switch v := d.value.(type) {
	case promql.Matrix:
		writeList(out, len(v), func(i int) { writeSeries(out, &v[i]) })
	case promql.Vector:
		writeList(out, len(v), func(i int) { writeSample(out, &v[i]) })
	case promql.Scalar:
		writePoint(out, v.T, func() { jsonutil.MarshalFloat(v.V, out) })
	case promql.String:
		writePoint(out, v.T, func() { out.WriteString(v.V) })
	}
	if d.stats != nil {
		out.WriteRaw(`,"stats":`)
		out.WriteVal(d.stats)
	}
	out.WriteObjectEnd()
}

func writePoint(out *jsoniter.Stream, t int64, value func()) {
	out.WriteArrayStart()
	jsonutil.MarshalTimestamp(t, out)
	out.WriteMore()
	value()
	out.WriteArrayEnd()
}

func writeSeries(out *jsoniter.Stream, s *promql.Series) {
	out.WriteRaw(`{"metric":`)
	writeLabels(out, s.Metric)
	if len(s.Floats) > 0 {
		out.WriteRaw(`,"values":`)
		writeList(out, len(s.Floats), func(i int) {
			writePoint(out, s.Floats[i].T, func() { jsonutil.MarshalFloat(s.Floats[i].F, out) })
		})
	}
	if len(s.Histograms) > 0 {
		out.WriteRaw(`,"histograms":`)
		writeList(out, len(s.Histograms), func(i int) {
			writePoint(out, s.Histograms[i].T, func() { jsonutil.MarshalHistogram(s.Histograms[i].H, out) })
		})
	}
	out.WriteObjectEnd()
}

func writeSample(out *jsoniter.Stream, s *promql.Sample) {
	out.WriteRaw(`{"metric":`)
	writeLabels(out, s.Metric)
	if s.H != nil {
		out.WriteRaw(`,"histogram":`)
		writePoint(out, s.T, func() { jsonutil.MarshalHistogram(s.H, out) })
	} else {
		out.WriteRaw(`,"value":`)
		writePoint(out, s.T, func() { jsonutil.MarshalFloat(s.F, out) })
	}
	out.WriteObjectEnd()
}
