package ingest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

var otlpTime = uint64(received.UnixNano())

// otlpRequest returns a request with the metrics, of a resource without attributes.
func otlpRequest(list ...*otlpmetrics.Metric) *collector.ExportMetricsServiceRequest {
	return &collector.ExportMetricsServiceRequest{ResourceMetrics: []*otlpmetrics.ResourceMetrics{
		{ScopeMetrics: []*otlpmetrics.ScopeMetrics{{Metrics: list}}},
	}}
}

// otlpBody returns such a request in protobuf.
func otlpBody(t testing.TB, list ...*otlpmetrics.Metric) string {
	t.Helper()
	body, err := proto.Marshal(otlpRequest(list...))
	require.NoError(t, err)
	return string(body)
}

func otlpGauge(name string, list ...*otlpmetrics.NumberDataPoint) *otlpmetrics.Metric {
	return &otlpmetrics.Metric{Name: name, Data: &otlpmetrics.Metric_Gauge{Gauge: &otlpmetrics.Gauge{DataPoints: list}}}
}

func otlpNumberPoint(value float64, attributes ...string) *otlpmetrics.NumberDataPoint {
	pt := &otlpmetrics.NumberDataPoint{
		TimeUnixNano: otlpTime, Value: &otlpmetrics.NumberDataPoint_AsDouble{AsDouble: value},
	}
	for i := 0; i+1 < len(attributes); i += 2 {
		pt.Attributes = append(pt.Attributes, &common.KeyValue{Key: attributes[i], Value: &common.AnyValue{
			Value: &common.AnyValue_StringValue{StringValue: attributes[i+1]},
		}})
	}
	return pt
}

func otlpHistogramMetric(pt *otlpmetrics.HistogramDataPoint) *otlpmetrics.Metric {
	pt.TimeUnixNano = otlpTime
	return &otlpmetrics.Metric{Name: "duration", Data: &otlpmetrics.Metric_Histogram{Histogram: &otlpmetrics.Histogram{
		AggregationTemporality: 2, DataPoints: []*otlpmetrics.HistogramDataPoint{pt},
	}}}
}

func TestDataPointsOfOpenTelemetryThatBreakARuleAreRejected(t *testing.T) {
	const metric = "resourceMetrics[0].scopeMetrics[0].metrics[1]"
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("k%02d", i), "v")
	}
	at := func(ns uint64) *otlpmetrics.NumberDataPoint {
		pt := otlpNumberPoint(1)
		pt.TimeUnixNano = ns
		return pt
	}
	for name, c := range map[string]struct {
		metric *otlpmetrics.Metric
		field  string
		why    rejection.Reason
	}{
		"NaN":      {otlpGauge("m", otlpNumberPoint(math.NaN())), ".gauge.dataPoints[0].asDouble", rejection.ValueNotFinite},
		"infinite": {otlpGauge("m", otlpNumberPoint(math.Inf(1))), ".gauge.dataPoints[0].asDouble", rejection.ValueNotFinite},
		"no value": {
			otlpGauge("m", &otlpmetrics.NumberDataPoint{TimeUnixNano: otlpTime}), ".gauge.dataPoints[0].value",
			rejection.ValueMissing,
		},
		"no time": {otlpGauge("m", at(0)), ".gauge.dataPoints[0].timeUnixNano", rejection.TimeMissing},
		"a day ahead": {
			otlpGauge("m", at(otlpTime+25*3600*1e9)), ".gauge.dataPoints[0].timeUnixNano", rejection.TimeLate,
		},
		"the end of time": {otlpGauge("m", at(math.MaxUint64)), ".gauge.dataPoints[0].timeUnixNano", rejection.TimeLate},
		"no name":         {otlpGauge("", otlpNumberPoint(1)), ".name", rejection.MetricEmpty},
		"long name":       {otlpGauge(strings.Repeat("x", 257), otlpNumberPoint(1)), ".name", rejection.MetricLong},
		"attribute twice": {
			otlpGauge("m", otlpNumberPoint(1, "a", "1", "a", "2")), ".gauge.dataPoints[0].attributes.a", rejection.TagTwice,
		},
		"long attribute": {
			otlpGauge("m", otlpNumberPoint(1, "a.b", strings.Repeat("x", 1025))), `.gauge.dataPoints[0].attributes["a.b"]`,
			rejection.TagValueLong,
		},
		"65 attributes": {
			otlpGauge("m", otlpNumberPoint(1, many...)), ".gauge.dataPoints[0].attributes", rejection.TagsMany,
		},
		"no temporality": {
			&otlpmetrics.Metric{Name: "m", Data: &otlpmetrics.Metric_Sum{Sum: &otlpmetrics.Sum{
				DataPoints: []*otlpmetrics.NumberDataPoint{otlpNumberPoint(1)},
			}}}, ".sum.aggregationTemporality", rejection.SumTemporality,
		},
		"descending bounds": {
			otlpHistogramMetric(&otlpmetrics.HistogramDataPoint{
				BucketCounts: []uint64{1, 1, 1}, ExplicitBounds: []float64{2, 1},
			}), ".histogram.dataPoints[0].bucketCounts", rejection.BucketsInvalid,
		},
		"too few buckets": {
			otlpHistogramMetric(&otlpmetrics.HistogramDataPoint{BucketCounts: []uint64{1}, ExplicitBounds: []float64{1}}),
			".histogram.dataPoints[0].bucketCounts", rejection.BucketsInvalid,
		},
		"a sum beyond 2^64": {
			otlpHistogramMetric(&otlpmetrics.HistogramDataPoint{
				BucketCounts: []uint64{math.MaxUint64, 1, 1}, ExplicitBounds: []float64{1, 2},
			}), ".histogram.dataPoints[0].bucketCounts", rejection.BucketsInvalid,
		},
		"many buckets": {
			otlpHistogramMetric(&otlpmetrics.HistogramDataPoint{
				BucketCounts: make([]uint64, 2000), ExplicitBounds: make([]float64, 1999),
			}), ".histogram.dataPoints[0].bucketCounts", rejection.BucketsMany,
		},
		"a sum that is NaN": {
			otlpHistogramMetric(&otlpmetrics.HistogramDataPoint{Sum: proto.Float64(math.NaN())}),
			".histogram.dataPoints[0].sum", rejection.ValueNotFinite,
		},
		"an attribute le": {
			&otlpmetrics.Metric{Name: "m", Data: &otlpmetrics.Metric_Histogram{Histogram: &otlpmetrics.Histogram{
				AggregationTemporality: 1, DataPoints: []*otlpmetrics.HistogramDataPoint{
					{TimeUnixNano: otlpTime, Attributes: otlpNumberPoint(1, "le", "1").GetAttributes()},
				},
			}}}, ".histogram.dataPoints[0].attributes.le", rejection.TagTwice,
		},
		"a quantile beyond 1": {
			&otlpmetrics.Metric{Name: "m", Data: &otlpmetrics.Metric_Summary{Summary: &otlpmetrics.Summary{
				DataPoints: []*otlpmetrics.SummaryDataPoint{{TimeUnixNano: otlpTime,
					QuantileValues: []*otlpmetrics.SummaryDataPoint_ValueAtQuantile{{Quantile: 1.5}}}},
			}}}, ".summary.dataPoints[0].quantileValues", rejection.QuantileRange,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, result, err := acceptAs(t, OTLP, otlpBody(t, otlpGauge("good", otlpNumberPoint(1)), c.metric))
			require.NoError(t, err)
			require.Equal(t, []int{1, 1, 2}, []int{result.Accepted, result.Rejected, result.DataPoints}, "%+v", result.Errors)
			require.Equal(t, []any{metric + c.field, c.why.Text()}, []any{result.Errors[0].Field, result.Errors[0].Reason})
		})
	}
}

func TestARequestOfOpenTelemetryIsBounded(t *testing.T) {
	histogram := otlpHistogramMetric(&otlpmetrics.HistogramDataPoint{
		BucketCounts: make([]uint64, 9), ExplicitBounds: []float64{1, 2, 3, 4, 5, 6, 7, 8},
	})
	body := otlpBody(t, histogram) // nine buckets and the count
	_, err := newFakeStores().pipeline(Limits{MaxPoints: 10}).Accept(t.Context(), OTLP, request(body))
	require.NoError(t, err)
	_, err = newFakeStores().pipeline(Limits{MaxPoints: 9}).Accept(t.Context(), OTLP, request(body))
	kind, field, _ := problem(t, err)
	require.Equal(t, []any{fault.TooLarge, "body"}, []any{kind, field})
	numbers := `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"histogram":{"dataPoints":[{"bucketCounts":[` +
		strings.Repeat("0,", 10_000) + `0]}]}}]}]}]}`
	_, err = newFakeStores().pipeline(Limits{MaxPoints: 9}).Accept(t.Context(), OTLPJSON, request(numbers))
	kind, field, _ = problem(t, err)
	require.Equal(t, []any{fault.TooLarge, "body"}, []any{kind, field})
	// Lists within lists end when they are too long for a tag.
	value := &common.AnyValue{}
	for range 3000 {
		value = &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{
			Values: []*common.AnyValue{value},
		}}}
	}
	deep := otlpNumberPoint(1)
	deep.Attributes = []*common.KeyValue{{Key: "a", Value: value}}
	_, result, err := acceptAs(t, OTLP, otlpBody(t, otlpGauge("m", otlpNumberPoint(1), deep)))
	require.NoError(t, err)
	require.Equal(t, rejection.TagValueLong.Text(), result.Errors[0].Reason)
}

// A source that is deleted and created again: labels that are in the cache are parsed from their bytes.
func TestSeriesOfOpenTelemetryMoveToASourceThatIsCreatedAgain(t *testing.T) {
	delta := otlpHistogramMetric(&otlpmetrics.HistogramDataPoint{
		BucketCounts: []uint64{1, 1}, ExplicitBounds: []float64{0.5}, Sum: proto.Float64(1),
		Attributes: otlpNumberPoint(1, "a", "1").GetAttributes(),
	})
	delta.GetHistogram().AggregationTemporality = 1
	m := &collector.ExportMetricsServiceRequest{ResourceMetrics: []*otlpmetrics.ResourceMetrics{{
		Resource: nil,
		ScopeMetrics: []*otlpmetrics.ScopeMetrics{{
			Scope: &common.InstrumentationScope{Name: "lib"}, SchemaUrl: "u", Metrics: []*otlpmetrics.Metric{delta},
		}},
	}}}
	m.ResourceMetrics[0].Resource = otlpResource("service.name", "shop", "host.name", "h", "zone", "z")
	body, err := proto.Marshal(m)
	require.NoError(t, err)
	p := newCachedPipeline()
	p.pipeline.setSourceTTL(0)
	_, err = p.acceptAlone(OTLP, request(string(body)))
	require.NoError(t, err)
	first := p.written(t)
	require.Len(t, first, 5)
	old, other := uuid.NewSHA1(workspace, []byte("shop")), uuid.New()
	delete(p.sources, old)
	p.sources[other] = "shop"
	p.pipeline.SourcesChanged(workspace)
	_, err = p.acceptAlone(OTLP, request(string(body)))
	require.NoError(t, err)
	moved := map[string]any{}
	for name, value := range first {
		moved[strings.Replace(name, old.String(), other.String(), 1)] = value
	}
	require.Equal(t, moved, p.written(t))
}

func otlpResource(attributes ...string) *resource.Resource {
	return &resource.Resource{Attributes: otlpNumberPoint(1, attributes...).GetAttributes()}
}
