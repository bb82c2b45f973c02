package ingest

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// otlpWriter writes random requests of OpenTelemetry.
type otlpWriter struct{ t *rapid.T }

func (w *otlpWriter) one(in int) bool { return rapid.IntRange(1, in).Draw(w.t, "one") == 1 }

func (w *otlpWriter) pick(choices ...string) string {
	return rapid.SampledFrom(choices).Draw(w.t, "pick")
}

func (w *otlpWriter) count(most int) int { return rapid.IntRange(0, most).Draw(w.t, "count") }

func (w *otlpWriter) value(depth int) *common.AnyValue {
	switch n := rapid.IntRange(0, 12).Draw(w.t, "value"); {
	case n == 0:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: w.one(2)}}
	case n == 1:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: rapid.Int64().Draw(w.t, "int")}}
	case n == 2:
		v := rapid.SampledFrom([]float64{0.5, 1, -3e30, 1e-9, math.NaN(), math.Inf(-1)}).Draw(w.t, "double")
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v}}
	case n == 3:
		return &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte(w.pick("", "a", "\xff\x00"))}}
	case n == 4 && depth > 0:
		list := &common.ArrayValue{}
		for range w.count(3) {
			list.Values = append(list.Values, w.value(depth-1))
		}
		return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}}
	case n == 5 && depth > 0:
		pairs := &common.KeyValueList{Values: w.pairs(depth-1, "k", "l")}
		return &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: pairs}}
	case n == 6 && w.one(4):
		return nil
	}
	text := w.pick("1", "2", "", "é", "a/b", "x\ny")
	if w.one(60) {
		text = w.pick(strings.Repeat("x", 1025), "\x00", strings.Repeat("é", 600), strings.Repeat("x", 300))
	}
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: text}}
}

func (w *otlpWriter) pairs(depth int, keys ...string) (list []*common.KeyValue) {
	for _, key := range rapid.Permutation(keys).Draw(w.t, "keys") {
		if w.one(2) {
			list = append(list, &common.KeyValue{Key: key, Value: w.value(depth)})
		}
	}
	if w.one(60) {
		key := w.pick("", keys[0], "\x00", strings.Repeat("k", 257), "__temporality__")
		list = append(list, &common.KeyValue{Key: key, Value: w.value(depth)})
	}
	return list
}

func (w *otlpWriter) time() uint64 {
	if w.one(30) {
		return rapid.SampledFrom([]uint64{
			0, 1, 999, math.MaxUint64, uint64(received.UnixNano()) + 25*3600*1e9,
		}).Draw(w.t, "odd time")
	}
	return uint64(received.UnixNano()) + uint64(w.count(3))*1e9
}

func (w *otlpWriter) number() float64 {
	if w.one(30) {
		return rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.MaxFloat64, math.Copysign(0, -1)}).Draw(w.t, "odd")
	}
	return float64(rapid.IntRange(-1000, 1000).Draw(w.t, "value")) / 8
}

func (w *otlpWriter) maybe() *float64 {
	if w.one(3) {
		return nil
	}
	return proto.Float64(w.number())
}

func (w *otlpWriter) flags() uint32 { return map[bool]uint32{true: 1}[w.one(30)] }

func (w *otlpWriter) counts(most int) (list []uint64) {
	for range w.count(most) {
		list = append(list, uint64(max(w.count(600)-300, 0))) // half of them are 0
	}
	return list
}

func (w *otlpWriter) attributes() []*common.KeyValue { return w.pairs(2, "a", "b", "le", "zone") }

func (w *otlpWriter) numbers() (list []*otlpmetrics.NumberDataPoint) {
	for range w.count(3) {
		pt := &otlpmetrics.NumberDataPoint{
			Attributes: w.attributes(), TimeUnixNano: w.time(), StartTimeUnixNano: 5, Flags: w.flags(),
		}
		switch rapid.IntRange(0, 20).Draw(w.t, "type") {
		case 0:
		case 1, 2, 3, 4:
			pt.Value = &otlpmetrics.NumberDataPoint_AsInt{AsInt: rapid.Int64().Draw(w.t, "int")}
		default:
			pt.Value = &otlpmetrics.NumberDataPoint_AsDouble{AsDouble: w.number()}
		}
		pt.Exemplars = w.exemplars()
		list = append(list, pt)
	}
	return list
}

func (w *otlpWriter) histograms() (list []*otlpmetrics.HistogramDataPoint) {
	for range w.count(3) {
		pt := &otlpmetrics.HistogramDataPoint{
			Attributes: w.attributes(), TimeUnixNano: w.time(), Flags: w.flags(), Count: uint64(w.count(1000)), Sum: w.maybe(),
			Min: w.maybe(), Max: w.maybe(),
		}
		for i := range w.count(4) {
			pt.ExplicitBounds = append(pt.ExplicitBounds, []float64{-1, 0.005, 2.5, 1e22}[i])
		}
		if len(pt.ExplicitBounds) > 0 && w.one(30) {
			pt.ExplicitBounds[0] = rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), 10}).Draw(w.t, "odd bound")
		}
		for range len(pt.ExplicitBounds) + 1 {
			pt.BucketCounts = append(pt.BucketCounts, uint64(w.count(9)))
		}
		if w.one(30) {
			pt.BucketCounts = w.counts(4)
		}
		pt.Exemplars = w.exemplars()
		list = append(list, pt)
	}
	return list
}

func (w *otlpWriter) buckets() *otlpmetrics.ExponentialHistogramDataPoint_Buckets {
	if w.one(3) {
		return nil
	}
	offset := rapid.Int32Range(-20, 20).Draw(w.t, "offset")
	if w.one(30) {
		offset = rapid.SampledFrom([]int32{math.MinInt32, math.MaxInt32, math.MaxInt32 - 2}).Draw(w.t, "odd offset")
	}
	return &otlpmetrics.ExponentialHistogramDataPoint_Buckets{Offset: offset, BucketCounts: w.counts(12)}
}

func (w *otlpWriter) exponentials() (list []*otlpmetrics.ExponentialHistogramDataPoint) {
	for range w.count(2) {
		pt := &otlpmetrics.ExponentialHistogramDataPoint{
			Attributes: w.attributes(), TimeUnixNano: w.time(), Flags: w.flags(), Sum: w.maybe(),
			Min: w.maybe(), Max: w.maybe(), Scale: rapid.Int32Range(-4, 20).Draw(w.t, "scale"), ZeroCount: uint64(w.count(3)),
			Positive: w.buckets(), Negative: w.buckets(),
			ZeroThreshold: rapid.SampledFrom([]float64{0, 0, 1e-200, 1, 2.5}).Draw(w.t, "threshold"), Exemplars: w.exemplars(),
		}
		pt.Count = pt.GetZeroCount()
		for _, count := range append(pt.GetPositive().GetBucketCounts(), pt.GetNegative().GetBucketCounts()...) {
			pt.Count += count
		}
		switch rapid.IntRange(0, 60).Draw(w.t, "odd histogram") {
		case 0:
			pt.ZeroThreshold = rapid.SampledFrom([]float64{math.NaN(), -1, math.Inf(1)}).Draw(w.t, "odd threshold")
		case 1:
			pt.Count++
		case 2:
			pt.Scale = rapid.SampledFrom([]int32{math.MinInt32, -5, math.MaxInt32}).Draw(w.t, "odd scale")
		case 3:
			pt.ZeroCount = math.MaxUint64
		}
		list = append(list, pt)
	}
	return list
}

func (w *otlpWriter) summaries() (list []*otlpmetrics.SummaryDataPoint) {
	for range w.count(2) {
		pt := &otlpmetrics.SummaryDataPoint{
			Attributes: w.attributes(), TimeUnixNano: w.time(), Flags: w.flags(), Count: uint64(w.count(1000)), Sum: w.number(),
		}
		for i := range w.count(3) {
			rank := []float64{0, 0.5, 1}[i]
			if w.one(60) {
				rank = rapid.SampledFrom([]float64{-0.1, 1.1, math.NaN()}).Draw(w.t, "odd rank")
			}
			pt.QuantileValues = append(pt.QuantileValues, &otlpmetrics.SummaryDataPoint_ValueAtQuantile{
				Quantile: rank, Value: w.number(),
			})
		}
		list = append(list, pt)
	}
	return list
}

func (w *otlpWriter) metric() *otlpmetrics.Metric {
	m := &otlpmetrics.Metric{Name: w.pick("up", "http.server.duration", "temperatur é"), Unit: "s", Description: "d"}
	if w.one(60) {
		m.Name = w.pick("", "\x00", strings.Repeat("x", 257), strings.Repeat("x", 250))
	}
	temporality := otlpmetrics.AggregationTemporality(rapid.IntRange(1, 2).Draw(w.t, "temporality"))
	if w.one(60) {
		temporality = 0
	}
	switch rapid.IntRange(0, 5).Draw(w.t, "type") {
	case 0:
		m.Data = &otlpmetrics.Metric_Gauge{Gauge: &otlpmetrics.Gauge{DataPoints: w.numbers()}}
	case 1:
		m.Data = &otlpmetrics.Metric_Sum{Sum: &otlpmetrics.Sum{
			DataPoints: w.numbers(), AggregationTemporality: temporality, IsMonotonic: true,
		}}
	case 2:
		m.Data = &otlpmetrics.Metric_Histogram{Histogram: &otlpmetrics.Histogram{
			DataPoints: w.histograms(), AggregationTemporality: temporality,
		}}
	case 3:
		m.Data = &otlpmetrics.Metric_ExponentialHistogram{ExponentialHistogram: &otlpmetrics.ExponentialHistogram{
			DataPoints: w.exponentials(), AggregationTemporality: temporality,
		}}
	case 4:
		m.Data = &otlpmetrics.Metric_Summary{Summary: &otlpmetrics.Summary{DataPoints: w.summaries()}}
	}
	return m
}

func (w *otlpWriter) request() *collector.ExportMetricsServiceRequest {
	request := &collector.ExportMetricsServiceRequest{}
	for range w.count(2) {
		rm := &otlpmetrics.ResourceMetrics{SchemaUrl: "https://example.com/schema"}
		if !w.one(8) {
			rm.Resource = &resource.Resource{
				Attributes: w.pairs(1, "service.name", "service.namespace", "service.instance.id", "zone", "host.name"),
			}
		}
		for range w.count(2) {
			sm := &otlpmetrics.ScopeMetrics{}
			if w.one(2) {
				sm.Scope = &common.InstrumentationScope{
					Name: w.pick("", "lib"), Version: w.pick("", "1.2"), Attributes: w.pairs(1, "short_name", "b"),
				}
			}
			if w.one(3) {
				sm.SchemaUrl = "https://example.com/1"
			}
			for range w.count(3) {
				sm.Metrics = append(sm.Metrics, w.metric())
			}
			rm.ScopeMetrics = append(rm.ScopeMetrics, sm)
		}
		request.ResourceMetrics = append(request.ResourceMetrics, rm)
	}
	return request
}

func TestRequestsOfOpenTelemetryAgreeWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := otlpWriter{t: t}
		m := w.request()
		body, err := proto.Marshal(m)
		require.NoError(t, err)
		requireAgreementOnOTLP(t, OTLP, body, m)
		body = otlpJSON(t, m, protojson.MarshalOptions{
			UseEnumNumbers: w.one(2), Multiline: w.one(2), EmitUnpopulated: w.one(3),
		})
		requireAgreementOnOTLP(t, OTLPJSON, body, m)
	})
}

// randomExponentials returns a metric with exponential histograms. The reference is exact for requests with only these.
func randomExponentials(seed int) *otlpmetrics.Metric {
	return rapid.Custom(func(t *rapid.T) *otlpmetrics.Metric {
		w := otlpWriter{t: t}
		return &otlpmetrics.Metric{Name: "size", Data: &otlpmetrics.Metric_ExponentialHistogram{
			ExponentialHistogram: &otlpmetrics.ExponentialHistogram{AggregationTemporality: 2, DataPoints: w.exponentials()},
		}}
	}).Example(seed)
}

// FuzzParseOTLP checks that the pipeline does not panic, and that it accepts, refuses and writes the same as the
// reference for each message that OpenTelemetry's library accepts.
func FuzzParseOTLP(f *testing.F) {
	for i := range 20 {
		body, err := proto.Marshal(rapid.Custom(func(t *rapid.T) *collector.ExportMetricsServiceRequest {
			w := otlpWriter{t: t}
			return w.request()
		}).Example(i))
		require.NoError(f, err)
		f.Add(body)
		f.Add([]byte(otlpBody(f, randomExponentials(i))))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _, _ = acceptAs(t, OTLP, string(body))
		m := &collector.ExportMetricsServiceRequest{}
		if proto.Unmarshal(body, m) != nil || !isComparable(m) {
			return
		}
		m.ProtoReflect().SetUnknown(nil)
		usual, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		require.NoError(t, err)
		requireAgreementOnOTLP(t, OTLP, usual, m)
	})
}

// FuzzParseOTLPJSON is FuzzParseOTLP for the JSON of OTLP.
func FuzzParseOTLPJSON(f *testing.F) {
	for i := range 20 {
		f.Add(otlpJSON(f, rapid.Custom(func(t *rapid.T) *collector.ExportMetricsServiceRequest {
			w := otlpWriter{t: t}
			return w.request()
		}).Example(i), protojson.MarshalOptions{}))
		f.Add(otlpJSON(f, otlpRequest(randomExponentials(i)), protojson.MarshalOptions{}))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _, err := acceptAs(t, OTLPJSON, string(body))
		m := &collector.ExportMetricsServiceRequest{}
		if err != nil || (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, m) != nil || !isComparable(m) {
			return
		}
		requireAgreementOnOTLP(t, OTLPJSON, otlpJSON(t, m, protojson.MarshalOptions{}), m)
	})
}

// isComparable reports whether the reference is exact for a message. It sums up floats, and it does not merge bounds of
// histograms.
func isComparable(m *collector.ExportMetricsServiceRequest) bool {
	for _, rm := range m.GetResourceMetrics() {
		for _, sm := range rm.GetScopeMetrics() {
			for _, metric := range sm.GetMetrics() {
				if len(metric.GetHistogram().GetDataPoints()) > 0 || len(metric.GetSummary().GetDataPoints()) > 0 {
					return false
				}
				for _, pt := range metric.GetExponentialHistogram().GetDataPoints() {
					if !haveIDs(pt.GetExemplars()) {
						return false
					}
				}
				for _, pt := range append(metric.GetGauge().GetDataPoints(), metric.GetSum().GetDataPoints()...) {
					if !haveIDs(pt.GetExemplars()) {
						return false
					}
				}
			}
		}
	}
	return true
}
