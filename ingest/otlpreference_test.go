package ingest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// otlpReference is a slow and simple translation of OTLP. It works on the messages of OpenTelemetry's own library.
type otlpReference struct {
	verdict
	source    string
	promoted  map[string]string
	hasDouble bool // a resource has an attribute twice
	info      map[string]string
	scope     map[string]string
	scopeBad  bool
	latest    int64
}

func interpretOTLP(m *collector.ExportMetricsServiceRequest) verdict {
	r := &otlpReference{verdict: verdict{points: map[string]any{}}}
	for _, rm := range m.GetResourceMetrics() {
		r.resource(rm)
	}
	r.invalid = r.accepted == 0 && r.rejected > 0
	return r.verdict
}

func (r *otlpReference) resource(rm *otlpmetrics.ResourceMetrics) {
	names := map[string]string{}
	r.info, r.promoted, r.latest, r.hasDouble = map[string]string{}, map[string]string{}, 0, false
	for _, kv := range rm.GetResource().GetAttributes() {
		text := otlpText(kv.GetValue(), false)
		key := kv.GetKey()
		switch {
		case text == "":
			continue
		case strings.HasPrefix(key, "service."):
			names[key] = text
			continue
		}
		if _, twice := r.info[key]; twice {
			r.hasDouble = true
		} else if key == "zone" {
			r.promoted[key] = cutText(text)
		}
		r.info[key] = cutText(text)
	}
	parts := []string{names["service.namespace"], names["service.name"], names["service.instance.id"]}
	r.source = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
	if r.source == "" {
		r.source = "opentelemetry"
	}
	for _, sm := range rm.GetScopeMetrics() {
		r.scope, r.scopeBad = map[string]string{}, false
		for _, kv := range sm.GetScope().GetAttributes() {
			r.scopeBad = !addOnce(r.scope, "otel_scope_"+kv.GetKey(), otlpText(kv.GetValue(), false)) || r.scopeBad
		}
		for key, value := range map[string]string{
			"otel_scope_name": sm.GetScope().GetName(), "otel_scope_version": sm.GetScope().GetVersion(),
			"otel_scope_schema_url": sm.GetSchemaUrl(),
		} {
			r.scopeBad = !addOnce(r.scope, key, value) || r.scopeBad
		}
		for _, m := range sm.GetMetrics() {
			r.metric(m)
		}
	}
	if len(r.info) > 0 && r.latest > 0 {
		if r.hasDouble || badTags(anyTags(r.info)) {
			r.rejected++
			return
		}
		r.keep("target_info", r.info, uint64(r.latest)*1000, otlpSeries{value: 1})
	}
}

func anyTags(tags map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range tags {
		all[key] = value
	}
	return all
}

// addOnce adds a tag, unless it is empty, and reports whether it was not there.
func addOnce(tags map[string]string, key, value string) bool {
	if value == "" {
		return true
	}
	_, twice := tags[key]
	tags[key] = value
	return !twice
}

func cutText(text string) string {
	for len(text) > block.MaxTextBytes {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

func otlpText(v *common.AnyValue, quoted bool) string {
	quote := func(text string) string {
		if !quoted {
			return text
		}
		b, _ := json.Marshal(text)
		return string(b)
	}
	var parts []string
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return quote(v.StringValue)
	case *common.AnyValue_BytesValue:
		return quote(base64.StdEncoding.EncodeToString(v.BytesValue))
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_DoubleValue:
		if math.IsNaN(v.DoubleValue) || math.IsInf(v.DoubleValue, 0) {
			return quote(strings.Replace(strings.TrimPrefix(fmt.Sprint(v.DoubleValue), "+"), "Inf", "Infinity", 1))
		}
		return floatText(v.DoubleValue)
	case *common.AnyValue_ArrayValue:
		for _, element := range v.ArrayValue.GetValues() {
			parts = append(parts, otlpText(element, true))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *common.AnyValue_KvlistValue:
		for _, pair := range v.KvlistValue.GetValues() {
			key, _ := json.Marshal(pair.GetKey())
			parts = append(parts, string(key)+":"+otlpText(pair.GetValue(), true))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	if quoted {
		return "null"
	}
	return ""
}

func floatText(v float64) string {
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// otlpPoint has what all data points have.
type otlpPoint interface {
	GetAttributes() []*common.KeyValue
	GetTimeUnixNano() uint64
	GetFlags() uint32
}

// otlpSeries is a point of one series of a data point.
type otlpSeries struct {
	suffix, key, bound string
	value              float64
	text               string // if it is a native histogram
	exemplars          []*otlpmetrics.Exemplar
}

func (r *otlpReference) metric(m *otlpmetrics.Metric) {
	switch data := m.GetData().(type) {
	case *otlpmetrics.Metric_Gauge:
		for _, pt := range data.Gauge.GetDataPoints() {
			series, ok := otlpNumber(pt)
			r.point(m, pt, 2, false, series, ok)
		}
	case *otlpmetrics.Metric_Sum:
		for _, pt := range data.Sum.GetDataPoints() {
			series, ok := otlpNumber(pt)
			r.point(m, pt, data.Sum.GetAggregationTemporality(), false, series, ok)
		}
	case *otlpmetrics.Metric_Histogram:
		for _, pt := range data.Histogram.GetDataPoints() {
			series, ok := otlpHistogram(pt)
			r.point(m, pt, data.Histogram.GetAggregationTemporality(), true, series, ok)
		}
	case *otlpmetrics.Metric_ExponentialHistogram:
		for _, pt := range data.ExponentialHistogram.GetDataPoints() {
			series, ok := otlpExponential(pt, data.ExponentialHistogram.GetAggregationTemporality() == 1)
			r.point(m, pt, data.ExponentialHistogram.GetAggregationTemporality(), false, series, ok)
		}
	case *otlpmetrics.Metric_Summary:
		for _, pt := range data.Summary.GetDataPoints() {
			series, ok := otlpSummary(pt)
			r.point(m, pt, 2, true, series, ok)
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func otlpNumber(pt *otlpmetrics.NumberDataPoint) (list []otlpSeries, ok bool) {
	switch v := pt.GetValue().(type) {
	case *otlpmetrics.NumberDataPoint_AsDouble:
		return []otlpSeries{{value: v.AsDouble, exemplars: pt.GetExemplars()}}, finite(v.AsDouble)
	case *otlpmetrics.NumberDataPoint_AsInt:
		return []otlpSeries{{value: float64(v.AsInt), exemplars: pt.GetExemplars()}}, true
	}
	return nil, false
}

func otlpSums(count uint64, sum, lowest, highest *float64) (list []otlpSeries, ok bool) {
	list = []otlpSeries{{suffix: "_count", value: float64(count)}}
	ok = true
	for suffix, value := range map[string]*float64{"_sum": sum, "_min": lowest, "_max": highest} {
		if value != nil {
			list = append(list, otlpSeries{suffix: suffix, value: *value})
			ok = ok && finite(*value)
		}
	}
	return list, ok
}

func otlpHistogram(pt *otlpmetrics.HistogramDataPoint) (list []otlpSeries, ok bool) {
	list, ok = otlpSums(pt.GetCount(), pt.Sum, pt.Min, pt.Max)
	counts, bounds := pt.GetBucketCounts(), pt.GetExplicitBounds()
	if len(counts)+len(bounds) > 0 && len(counts) != len(bounds)+1 {
		return nil, false
	}
	below, lowest := uint64(0), math.Inf(-1)
	for i, bound := range bounds {
		below += counts[i]
		ok = ok && finite(bound) && (i == 0 || bound > bounds[i-1])
		list = append(list, otlpSeries{
			suffix: "_bucket", key: "le", bound: floatText(bound), value: float64(below),
			exemplars: exemplarsWithin(pt.GetExemplars(), lowest, bound),
		})
		lowest = bound
	}
	return append(list, otlpSeries{
		suffix: "_bucket", key: "le", bound: "+Inf", value: float64(pt.GetCount()),
		exemplars: exemplarsWithin(pt.GetExemplars(), lowest, math.Inf(1)),
	}), ok
}

func otlpSummary(pt *otlpmetrics.SummaryDataPoint) (list []otlpSeries, ok bool) {
	sum := pt.GetSum()
	list, ok = otlpSums(pt.GetCount(), &sum, nil, nil)
	for _, q := range pt.GetQuantileValues() {
		ok = ok && q.GetQuantile() >= 0 && q.GetQuantile() <= 1 && !math.IsInf(q.GetValue(), 0)
		if !math.IsNaN(q.GetValue()) {
			list = append(list, otlpSeries{key: "quantile", bound: floatText(q.GetQuantile()), value: q.GetValue()})
		}
	}
	return list, ok
}

// point keeps all points of a data point, or rejects it.
func (r *otlpReference) point(
	m *otlpmetrics.Metric, pt otlpPoint, temporality otlpmetrics.AggregationTemporality, bound bool,
	series []otlpSeries, ok bool,
) {
	_, isExponential := m.GetData().(*otlpmetrics.Metric_ExponentialHistogram)
	if pt.GetFlags()&1 != 0 && !isExponential {
		return
	}
	tags := map[string]string{}
	for _, kv := range pt.GetAttributes() {
		ok = addOnce(tags, kv.GetKey(), otlpText(kv.GetValue(), false)) && ok
	}
	for key, value := range r.promoted {
		if _, has := tags[key]; !has {
			tags[key] = value
		}
	}
	for key, value := range r.scope {
		ok = addOnce(tags, key, value) && ok
	}
	if temporality == otlpmetrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA {
		ok = addOnce(tags, "__temporality__", "delta") && ok
	} else if temporality != otlpmetrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		ok = false
	}
	ns, latest := pt.GetTimeUnixNano(), received.UnixMicro()+24*3600*1e6
	longest := m.GetName()
	if bound {
		longest += "_bucket"
	} else if isExponential {
		longest += "_min"
	}
	_, isSummary := m.GetData().(*otlpmetrics.Metric_Summary)
	key := map[bool]string{true: "quantile", false: "le"}[isSummary]
	_, twice := tags[key]
	if !ok || ns == 0 || ns/1000 > uint64(latest) || m.GetName() == "" || badName(longest) || badTags(anyTags(tags)) ||
		r.scopeBad || bound && (twice || len(tags) > 63) {
		r.rejected++
		return
	}
	for _, s := range series {
		all := map[string]string{}
		for key, value := range tags {
			all[key] = value
		}
		if s.key != "" {
			all[s.key] = s.bound
		}
		r.keep(m.GetName()+s.suffix, all, ns, s)
		if pt.GetFlags()&1 == 0 {
			r.keepExemplars(m.GetName()+s.suffix, all, s.exemplars)
		}
	}
	r.latest = max(r.latest, int64(ns/1000))
}

// keep adds a point to the expected ones.
func (r *otlpReference) keep(metric string, tags map[string]string, ns uint64, s otlpSeries) {
	var sorted []pointblock.Tag
	for key, value := range tags {
		sorted = append(sorted, pointblock.Tag{Key: key, Value: value})
	}
	slices.SortFunc(sorted, func(a, b pointblock.Tag) int { return strings.Compare(a.Key, b.Key) })
	if !block.CanNameSource(r.source) {
		r.rejected++
		return
	}
	r.accepted++
	name := pointName(uuid.NewSHA1(workspace, []byte(r.source)), metric, sorted, int64(ns/1000))
	if s.text != "" {
		r.points[name+" special"] = s.text
	} else {
		r.points[name+" n"] = s.value
	}
}

func requireAgreementOnOTLP(t require.TestingT, format Format, body []byte, m *collector.ExportMetricsServiceRequest) {
	_ = requireVerdict(t, format, body, interpretOTLP(m))
}
