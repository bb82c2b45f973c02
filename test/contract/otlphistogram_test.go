package contract_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/api/promql"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

type (
	exponentialPoint   = metrics.ExponentialHistogramDataPoint
	exponentialBuckets = metrics.ExponentialHistogramDataPoint_Buckets
)

// startConsumedLive starts live data with a consumer, so that points that are sent can be queried.
func startConsumedLive(t *testing.T) *live {
	t.Helper()
	pipeline, group := &contract.Pipeline{}, &contract.LiveData{}
	return &live{LiveData: group, Server: contract.Start(t, func(t testing.TB, s *contract.Server) []route.Route {
		t.Helper()
		pipeline.Group(t, s) // for its consumer: the routes require an operator
		group.Log, group.Points = pipeline.Log, pipeline.Points
		return group.Group(t, s)
	})}
}

// exponential returns a request with the data points of an exponential histogram, a minute apart from the first of
// March 2026.
func exponential(
	service string, temporality metrics.AggregationTemporality, points ...*exponentialPoint,
) *collector.ExportMetricsServiceRequest {
	for i, pt := range points {
		pt.TimeUnixNano = marchFirst*1e6 + uint64(i)*60e9
	}
	m := gauge(service, "level", 1)
	scope := m.GetResourceMetrics()[0].GetScopeMetrics()[0]
	scope.Metrics = append(scope.Metrics, &metrics.Metric{
		Name: "size", Description: "How large.", Unit: "By",
		Data: &metrics.Metric_ExponentialHistogram{ExponentialHistogram: &metrics.ExponentialHistogram{
			AggregationTemporality: temporality, DataPoints: points,
		}},
	})
	return m
}

// TestExponentialHistogramsAreReadInPromQL sends the data points of an exponential histogram, of which the last one
// ends the series, and reads the native histograms.
func TestExponentialHistogramsAreReadInPromQL(t *testing.T) {
	t.Parallel()
	l := startConsumedLive(t)
	for service, asJSON := range map[string]bool{"binary": false, "json": true} {
		a := l.otlp(t, exponential(service, 2,
			&exponentialPoint{
				Count: 4, Sum: new(6.5), ZeroCount: 1, Positive: &exponentialBuckets{BucketCounts: []uint64{1, 2}},
				Min: new(0.0), Max: new(3.5),
			},
			&exponentialPoint{
				Count: 11, Sum: new(10.0), ZeroCount: 1, Positive: &exponentialBuckets{BucketCounts: []uint64{3, 6}},
				Negative: &exponentialBuckets{Offset: -1, BucketCounts: []uint64{1}}, Min: new(-0.75), Max: new(4.0),
			},
			&exponentialPoint{Flags: 1},
		), asJSON, contract.Request{})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		require.Equal(t, map[bool]string{false: "", true: "{}"}[asJSON], string(a.Body), "no partial success")
		source := "{source=" + service + "} "
		at := func(query string, d time.Duration) []string {
			query = strings.ReplaceAll(query, "size", `size{source="`+service+`"}`)
			return l.evaluate(t, query, "time", promTime(d))
		}
		require.Eventually(t, func() bool {
			return len(at("histogram_count(size)", 0)) == 1
		}, time.Minute, 50*time.Millisecond)

		require.Equal(t, []string{source + "4@0"}, at("histogram_count(size)", 0))
		require.Equal(t, []string{source + "6.5@0"}, at("histogram_sum(size)", 0))
		require.Equal(t, []string{source + "2@0"}, at("histogram_quantile(0.5, size)", 0))
		require.Equal(t, []string{source + "2.82842712@0"}, at("round(histogram_quantile(0.75, size), 1e-8)", 0))
		require.Equal(t, []string{source + "0.25@0"}, at("histogram_fraction(1, 2, size)", 0))
		require.Equal(t, []string{source + "11@60"}, at("histogram_count(size)", time.Minute))
		require.Equal(t, []string{source + "4@60"}, at("histogram_quantile(1, rate(size[2m]))", time.Minute))
		require.Equal(t, []string{source + "2@60"}, at("count_over_time(size[10m])", time.Minute))
		require.Empty(t, at("size", 2*time.Minute), "the series has ended")
		for query, want := range map[string]string{"size_min": "-0.75", "size_max": "4"} {
			require.Equal(t, []string{"{__name__=" + query + " source=" + service + "} " + want + "@60"},
				l.evaluate(t, query+`{source="`+service+`"}`, "time", promTime(time.Minute)))
		}
		a = l.prom(t, "/query", "query", `size{source="`+service+`"}`, "time", promTime(time.Minute))
		require.JSONEq(t, `{"resultType":"vector","result":[{"metric":{"__name__":"size","source":"`+service+`"},
			"histogram":[1772323260,{"count":"11","sum":"10","buckets":[[1,"-1","-0.5","1"],[3,"-1e-128","1e-128","1"],
			[0,"1","2","3"],[0,"2","4","6"]]}]}]}`, string(a.Data))
		require.Len(t, l.labelSets(t, `{__name__=~"size.*",source="`+service+`"}`), 3, "no series of buckets")
	}
	listed := l.Do(t, contract.Request{Path: "/api/live-data/series?metric=size"})
	require.Equal(t, http.StatusOK, listed.Status)
	require.Zero(t, listed.Meta.Total, "only PromQL has native histograms")
}

// Each point of delta temporality has the observations since the one before. Their sum has all.
func TestDeltasOfExponentialHistogramsAreAddedUpInPromQL(t *testing.T) {
	t.Parallel()
	l := startConsumedLive(t)
	pt := func(scale int32, counts ...uint64) *exponentialPoint {
		pt := &exponentialPoint{Scale: scale, Positive: &exponentialBuckets{BucketCounts: counts}, Sum: new(2.0)}
		for _, count := range counts {
			pt.Count += count
		}
		return pt
	}
	m := exponential("shop", 1, pt(1, 4, 4), pt(20, 0, 3), pt(0, 1, 2))
	require.Equal(t, http.StatusOK, l.otlp(t, m, false, contract.Request{}).Status)
	total := func(function string) []string {
		return l.evaluate(t, function+`sum_over_time(size{__temporality__="delta"}[10m]))`, "time", promTime(2*time.Minute))
	}
	const labels = "{__temporality__=delta source=shop} "
	require.Eventually(t, func() bool { return len(total("histogram_count(")) == 1 }, time.Minute, 50*time.Millisecond)
	require.Equal(t, []string{labels + "14@120"}, total("histogram_count("))
	require.Equal(t, []string{labels + "6@120"}, total("histogram_sum("))
	require.Equal(t, []string{labels + "4@120"}, total("histogram_quantile(1, "))
}

// TestBadExponentialHistogramsAreAPartialSuccess sends data points of each class of bad input beside a good one.
func TestBadExponentialHistogramsAreAPartialSuccess(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	one := &exponentialBuckets{BucketCounts: []uint64{1}}
	const at = "resourceMetrics[0].scopeMetrics[0].metrics[1].exponentialHistogram.dataPoints[0]"
	stored := 0
	for name, c := range map[string]struct {
		pt   *exponentialPoint
		want string
	}{
		"scale":         {&exponentialPoint{Scale: -5}, ".scale: must be at least -4"},
		"scale's limit": {&exponentialPoint{Scale: math.MinInt32}, ".scale: must be at least -4"},
		"buckets": {
			&exponentialPoint{Positive: &exponentialBuckets{BucketCounts: make([]uint64, 1001)}},
			".positive.bucketCounts: must have at most 1000 entries",
		},
		"count too small": {&exponentialPoint{Positive: one}, ".count: must be the sum of zeroCount and all bucketCounts"},
		"count too large": {&exponentialPoint{Count: 9, Negative: one}, ".count: must be the sum"},
		"overflow": {
			&exponentialPoint{Count: 1, ZeroCount: math.MaxUint64, Positive: &exponentialBuckets{BucketCounts: []uint64{2}}},
			".count: must be the sum",
		},
		"sum":                {&exponentialPoint{Sum: new(math.NaN())}, ".sum: must be a finite number"},
		"infinite sum":       {&exponentialPoint{Sum: new(math.Inf(-1))}, ".sum: must be a finite number"},
		"minimum":            {&exponentialPoint{Min: new(math.NaN())}, ".min: must be a finite number"},
		"negative threshold": {&exponentialPoint{ZeroThreshold: -1e-9}, ".zeroThreshold: must be a finite number that"},
		"threshold NaN":      {&exponentialPoint{ZeroThreshold: math.NaN()}, ".zeroThreshold: must be a finite number"},
		"infinite threshold": {&exponentialPoint{ZeroThreshold: math.Inf(1)}, ".zeroThreshold: must be a finite number"},
		"offset": {
			&exponentialPoint{Count: 1, Positive: &exponentialBuckets{Offset: math.MaxInt32, BucketCounts: []uint64{1}}},
			".positive.offset: must be so small that",
		},
	} {
		for _, asJSON := range []bool{false, true} {
			a := l.otlp(t, exponential("shop", 2, c.pt), asJSON, contract.Request{})
			require.Equal(t, http.StatusOK, a.Status, "%s: %s", name, a.Body)
			var got collector.ExportMetricsServiceResponse
			if asJSON {
				require.NoError(t, protojson.Unmarshal(a.Body, &got))
			} else {
				require.NoError(t, proto.Unmarshal(a.Body, &got))
			}
			require.EqualValues(t, 1, got.GetPartialSuccess().GetRejectedDataPoints(), name)
			require.True(t, strings.HasPrefix(got.GetPartialSuccess().GetErrorMessage(), at+c.want),
				"%s: %s", name, got.GetPartialSuccess().GetErrorMessage())
			stored++
			alone := exponential("other", 2, c.pt)
			scope := alone.GetResourceMetrics()[0].GetScopeMetrics()[0]
			scope.Metrics = scope.GetMetrics()[1:]
			a = l.otlp(t, alone, asJSON, contract.Request{})
			_, text, _ := strings.Cut(c.want, ":")
			requireOTLPError(t, a, http.StatusBadRequest, codes.InvalidArgument, text)
		}
	}
	lines := readPointsLog(t, l.broker)
	require.Len(t, lines, stored)
	for _, line := range lines {
		require.Contains(t, line, " level ")
	}
	require.NotContains(t, l.sourceNames(t), "other")
}

// Numbers that a field of JSON cannot have make the request malformed, as those of all fields.
func TestExponentialHistogramsInJSONAreReadStrictly(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	const path = "resourceMetrics[0].scopeMetrics[0].metrics[0].exponentialHistogram.dataPoints[0]."
	for point, field := range map[string]string{
		`"scale":2147483648`: "scale", `"scale":1.5`: "scale", `"count":-1`: "count",
		`"positive":{"offset":-2147483649}`: "positive.offset", `"positive":[]`: "positive",
		`"negative":{"bucketCounts":[-1]}`: "negative.bucketCounts[0]", `"zeroThreshold":"x"`: "zeroThreshold",
		`"positive":{"bucketCounts":["18446744073709551616"]}`: "positive.bucketCounts[0]",
	} {
		a := l.otlpBody(t, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"exponentialHistogram":{"dataPoints":[{`+
			point+`}]}}]}]}]}`, "application/json", contract.Request{})
		a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": path + field})
	}
	require.Empty(t, readPointsLog(t, l.broker))
}

// TestMetadataOfOpenTelemetryIsListed sends metadata in both forms, to one of two workspaces.
func TestMetadataOfOpenTelemetryIsListed(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	m := exponential("shop", 2, &exponentialPoint{})
	require.Equal(t, http.StatusOK, l.otlp(t, m, false, contract.Request{}).Status)
	const orders = `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[
		{"name":"orders","description":"Paid.","unit":"{order}","sum":{"aggregationTemporality":2,"isMonotonic":true,
		"dataPoints":[{"timeUnixNano":"1772323200000000000","asInt":1}]}},
		{"name":"odd","description":7,"unit":[],"gauge":{"dataPoints":[{"timeUnixNano":"1772323200000000000","asInt":1}]}}
		]}]}]}`
	require.Equal(t, http.StatusOK, l.otlpBody(t, orders, "application/json", contract.Request{}).Status)
	require.Eventually(t, func() bool {
		listed := string(l.prom(t, "/metadata").Data)
		return strings.Contains(listed, "orders") && strings.Contains(listed, "size")
	}, time.Minute, 50*time.Millisecond)
	require.JSONEq(t, `{"level":[{"type":"gauge","help":"","unit":""}],"odd":[{"type":"gauge","help":"","unit":""}],
		"orders":[{"type":"counter","help":"Paid.","unit":"{order}"}],
		"size":[{"type":"histogram","help":"How large.","unit":"By"}]}`, string(l.prom(t, "/metadata").Data))

	other := l.NewWorkspace(t, apikey.Live)
	a := l.Do(t, contract.Request{
		Path: promql.Prefix + "/api/v1/metadata", Workspace: other.String(),
		Key: l.NewKey(t, []uuid.UUID{other}, request.ReadLiveData),
	})
	require.Equal(t, http.StatusOK, a.Status)
	require.NotContains(t, string(a.Body), "How large.", "another workspace")
}
