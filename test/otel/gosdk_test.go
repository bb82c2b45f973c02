package otel

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
)

// measured are the values of the series that measure records, at its end: those of a temporality without its tag.
func measured(delta bool) map[string]string {
	values := map[string]string{
		"sdk_orders": "8", "sdk_queue": "-1", "sdk_level": "2.5", "sdk_observed": "12",
		"sdk_latency_count": "3", "sdk_latency_sum": "3.75",
		"sdk_latency_min": "0.25", "sdk_latency_max": "3", "sdk_latency_bucket 0.5": "2", "sdk_latency_bucket 1": "2",
		"sdk_latency_bucket +Inf": "3",
		"sdk_size": `{"buckets":[[3,"-1e-128","1e-128","1"],[0,"1","2","1"],[0,"2","4","1"]],` +
			`"count":"3","sum":"5"}`,
		"sdk_size_min": "0", "sdk_size_max": "3",
	}
	if delta { // what was recorded since the export before
		for name, value := range map[string]string{
			"sdk_orders": "5", "sdk_observed": "2", "sdk_latency_count": "1", "sdk_latency_sum": "3", "sdk_latency_min": "3",
			"sdk_latency_bucket 0.5": "0", "sdk_latency_bucket 1": "0", "sdk_latency_bucket +Inf": "1", "sdk_size_min": "3",
			"sdk_size": `{"buckets":[[0,"2","4","1"]],"count":"1","sum":"3"}`,
		} {
			values[name] = value
		}
	}
	return values
}

// measure records values with every instrument and exports them twice.
func measure(t *testing.T, provider *sdk.MeterProvider) {
	t.Helper()
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(traceID), SpanID: trace.SpanID(spanID), TraceFlags: trace.FlagsSampled,
	}))
	meter := provider.Meter("go", metric.WithInstrumentationVersion("2"))
	orders, err := meter.Int64Counter("sdk_orders")
	require.NoError(t, err)
	queue, err := meter.Float64UpDownCounter("sdk_queue")
	require.NoError(t, err)
	level, err := meter.Float64Gauge("sdk_level")
	require.NoError(t, err)
	latency, err := meter.Float64Histogram("sdk_latency", metric.WithExplicitBucketBoundaries(0.5, 1))
	require.NoError(t, err)
	size, err := meter.Int64Histogram("sdk_size")
	require.NoError(t, err)
	observed := int64(0)
	_, err = meter.Int64ObservableCounter("sdk_observed", metric.WithInt64Callback(
		func(_ context.Context, o metric.Int64Observer) error { o.Observe(observed); return nil },
	))
	require.NoError(t, err)

	orders.Add(ctx, 3)
	queue.Add(ctx, 1.5)
	level.Record(ctx, 1.5)
	latency.Record(ctx, 0.25)
	latency.Record(ctx, 0.5)
	size.Record(ctx, 0)
	size.Record(ctx, 2)
	observed = 10
	require.NoError(t, provider.ForceFlush(t.Context()))
	orders.Add(ctx, 5)
	queue.Add(ctx, -2.5)
	level.Record(ctx, 2.5)
	latency.Record(ctx, 3)
	size.Record(ctx, 3)
	observed = 12
	require.NoError(t, provider.Shutdown(t.Context()))
}

// testSDKOfGo measures with the SDK, which sends over HTTP and gRPC, in both temporalities.
func testSDKOfGo(t *testing.T) {
	s := running(t)
	for _, delta := range []bool{false, true} {
		selector := func(kind sdk.InstrumentKind) metricdata.Temporality {
			if delta {
				return sdk.DeltaTemporalitySelector(kind)
			}
			return metricdata.CumulativeTemporality
		}
		for protocol, open := range map[string]func(*testing.T) export{
			"http": overHTTP(s.http, s.headers(s.writer), otlpmetrichttp.WithTemporalitySelector(selector)),
			"grpc": overGRPC(s.grpc, s.headers(s.writer), otlpmetricgrpc.WithTemporalitySelector(selector)),
		} {
			service := "go-" + protocol + "-" + strconv.FormatBool(delta)
			exporter, isExporter := open(t).(sdk.Exporter)
			require.True(t, isExporter)
			provider := sdk.NewMeterProvider(
				sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithInterval(time.Hour))),
				sdk.WithResource(resourceOf(service)),
				sdk.WithView(sdk.NewView(sdk.Instrument{Name: "sdk_size"}, sdk.Stream{
					Aggregation: sdk.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 0},
				})),
			)
			began := time.Now()
			measure(t, provider)
			requireMeasured(
				t, s, "shop/"+service+"/1", "go", began, delta, "process.pid", "7", "process.command_args", `["a","b"]`,
			)
		}
	}
}

// requireMeasured requires exactly the values that measure records, with exemplars. target are labels of target_info.
func requireMeasured(
	t *testing.T, s *server, source, scope string, began time.Time, delta bool, target ...string,
) {
	t.Helper()
	end := time.Now().Add(time.Second)
	selector := fmt.Sprintf("{source=%q}", source)
	info := map[string]string{"__name__": "target_info", "deployment.environment.name": "test", "host.name": "h1"}
	for i := 0; i < len(target); i += 2 {
		info[target[i]] = target[i+1]
	}
	want := map[string]string{seriesName(info): "1"}
	for name, value := range measured(delta) {
		labels := map[string]string{
			"host.name": "h1", "deployment.environment.name": "test", "otel_scope_name": scope, "otel_scope_version": "2",
		}
		metric, bound, isBucket := strings.Cut(name, " ")
		labels["__name__"] = metric
		if isBucket {
			labels["le"] = bound
		}
		if delta && metric != "sdk_queue" && metric != "sdk_level" {
			labels["__temporality__"] = "delta"
		}
		want[seriesName(labels)] = value
	}
	for _, metric := range []string{"sdk_orders", "sdk_size"} { // both exports
		s.awaitPromQL(t, "sum(count_over_time("+metric+selector+"[1h]))", end, map[string]string{"{}": "2"})
	}
	s.awaitPromQL(t, selector, end, want)
	if delta {
		orders := s.promQL(t, "sum(sum_over_time(sdk_orders"+selector+"[1h]))", end)
		require.Equal(t, map[string]string{"{}": "8"}, orders)
	}
	found := 0
	for _, list := range s.exemplars(t, selector, began.Add(-time.Second), end) {
		for _, x := range list {
			require.Equal(t, map[string]string{
				"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7",
			}, x.Labels)
			require.InDelta(t, float64(end.Unix()), x.Timestamp, 120)
			found++
		}
	}
	require.GreaterOrEqual(t, found, 5, "exemplars of the counter, the gauge and the histograms")
}
