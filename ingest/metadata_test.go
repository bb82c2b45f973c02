package ingest

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/test/promwrite"
)

func TestMetadataOfRemoteWritesIsRead(t *testing.T) {
	described := func(kind uint64, metric, help, unit string) message {
		return message{}.Varint(1, kind).Text(2, metric).Text(4, help).Text(5, unit)
	}
	one := message(promWrite(plain().Sample(1, 1)))
	for _, m := range []message{
		described(1, "requests", "Total.", ""), described(4, "sizes", "", "bytes"), described(99, "odd", "x", "y"),
		described(1, "", "without a name", ""), message{}.Text(2, "bare"),
	} {
		one = one.Bytes(3, m)
	}
	one = append(one, message{}.Bytes(3, []byte("no message"))...)

	labelled := func(refs ...byte) message {
		return message{}.Bytes(1, append([]byte{1, 2}, refs...)).Sample(1, 1)
	}
	two := symbols("__name__", "sizes_bucket", "le", "1", "+Inf", "How large.", "bytes", "up")
	of := func(kind, help, unit uint64) message {
		return message{}.Varint(1, kind).Varint(3, help).Varint(4, unit)
	}
	for _, series := range []message{
		labelled().Bytes(5, of(3, 6, 7)), labelled(3, 4).Bytes(5, of(3, 6, 7)),
		message{}.Bytes(1, []byte{1, 8}).Bytes(5, of(2, 0, 0)), message{}.Bytes(1, []byte{1, 8}).Sample(1, 1),
		message{}.Bytes(1, []byte{1, 8}).Bytes(5, of(1, 99, 99)), message{}.Bytes(1, []byte{1, 8}).Bytes(5, []byte("x")),
		message{}.Bytes(1, []byte{3, 4}).Bytes(5, of(1, 0, 0)),
	} {
		two = two.Bytes(5, series)
	}
	for _, c := range []struct {
		format Format
		body   message
		want   []metricmetadata.Metadata
	}{
		{RemoteWrite, one, []metricmetadata.Metadata{
			{Metric: "requests", Type: "counter", Help: "Total."}, {Metric: "sizes", Type: "gaugehistogram", Unit: "bytes"},
			{Metric: "odd", Type: "unknown", Help: "x", Unit: "y"}, {Metric: "bare", Type: "unknown"},
		}},
		{RemoteWrite2, two, []metricmetadata.Metadata{
			{Metric: "sizes", Type: "histogram", Help: "How large.", Unit: "bytes"}, {Metric: "up", Type: "gauge"},
			{Metric: "up", Type: "counter"},
		}},
	} {
		p, result, err := acceptAs(t, c.format, string(c.body))
		require.NoError(t, err)
		require.Positive(t, result.Accepted)
		require.Equal(t, c.want, p.metadata, c.format)
	}
}

func TestMetadataOfOpenTelemetryIsRead(t *testing.T) {
	described := func(m *otlpmetrics.Metric, name, help, unit string) *otlpmetrics.Metric {
		m.Name, m.Description, m.Unit = name, help, unit
		return m
	}
	sum := func(temporality otlpmetrics.AggregationTemporality, monotonic bool) *otlpmetrics.Metric {
		return &otlpmetrics.Metric{Data: &otlpmetrics.Metric_Sum{Sum: &otlpmetrics.Sum{
			AggregationTemporality: temporality, IsMonotonic: monotonic,
			DataPoints: []*otlpmetrics.NumberDataPoint{otlpNumberPoint(1)},
		}}}
	}
	m := otlpRequest(
		described(otlpGauge("", otlpNumberPoint(1)), "level", "At the outlet.", "Cel"),
		described(otlpGauge("", otlpNumberPoint(2)), "level", "At the outlet.", "Cel"),
		described(sum(2, true), "orders", "", "{order}"), described(sum(2, false), "queue", "Waiting.", ""),
		described(sum(1, true), "changes", "", ""), described(sum(0, true), "neither", "is rejected", ""),
		described(otlpHistogramMetric(&otlpmetrics.HistogramDataPoint{}), "http.duration", "", "s"),
		described(otlpExponentialMetric(&otlpmetrics.ExponentialHistogramDataPoint{}), "size", "How large.", "By"),
		described(&otlpmetrics.Metric{Data: &otlpmetrics.Metric_Summary{Summary: &otlpmetrics.Summary{
			DataPoints: []*otlpmetrics.SummaryDataPoint{{TimeUnixNano: otlpTime}},
		}}}, "rpc", "", ""),
		described(otlpGauge(""), "empty", "without data points", ""), described(&otlpmetrics.Metric{}, "none", "no type", ""),
		described(otlpGauge("", otlpNumberPoint(1)), "", "without a name", ""),
	)
	want := []metricmetadata.Metadata{
		{Metric: "level", Type: "gauge", Help: "At the outlet.", Unit: "Cel"},
		{Metric: "orders", Type: "counter", Unit: "{order}"}, {Metric: "queue", Type: "gauge", Help: "Waiting."},
		{Metric: "changes", Type: "unknown"}, {Metric: "http.duration", Type: "histogram", Unit: "s"},
		{Metric: "size", Type: "histogram", Help: "How large.", Unit: "By"}, {Metric: "rpc", Type: "summary"},
	}
	body, err := proto.Marshal(m)
	require.NoError(t, err)
	inJSON, err := protojson.Marshal(m)
	require.NoError(t, err)
	for format, body := range map[Format][]byte{OTLP: body, OTLPJSON: inJSON} {
		p, _, err := acceptAs(t, format, string(body))
		require.NoError(t, err)
		require.Equal(t, want, p.metadata, format)
	}
}

// A request does not fail because of metadata.
func TestMetadataOfOpenTelemetryThatIsNotValidIsIgnored(t *testing.T) {
	const gauge = `"gauge":{"dataPoints":[{"timeUnixNano":"1795246808000000000","asInt":1}]}`
	for metadata, want := range map[string]metricmetadata.Metadata{
		`"description":5,"unit":{"a":[1]}`:          {Metric: "m", Type: "gauge"},
		`"description":null,"unit":["s"]`:           {Metric: "m", Type: "gauge"},
		`"description":"d","unit":false`:            {Metric: "m", Type: "gauge", Help: "d"},
		`"description":true,"unit":"\u00b0C","x":1`: {Metric: "m", Type: "gauge", Unit: "°C"},
	} {
		p, result, err := acceptAs(
			t, OTLPJSON, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m",`+metadata+`,`+gauge+`}]}]}]}`,
		)
		require.NoError(t, err, metadata)
		require.Equal(t, 1, result.Accepted)
		require.Equal(t, []metricmetadata.Metadata{want}, p.metadata, metadata)
	}
	for monotonic, want := range map[string]string{`true`: "counter", `"true"`: "gauge", `1`: "gauge", `false`: "gauge"} {
		p, _, err := acceptAs(t, OTLPJSON, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m",`+
			strings.Replace(gauge, `"gauge":{`, `"sum":{"aggregationTemporality":2,"isMonotonic":`+monotonic+`,`, 1)+`}]}]}]}`)
		require.NoError(t, err)
		require.Equal(t, want, p.metadata[0].Type, monotonic)
	}
	// A description that is no bytes, and one that is not UTF-8.
	point := message{}.Double(3, math.Float64frombits(otlpTime)).Double(4, 1)
	metric := message{}.Text(1, "m").Varint(2, 7).Text(3, "\xff").Bytes(5, message{}.Bytes(1, point))
	body := message{}.Bytes(1, message{}.Bytes(2, message{}.Bytes(2, metric)))
	p, result, err := acceptAs(t, OTLP, string(body))
	require.NoError(t, err)
	require.Equal(t, 1, result.Accepted)
	require.Equal(t, []metricmetadata.Metadata{{Metric: "m", Type: "gauge", Unit: "\xff"}}, p.metadata)
}

// The metadata of a request is bounded, and does not make it fail.
func TestMetadataOfARequestIsBounded(t *testing.T) {
	many := message(promWrite(plain().Sample(1, 1)))
	metadata := message{}.Bytes(3, message{}.Text(2, "a")).Bytes(3, message{}.Text(2, "b"))
	p, _, err := acceptAs(t, RemoteWrite, string(slices.Concat(many, slices.Repeat(metadata, 10_000))))
	require.NoError(t, err)
	require.Len(t, p.metadata, 10_000)
	var metrics []*otlpmetrics.Metric
	for i := range 10_001 {
		metrics = append(metrics, otlpGauge(strconv.Itoa(i), otlpNumberPoint(1)))
	}
	p, _, err = acceptAs(t, OTLP, otlpBody(t, metrics...))
	require.NoError(t, err)
	require.Len(t, p.metadata, 10_000)
	p, _, err = acceptAs(t, RemoteWrite2, string(promwrite.Request2(plain().Sample(1, 1))))
	require.NoError(t, err)
	require.Empty(t, p.metadata)
}
