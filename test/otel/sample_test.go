package otel

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

var (
	traceID = []byte{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36}
	spanID  = []byte{0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}
)

// resourceOf returns the resource of a service. Two of its attributes are tags of all series.
func resourceOf(service string) *resource.Resource {
	return resource.NewSchemaless(
		attribute.String("service.namespace", "shop"), attribute.String("service.name", service),
		attribute.String("service.instance.id", "1"), attribute.String("host.name", "h1"),
		attribute.String("deployment.environment.name", "test"), attribute.Int("process.pid", 7),
		attribute.StringSlice("process.command_args", []string{"a", "b"}),
	)
}

// sample returns metrics of every type with data points of a time and, of the counters, of a minute before.
func sample(service string, at time.Time) *metricdata.ResourceMetrics {
	return &metricdata.ResourceMetrics{Resource: resourceOf(service), ScopeMetrics: []metricdata.ScopeMetrics{{
		Scope: instrumentation.Scope{
			Name: "lib", Version: "1.2", SchemaURL: "https://opentelemetry.io/schemas/1.26.0",
			Attributes: attribute.NewSet(attribute.String("team", "a")),
		},
		Metrics: append(gaugesAndSums(at), distributions(at)...),
	}}}
}

// The temporalities of data points.
const (
	cumulative = metricdata.CumulativeTemporality
	delta      = metricdata.DeltaTemporality
)

func gaugesAndSums(at time.Time) []metricdata.Metrics {
	start, set := at.Add(-time.Hour), attribute.NewSet
	return []metricdata.Metrics{
		{Name: "tank.level", Description: "Level of the tank.", Unit: "m", Data: metricdata.Gauge[float64]{
			DataPoints: []metricdata.DataPoint[float64]{
				{Attributes: set(attribute.String("side", "left"), attribute.Bool("open", true)), Time: at, Value: 1.5},
				{Attributes: set(attribute.String("side", "right"), attribute.Float64("weight", 2.5)), Time: at, Value: -2},
			},
		}},
		{Name: "stock", Description: "Items.", Unit: "{item}", Data: metricdata.Gauge[int64]{
			DataPoints: []metricdata.DataPoint[int64]{{Time: at, Value: 9007199254740991}},
		}},
		{Name: "orders", Description: "Orders.", Unit: "{order}", Data: metricdata.Sum[int64]{
			Temporality: cumulative, IsMonotonic: true, DataPoints: []metricdata.DataPoint[int64]{
				{Attributes: set(attribute.Int("shop", 7)), StartTime: start, Time: at.Add(-time.Minute), Value: 40},
				{Attributes: set(attribute.Int("shop", 7)), StartTime: start, Time: at, Value: 42},
			},
		}},
		{Name: "queue", Data: metricdata.Sum[float64]{
			Temporality: cumulative, DataPoints: []metricdata.DataPoint[float64]{{StartTime: start, Time: at, Value: 3}},
		}},
		{Name: "sold", Data: metricdata.Sum[int64]{
			Temporality: delta, IsMonotonic: true, DataPoints: []metricdata.DataPoint[int64]{
				{StartTime: start, Time: at.Add(-time.Minute), Value: 4}, {StartTime: start, Time: at, Value: 5},
			},
		}},
	}
}

// distributions returns histograms of both kinds and a summary.
func distributions(at time.Time) []metricdata.Metrics {
	start, set := at.Add(-time.Hour), attribute.NewSet
	trace := metricdata.Exemplar[float64]{
		FilteredAttributes: []attribute.KeyValue{attribute.String("user", "ü"), attribute.Int("try", 2)},
		Time:               at.Add(-time.Second), Value: 0.25, TraceID: traceID, SpanID: spanID,
	}
	latency := metricdata.HistogramDataPoint[float64]{
		Attributes: set(attribute.String("page", "home")), StartTime: start, Time: at, Count: 4, Sum: 3.25,
		Bounds: []float64{0.1, 0.5, 1}, BucketCounts: []uint64{1, 2, 0, 1},
		Min: metricdata.NewExtrema(0.05), Max: metricdata.NewExtrema(2.0), Exemplars: []metricdata.Exemplar[float64]{trace},
	}
	size := metricdata.ExponentialHistogramDataPoint[float64]{
		StartTime: start, Time: at, Count: 7, Sum: 6.5, Scale: 0, ZeroCount: 1,
		Min: metricdata.NewExtrema(-3.0), Max: metricdata.NewExtrema(7.5),
		PositiveBucket: metricdata.ExponentialBucket{Offset: 0, Counts: []uint64{2, 0, 3}},
		NegativeBucket: metricdata.ExponentialBucket{Offset: 1, Counts: []uint64{1}},
		Exemplars:      []metricdata.Exemplar[float64]{trace},
	}
	return []metricdata.Metrics{
		{Name: "latency", Description: "Latency.", Unit: "s", Data: metricdata.Histogram[float64]{
			Temporality: cumulative, DataPoints: []metricdata.HistogramDataPoint[float64]{latency},
		}},
		{Name: "batch", Data: metricdata.Histogram[float64]{
			Temporality: delta, DataPoints: []metricdata.HistogramDataPoint[float64]{{
				StartTime: start, Time: at, Count: 2, Sum: 3, Bounds: []float64{1}, BucketCounts: []uint64{1, 1},
			}},
		}},
		{Name: "size", Description: "Sizes.", Unit: "By", Data: metricdata.ExponentialHistogram[float64]{
			Temporality: cumulative, DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{size},
		}},
		{Name: "part", Data: metricdata.ExponentialHistogram[float64]{
			Temporality: delta, DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{
				StartTime: start, Time: at, Count: 1, Sum: 3, Scale: 0,
				PositiveBucket: metricdata.ExponentialBucket{Offset: 1, Counts: []uint64{1}},
			}},
		}},
		{Name: "rpc", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
			StartTime: start, Time: at, Count: 10, Sum: 5.5, QuantileValues: []metricdata.QuantileValue{
				{Quantile: 0.5, Value: 0.25}, {Quantile: 0.99, Value: 2}, {Quantile: 1, Value: math.NaN()},
			},
		}}}},
	}
}

// named returns the name of a series of sample: a metric with the labels that all have, and others.
func named(metric string, namesAndValues ...string) string {
	labels := map[string]string{
		"__name__": metric, "deployment.environment.name": "test", "host.name": "h1", "otel_scope_name": "lib",
		"otel_scope_version": "1.2", "otel_scope_schema_url": "https://opentelemetry.io/schemas/1.26.0",
		"otel_scope_team": "a",
	}
	for i := 0; i < len(namesAndValues); i += 2 {
		labels[namesAndValues[i]] = namesAndValues[i+1]
	}
	return seriesName(labels)
}

// numbers are the values of the series of sample at its time that are numbers.
func numbers() map[string]string {
	const temporality, delta = "__temporality__", "delta" // the tag
	return map[string]string{
		named("tank.level", "side", "left", "open", "true"):   "1.5",
		named("tank.level", "side", "right", "weight", "2.5"): "-2",
		named("stock"): "9007199254740991", named("orders", "shop", "7"): "42", named("queue"): "3",
		named("sold", temporality, delta):                    "5",
		named("latency_bucket", "page", "home", "le", "0.1"): "1", named("latency_bucket", "page", "home", "le", "0.5"): "3",
		named("latency_bucket", "page", "home", "le", "1"): "3", named("latency_bucket", "page", "home", "le", "+Inf"): "4",
		named("latency_count", "page", "home"): "4", named("latency_sum", "page", "home"): "3.25",
		named("latency_min", "page", "home"): "0.05", named("latency_max", "page", "home"): "2",
		named("batch_bucket", temporality, delta, "le", "1"):    "1",
		named("batch_bucket", temporality, delta, "le", "+Inf"): "2",
		named("batch_count", temporality, delta):                "2", named("batch_sum", temporality, delta): "3",
		named("size_min"): "-3", named("size_max"): "7.5",
		named("rpc", "quantile", "0.5"): "0.25", named("rpc", "quantile", "0.99"): "2",
		named("rpc_count"): "10", named("rpc_sum"): "5.5",
		seriesName(map[string]string{
			"__name__": "target_info", "deployment.environment.name": "test", "host.name": "h1", "process.pid": "7",
			"process.command_args": `["a","b"]`,
		}): "1",
	}
}

// histograms are the values of the series of sample that are native histograms: for each bucket whether its bounds
// belong to it (0: only the upper one, 1: only the lower one, 3: both), its bounds and its count.
func histograms() map[string]string {
	return map[string]string{
		named("size"): `{"buckets":[[1,"-4","-2","1"],[3,"-1e-128","1e-128","1"],` +
			`[0,"1","2","2"],[0,"4","8","3"]],"count":"7","sum":"6.5"}`,
		named("part", "__temporality__", "delta"): `{"buckets":[[0,"2","4","1"]],"count":"1","sum":"3"}`,
	}
}

// described is the metadata of the metrics of sample.
var described = map[string]metadata{
	"tank.level": {"gauge", "Level of the tank.", "m"}, "stock": {"gauge", "Items.", "{item}"},
	"orders": {"counter", "Orders.", "{order}"}, "latency": {"histogram", "Latency.", "s"},
	"size": {"histogram", "Sizes.", "By"},
}

// requireSample requires that exactly what sample returns was stored: in PromQL, as points, with metadata and
// exemplars.
func requireSample(t *testing.T, s *server, service string, at time.Time) {
	t.Helper()
	source := "shop/" + service + "/1"
	want := numbers()
	for series, value := range histograms() {
		want[series] = value
	}
	selector := fmt.Sprintf(`{source=%q}`, source)
	s.awaitPromQL(t, selector, at, want)
	require.Empty(t, s.promQL(t, `count(`+selector+`)`, at.Add(-2*time.Minute)))
	sold := s.promQL(t, fmt.Sprintf(`sum(sum_over_time(sold{source=%q}[5m]))`, source), at)
	require.Equal(t, map[string]string{"{}": "9"}, sold, "the total of a delta")

	points := map[string][][2]float64{}
	ms := float64(at.UnixMilli())
	for series, value := range numbers() {
		var number float64
		require.NoError(t, json.Unmarshal([]byte(value), &number))
		points[series] = [][2]float64{{ms, number}}
		switch series {
		case named("orders", "shop", "7"):
			points[series] = [][2]float64{{ms - 60_000, 40}, {ms, 42}}
		case named("sold", "__temporality__", "delta"):
			points[series] = [][2]float64{{ms - 60_000, 4}, {ms, 5}}
		}
	}
	require.Equal(t, points, s.points(t, source))

	s.awaitMetadata(t, described)
	x := exemplar{
		Labels: map[string]string{
			"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7", "user": "ü", "try": "2",
		}, Value: "0.25", Timestamp: float64(at.Add(-time.Second).UnixMilli()) / 1000,
	}
	require.Equal(t, map[string][]exemplar{
		named("latency_bucket", "page", "home", "le", "0.5"): {x}, named("size"): {x},
	}, s.exemplars(t, selector, at.Add(-time.Hour), at.Add(time.Hour)))
}

// export sends metrics. Each exporter of the SDK has it.
type export interface {
	Export(context.Context, *metricdata.ResourceMetrics) error
	Shutdown(context.Context) error
}

// send sends metrics once.
func send(t *testing.T, open func(t *testing.T) export, m *metricdata.ResourceMetrics) {
	t.Helper()
	e := open(t)
	require.NoError(t, e.Export(t.Context(), m))
	require.NoError(t, e.Shutdown(t.Context()))
}
