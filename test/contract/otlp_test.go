package contract_test

import (
	"context"
	"encoding/json"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	otelresource "go.opentelemetry.io/otel/sdk/resource"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	otlpresource "go.opentelemetry.io/proto/otlp/resource/v1"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/api/otlpgrpc"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/nativehistogram"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

const otlpPath = livedata.OTLPPath

// gauge returns a request with the values of a gauge, a second apart from the first of March 2026.
func gauge(service, name string, values ...float64) *collector.ExportMetricsServiceRequest {
	g := &metrics.Gauge{}
	for i, value := range values {
		g.DataPoints = append(g.DataPoints, &metrics.NumberDataPoint{
			TimeUnixNano: marchFirst*1e6 + uint64(i)*1e9, Value: &metrics.NumberDataPoint_AsDouble{AsDouble: value},
		})
	}
	return &collector.ExportMetricsServiceRequest{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource: &otlpresource.Resource{Attributes: []*common.KeyValue{
			{Key: "service.name", Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: service}}},
		}},
		ScopeMetrics: []*metrics.ScopeMetrics{{Metrics: []*metrics.Metric{
			{Name: name, Data: &metrics.Metric_Gauge{Gauge: g}},
		}}},
	}}}
}

// otlp sends a request in protobuf or, if asJSON is set, in JSON.
func (l *live) otlp(
	t testing.TB, m *collector.ExportMetricsServiceRequest, asJSON bool, q contract.Request,
) *contract.Answer {
	t.Helper()
	body, err := proto.Marshal(m)
	contentType := "application/x-protobuf"
	if asJSON {
		body, err = protojson.Marshal(m)
		contentType = "application/json"
	}
	require.NoError(t, err)
	return l.otlpBody(t, string(body), contentType, q)
}

func (l *live) otlpBody(t testing.TB, body, contentType string, q contract.Request) *contract.Answer {
	t.Helper()
	q.Method, q.Path, q.Body = http.MethodPost, otlpPath, body
	if q.Header == nil {
		q.Header = map[string]string{}
	}
	q.Header["Content-Type"] = contentType
	return l.Do(t, q)
}

// requireOTLPError requires a response that is a google.rpc.Status in the form of the request.
func requireOTLPError(t testing.TB, a *contract.Answer, httpStatus int, code codes.Code, text string) {
	t.Helper()
	require.Equal(t, httpStatus, a.Status, "%s", a.Body)
	var got rpcstatus.Status
	if a.Header.Get("Content-Type") == "application/x-protobuf" {
		require.NoError(t, proto.Unmarshal(a.Body, &got))
	} else {
		var inJSON struct {
			Code    int32
			Message string
		}
		require.NoError(t, json.Unmarshal(a.Body, &inJSON))
		got.Code, got.Message = inJSON.Code, inJSON.Message
	}
	require.Equal(t, []any{int32(code), true}, []any{got.Code, strings.Contains(got.Message, text)}, "%s", got.Message)
}

func TestTheExporterOfOpenTelemetryWritesPoints(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	for _, temporality := range []metricdata.Temporality{metricdata.CumulativeTemporality, metricdata.DeltaTemporality} {
		exporter, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(l.URL+otlpPath),
			otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression),
			otlpmetrichttp.WithHeaders(map[string]string{
				"Authorization": "Bearer " + l.Admin, "x-workspace-id": l.Workspace.String(),
			}),
			otlpmetrichttp.WithTemporalitySelector(func(sdk.InstrumentKind) metricdata.Temporality { return temporality }))
		require.NoError(t, err)
		provider := sdk.NewMeterProvider(
			sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithInterval(time.Hour))),
			sdk.WithResource(otelresource.NewSchemaless(
				attribute.String("service.name", "shop"), attribute.String("service.instance.id", "1"),
				attribute.String("host.name", "h"), attribute.Int("process.pid", 7),
			)),
			sdk.WithView(sdk.NewView(sdk.Instrument{Name: "size"}, sdk.Stream{
				Aggregation: sdk.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 0},
			})),
		)
		meter := provider.Meter("lib", metric.WithInstrumentationVersion("1.2"))
		orders, err := meter.Int64Counter("orders")
		require.NoError(t, err)
		orders.Add(t.Context(), 3, metric.WithAttributes(attribute.String("page", "home"), attribute.Bool("paid", true)))
		duration, err := meter.Float64Histogram("http.duration", metric.WithExplicitBucketBoundaries(0.5, 1))
		require.NoError(t, err)
		duration.Record(t.Context(), 0.75)
		size, err := meter.Float64Histogram("size")
		require.NoError(t, err)
		size.Record(t.Context(), 3)
		level, err := meter.Float64Gauge("level")
		require.NoError(t, err)
		level.Record(t.Context(), 1.5)
		require.NoError(t, provider.Shutdown(t.Context()))
	}
	source := l.sourceNames(t)["shop/1"]
	require.NotEmpty(t, source)
	var got []string
	for _, point := range readPointsLog(t, l.broker) {
		point = strings.TrimPrefix(point, source+" ")
		name, rest, _ := strings.Cut(point, "]")
		_, value, _ := strings.Cut(rest, "=")
		got = append(got, name+"] "+value)
	}
	const scope = "{otel_scope_name lib} {otel_scope_version 1.2}"
	for _, delta := range []string{"", "{__temporality__ delta} "} {
		hint := histogram.UnknownCounterReset
		if delta != "" {
			hint = histogram.GaugeType
		}
		size, err := nativehistogram.AppendInt(nil, &histogram.Histogram{
			Count: 1, Sum: 3, ZeroThreshold: 1e-128, PositiveSpans: []histogram.Span{{Offset: 2, Length: 1}},
			PositiveBuckets: []int64{1}, CounterResetHint: hint,
		})
		require.NoError(t, err)
		for _, want := range []string{
			"orders [" + delta + scope + " {page home} {paid true}] 3",
			"http.duration_bucket [" + delta + "{le 0.5} " + scope + "] 0",
			"http.duration_bucket [" + delta + "{le 1} " + scope + "] 1",
			"http.duration_bucket [" + delta + "{le +Inf} " + scope + "] 1",
			"http.duration_count [" + delta + scope + "] 1",
			"http.duration_sum [" + delta + scope + "] 0.75",
			"http.duration_min [" + delta + scope + "] 0.75",
			"http.duration_max [" + delta + scope + "] 0.75",
			"size [" + delta + scope + "] " + strconv.Quote(string(size)),
			"size_min [" + delta + scope + "] 3",
			"size_max [" + delta + scope + "] 3",
		} {
			require.Contains(t, got, want)
		}
	}
	require.Contains(t, got, "level ["+scope+"] 1.5")
	require.Contains(t, got, "target_info [{host.name h} {process.pid 7}] 1")
}

func TestMetricsSentTwiceAreStoredOnce(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	for _, asJSON := range []bool{false, true} {
		for range 2 {
			a := l.otlp(t, gauge("shop", "level", 1, 2), asJSON, contract.Request{})
			require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
			require.NotEmpty(t, a.Header.Get("X-Livegraph-Checkpoint"))
			require.Equal(t, map[bool]string{false: "", true: "{}"}[asJSON], string(a.Body))
		}
	}
	source := l.sourceNames(t)["shop"]
	points := map[string]int{}
	for _, point := range readPointsLog(t, l.broker) {
		points[point]++
	}
	// The same series and time each time: the store keeps one.
	require.Equal(t, map[string]int{
		source + " level [] 2026-03-01T00:00:00Z=1": 4, source + " level [] 2026-03-01T00:00:01Z=2": 4,
	}, points)
}

func TestRejectedMetricsAreAPartialSuccess(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	partly := gauge("shop", "level", 1, math.NaN(), math.Inf(1))
	const reason = "resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[1].asDouble: must be a finite number " +
		"(and 1 more)"
	a := l.otlp(t, partly, false, contract.Request{})
	require.Equal(t, http.StatusOK, a.Status)
	var got collector.ExportMetricsServiceResponse
	require.NoError(t, proto.Unmarshal(a.Body, &got))
	require.EqualValues(t, 2, got.GetPartialSuccess().GetRejectedDataPoints())
	require.Equal(t, reason, got.GetPartialSuccess().GetErrorMessage())
	a = l.otlp(t, partly, true, contract.Request{})
	require.Equal(t, http.StatusOK, a.Status)
	require.NoError(t, protojson.Unmarshal(a.Body, &got))
	require.EqualValues(t, 2, got.GetPartialSuccess().GetRejectedDataPoints())
	require.Len(t, readPointsLog(t, l.broker), 2)
	for _, asJSON := range []bool{false, true} {
		a = l.otlp(t, gauge("other", "level", math.NaN()), asJSON, contract.Request{})
		requireOTLPError(t, a, http.StatusBadRequest, codes.InvalidArgument, "must be a finite number")
	}
	require.NotContains(t, l.sourceNames(t), "other", "no source is created for what is rejected")
	for body, contentType := range map[string]string{"": "application/x-protobuf", "{}": "application/json"} {
		require.Equal(t, http.StatusOK, l.otlpBody(t, body, contentType, contract.Request{}).Status, "an empty request")
	}
}

func TestBadRequestsOfOpenTelemetryAreRefused(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	good, err := proto.Marshal(gauge("shop", "level", 1))
	require.NoError(t, err)
	for name, body := range map[string]string{
		"cut off": string(good[:len(good)-1]), "text": "hello", "JSON": `{"resourceMetrics":[]}`, "a group": "\x0b\x0c",
		"a length beyond the end": "\x0a\xff\xff\xff\xff\x0f",
	} {
		a := l.otlpBody(t, body, "application/x-protobuf", contract.Request{})
		requireOTLPError(t, a, http.StatusBadRequest, codes.InvalidArgument, "ExportMetricsServiceRequest")
		require.Equal(t, "application/x-protobuf", a.Header.Get("Content-Type"), name)
	}
	const inMetric, metricPath = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[`,
		"resourceMetrics[0].scopeMetrics[0].metrics[0]"
	for body, field := range map[string]string{
		"{": "body", "[]": "body", "null": "body", "{} {}": "body", `{"resourceMetrics":{}}`: "resourceMetrics",
		inMetric + `{"name":5}]}]}]}`:                               metricPath + ".name",
		inMetric + `{"gauge":{"dataPoints":[{"asInt":1.5}]}}]}]}]}`: metricPath + ".gauge.dataPoints[0].asInt",
		`{"resourceMetrics":[],"resourceMetrics":[]}`:               "body", "\xff": "body",
		strings.Repeat("[", 20_000):                         "body",
		`{"resourceMetrics":` + strings.Repeat("[", 20_000): "resourceMetrics[0]",
	} {
		a := l.otlpBody(t, body, "application/json", contract.Request{})
		a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": field})
		requireOTLPError(t, a, http.StatusBadRequest, codes.InvalidArgument, field)
	}
	for _, contentType := range []string{"", "text/plain", "application/x-protobuf; charset=latin1", "application/grpc"} {
		a := l.otlpBody(t, string(good), contentType, contract.Request{})
		requireOTLPError(t, a, http.StatusUnsupportedMediaType, codes.InvalidArgument, "Content-Type")
	}
	for _, encoding := range []string{"br", "gzip, gzip"} {
		a := l.otlpBody(t, string(good), "application/x-protobuf", contract.Request{
			Header: map[string]string{"Content-Encoding": encoding},
		})
		requireOTLPError(t, a, http.StatusUnsupportedMediaType, codes.InvalidArgument, "Content-Encoding")
	}
	var bomb strings.Builder
	w := gzip.NewWriter(&bomb)
	_, err = w.Write(make([]byte, 33<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	a := l.otlpBody(t, bomb.String(), "application/x-protobuf", contract.Request{
		Header: map[string]string{"Content-Encoding": "gzip"},
	})
	requireOTLPError(t, a, http.StatusRequestEntityTooLarge, codes.InvalidArgument, "larger than")
	a = l.Do(t, contract.Request{Method: http.MethodPost, Path: otlpPath + "?x=1", Body: string(good),
		Header: map[string]string{"Content-Type": "application/x-protobuf"}})
	requireOTLPError(t, a, http.StatusBadRequest, codes.InvalidArgument, "x")
	l.Do(t, contract.Request{Path: otlpPath}).RequireFailure(t, http.StatusMethodNotAllowed, validation, "", nil)
	require.Empty(t, readPointsLog(t, l.broker))
}

func TestMetricsOfOpenTelemetryRequireKeyWorkspaceAndScope(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	other := l.NewWorkspace(t, apikey.Live)
	for _, asJSON := range []bool{false, true} {
		send := func(q contract.Request) *contract.Answer { return l.otlp(t, gauge("shop", "level", 1), asJSON, q) }
		requireOTLPError(t, send(contract.Request{Key: contract.None}), 401, codes.Unauthenticated, "Missing Authorization")
		requireOTLPError(t, send(contract.Request{Key: apikey.Generate(apikey.Live).Reveal()}), 401, codes.Unauthenticated,
			"Unauthorized")
		requireOTLPError(t, send(contract.Request{Workspace: contract.None}), 400, codes.InvalidArgument, "x-workspace-id")
		requireOTLPError(t, send(contract.Request{Workspace: other.String()}), 403, codes.PermissionDenied,
			"Workspace access denied")
		reader := l.NewKey(t, []uuid.UUID{l.Workspace}, request.ReadLiveData)
		requireOTLPError(t, send(contract.Request{Key: reader}), 403, codes.PermissionDenied, "Forbidden")
		writer := l.NewKey(t, []uuid.UUID{l.Workspace}, request.WriteLiveData)
		require.Equal(t, http.StatusOK, send(contract.Request{Key: writer}).Status)
	}
	require.Len(t, readPointsLog(t, l.broker), 2)
}

func TestTheLimitOfSourcesRejectsMetrics(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	_, err := l.DB.UpdateWorkspace(t.Context(), l.Workspace, limitOfSources(1))
	require.NoError(t, err)
	m := gauge("a", "level", 1)
	m.ResourceMetrics = append(m.ResourceMetrics, gauge("b", "level", 1, 2).GetResourceMetrics()...)
	a := l.otlp(t, m, false, contract.Request{})
	var got collector.ExportMetricsServiceResponse
	require.NoError(t, proto.Unmarshal(a.Body, &got))
	require.EqualValues(t, 2, got.GetPartialSuccess().GetRejectedDataPoints())
	const field = `resourceMetrics[1].resource.attributes["service.name"]`
	require.Contains(t, got.GetPartialSuccess().GetErrorMessage(), field)
}

func TestMetricsAreWrittenOverGRPC(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	server := otlpgrpc.Server{Handler: l.API.Handler(), Path: otlpPath, ShutdownTimeout: time.Second}
	go func() { done <- server.Serve(ctx, listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	client := collector.NewMetricsServiceClient(conn)
	as := func(key string, more ...string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), append([]string{"authorization", "Bearer " + key}, more...)...)
	}
	workspace := []string{"x-workspace-id", l.Workspace.String()}
	_, err = client.Export(t.Context(), gauge("shop", "level", 1))
	require.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
	_, err = client.Export(as(l.Admin), gauge("shop", "level", 1))
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	reader := l.NewKey(t, []uuid.UUID{l.Workspace}, request.ReadLiveData)
	_, err = client.Export(as(reader, workspace...), gauge("shop", "level", 1))
	require.Equal(t, codes.PermissionDenied, status.Code(err), "%v", err)
	_, err = client.Export(as(l.Admin, workspace...), gauge("shop", "level", math.NaN()))
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	_, err = client.Export(as(l.Admin, workspace...), gauge(strings.Repeat("x", 5<<20), "level", 1))
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	require.Empty(t, readPointsLog(t, l.broker))

	answer, err := client.Export(as(l.Admin, workspace...), gauge("shop", "level", 1, 2))
	require.NoError(t, err)
	require.Nil(t, answer.GetPartialSuccess())
	answer, err = client.Export(as(l.Admin, workspace...), gauge("shop", "level", 3, math.NaN()))
	require.NoError(t, err)
	require.EqualValues(t, 1, answer.GetPartialSuccess().GetRejectedDataPoints())
	require.Len(t, readPointsLog(t, l.broker), 3)
	require.NoError(t, conn.Close())
	stop()
	require.NoError(t, <-done)
}
