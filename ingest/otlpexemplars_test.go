package ingest

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// exemplars returns exemplars, of which some are not stored.
func (w *otlpWriter) exemplars() (list []*otlpmetrics.Exemplar) {
	if !w.one(4) {
		return nil
	}
	for range w.count(3) {
		x := &otlpmetrics.Exemplar{TimeUnixNano: w.time(), FilteredAttributes: w.pairs(2, "a", "c")}
		if !w.one(3) {
			x.TraceId, x.SpanId = slices.Repeat([]byte{byte(w.count(2))}, 16), slices.Repeat([]byte{byte(w.count(2))}, 8)
		}
		switch rapid.IntRange(0, 10).Draw(w.t, "exemplar type") {
		case 0:
		case 1, 2, 3:
			x.Value = &otlpmetrics.Exemplar_AsInt{AsInt: int64(w.count(4))}
		default:
			x.Value = &otlpmetrics.Exemplar_AsDouble{AsDouble: w.number()}
		}
		list = append(list, x)
	}
	return list
}

func exemplarValue(x *otlpmetrics.Exemplar) float64 {
	if v, ok := x.GetValue().(*otlpmetrics.Exemplar_AsInt); ok {
		return float64(v.AsInt)
	}
	return x.GetAsDouble()
}

// exemplarsWithin returns the exemplars of a bucket. NaN is in the first one.
func exemplarsWithin(list []*otlpmetrics.Exemplar, above, to float64) (within []*otlpmetrics.Exemplar) {
	for _, x := range list {
		v := exemplarValue(x)
		first := math.IsInf(above, -1)
		if v > above && v <= to || first && (math.IsNaN(v) || math.IsInf(v, -1)) {
			within = append(within, x)
		}
	}
	return within
}

// keepExemplars adds exemplars of a series to the expected ones.
func (r *otlpReference) keepExemplars(metric string, tags map[string]string, list []*otlpmetrics.Exemplar) {
	var sorted []pointblock.Tag
	for key, value := range tags {
		sorted = append(sorted, pointblock.Tag{Key: key, Value: value})
	}
	slices.SortFunc(sorted, func(a, b pointblock.Tag) int { return strings.Compare(a.Key, b.Key) })
	for _, x := range list {
		us := x.GetTimeUnixNano() / 1000
		if x.GetValue() == nil || us == 0 || us > uint64(received.UnixMicro())+24*3600*1e6 || !block.CanNameSource(r.source) {
			continue
		}
		ids := map[string]string{}
		if trace := hex.EncodeToString(x.GetTraceId()); strings.Trim(trace, "0") != "" {
			ids["trace_id"] = trace
		}
		if span := hex.EncodeToString(x.GetSpanId()); strings.Trim(span, "0") != "" {
			ids["span_id"] = span
		}
		labels, runes, valid := map[string]string{}, 0, true
		for _, kv := range x.GetFilteredAttributes() {
			text := otlpText(kv.GetValue(), false)
			runes += utf8.RuneCountInString(kv.GetKey()) + utf8.RuneCountInString(text)
			valid = addOnce(labels, kv.GetKey(), text) && valid &&
				(text == "" || kv.GetKey() != "" && !strings.Contains(kv.GetKey()+text, "\x00"))
		}
		for key, value := range ids {
			runes += len(key) + len(value)
		}
		if runes > 128 {
			labels, valid = map[string]string{}, true
		}
		for key, value := range ids {
			labels[key] = value
		}
		if valid {
			name := pointName(uuid.NewSHA1(workspace, []byte(r.source)), metric, sorted, int64(us))
			r.points[name+" exemplar "+jsonOf(labels)] = strconv.FormatFloat(exemplarValue(x), 'g', -1, 64)
		}
	}
}

// otlpJSON returns a message in the JSON of OTLP, which is that of protobuf, with the ids of traces and spans in
// hexadecimal.
func otlpJSON(t require.TestingT, m *collector.ExportMetricsServiceRequest, options protojson.MarshalOptions) []byte {
	body, err := options.Marshal(m)
	require.NoError(t, err)
	return idsInJSON.ReplaceAllFunc(body, func(field []byte) []byte {
		parts := idsInJSON.FindSubmatch(field)
		id, err := base64.StdEncoding.DecodeString(string(parts[2]))
		require.NoError(t, err)
		return []byte(string(parts[1]) + hex.EncodeToString(id) + `"`)
	})
}

var idsInJSON = regexp.MustCompile(`("(?:traceId|spanId)": *")([^"]*)"`)

// haveIDs reports whether the ids of exemplars are absent or have the length of ids.
func haveIDs(list []*otlpmetrics.Exemplar) bool {
	return !slices.ContainsFunc(list, func(x *otlpmetrics.Exemplar) bool {
		return len(x.GetTraceId())%16 != 0 || len(x.GetTraceId()) > 16 || len(x.GetSpanId())%8 != 0 || len(x.GetSpanId()) > 8
	})
}

func TestExemplarsOfHistogramsBelongToTheirBucket(t *testing.T) {
	at := uint64(received.UnixNano())
	exemplar := func(value float64) *otlpmetrics.Exemplar {
		return &otlpmetrics.Exemplar{TimeUnixNano: at, Value: &otlpmetrics.Exemplar_AsDouble{AsDouble: value}}
	}
	p, result, err := acceptAs(t, OTLP, otlpBody(t, &otlpmetrics.Metric{
		Name: "m", Data: &otlpmetrics.Metric_Histogram{Histogram: &otlpmetrics.Histogram{
			AggregationTemporality: 2, DataPoints: []*otlpmetrics.HistogramDataPoint{{
				TimeUnixNano: at, Count: 3, BucketCounts: []uint64{1, 1, 1}, ExplicitBounds: []float64{1, 2},
				Exemplars: []*otlpmetrics.Exemplar{exemplar(2.5), exemplar(2), exemplar(1)},
			}},
		}},
	}))
	require.NoError(t, err)
	require.Equal(t, 3, result.Exemplars)
	found := map[string]any{}
	for key, value := range p.written(t) {
		if name, labels, ok := strings.Cut(key, " exemplar "); ok {
			require.Equal(t, "{}", labels)
			found[regexp.MustCompile(`"le"="([^"]+)"`).FindStringSubmatch(name)[1]] = value
		}
	}
	require.Equal(t, map[string]any{"1": "1", "2": "2", "+Inf": "2.5"}, found)
}
