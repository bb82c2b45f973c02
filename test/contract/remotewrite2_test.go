package contract_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/promql"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/promwrite"
)

// version2 are the headers of remote write 2.0.
var version2 = map[string]string{
	"Content-Type":                      "application/x-protobuf;proto=io.prometheus.write.v2.Request",
	"X-Prometheus-Remote-Write-Version": "2.0.0",
}

// encodeWrite2 returns a compressed request of remote write 2.0 with the series.
func encodeWrite2(series ...promwrite.Message) []byte {
	return snappy.Encode(nil, promwrite.Request2(series...))
}

// written returns the numbers in the headers of a response to remote write 2.0.
func written(h http.Header) []string {
	const prefix, suffix = "X-Prometheus-Remote-Write-", "-Written"
	return []string{
		h.Get(prefix + "Samples" + suffix), h.Get(prefix + "Histograms" + suffix), h.Get(prefix + "Exemplars" + suffix),
	}
}

// TestMetadataOfRemoteWritesIsListed sends metadata in both versions, to one of two workspaces.
func TestMetadataOfRemoteWritesIsListed(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	metadata := promwrite.Message{}.Varint(1, 1).Text(2, "http_requests").Text(4, "Requests.").Text(5, "req")
	one := snappy.Encode(nil, promwrite.Message{}.Bytes(3, metadata))
	require.Equal(t, http.StatusNoContent, l.remoteWrite(t, remoteWritePath, one, nil).Status)
	two := promwrite.Message{}.Text(4, "").Text(4, "__name__").Text(4, "temp").Text(4, "At the outlet.").Bytes(
		5, promwrite.Message{}.Bytes(1, []byte{1, 2}).Bytes(5, promwrite.Message{}.Varint(1, 2).Varint(3, 3)),
	)
	require.Equal(
		t, http.StatusNoContent, l.remoteWrite(t, remoteWritePath, snappy.Encode(nil, two), version2).Status,
	)
	l.createSource(t, `{"name":"a","metrics":[{"name":"temp","unit":"°C","description":"outlet"}]}`)
	require.Eventually(t, func() bool {
		return strings.Contains(string(l.prom(t, "/metadata").Data), "gauge")
	}, time.Minute, 50*time.Millisecond)
	require.JSONEq(t, `{"http_requests":[{"type":"counter","help":"Requests.","unit":"req"}],"temp":[
		{"type":"gauge","help":"At the outlet.","unit":""},{"type":"unknown","help":"outlet","unit":"°C"}]}`,
		string(l.prom(t, "/metadata").Data))
	require.JSONEq(t, `{"temp":[{"type":"gauge","help":"At the outlet.","unit":""}]}`,
		string(l.prom(t, "/metadata", "metric", "temp", "limit_per_metric", "1").Data))
	require.JSONEq(t, `{"http_requests":[{"type":"counter","help":"Requests.","unit":"req"}]}`,
		string(l.prom(t, "/metadata", "limit", "1").Data))

	other := l.NewWorkspace(t, apikey.Live)
	a := l.Do(t, contract.Request{
		Path: promql.Prefix + "/api/v1/metadata", Workspace: other.String(),
		Key: l.NewKey(t, []uuid.UUID{other}, request.ReadLiveData),
	})
	require.Equal(t, http.StatusOK, a.Status)
	require.NotContains(t, string(a.Body), "Requests.", "another workspace")
}

// nativeHistogram returns the message of a histogram with three observations.
func nativeHistogram(t *testing.T, ms int64) promwrite.Message {
	t.Helper()
	h := prompb.FromIntHistogram(ms, &histogram.Histogram{
		Count: 3, Sum: 5, PositiveSpans: []histogram.Span{{Offset: 1, Length: 2}}, PositiveBuckets: []int64{1, 1},
	})
	raw, err := h.Marshal()
	require.NoError(t, err)
	return raw
}

func TestRemoteWrites2AreCounted(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	a := l.remoteWrite(t, remoteWritePath, encodeWrite2(
		upSeries("a:1", "zone", "b").Sample(marchFirst, 1).Sample(marchFirst+1000, promwrite.Stale()),
		upSeries("b:1", "zone", "b").Sample(marchFirst, 2).Bytes(3, promwrite.Message{}.Double(2, 1)),
	), version2)
	require.Equal(t, http.StatusNoContent, a.Status, "%s", a.Body)
	require.Equal(t, []string{"3", "0", "0"}, written(a.Header))
	names := l.sourceNames(t)
	require.ElementsMatch(t, []string{
		names["node/a:1"] + " up [{zone b}] 2026-03-01T00:00:00Z=1",
		names["node/a:1"] + ` up [{zone b}] 2026-03-01T00:00:01Z="stale"`,
		names["node/b:1"] + " up [{zone b}] 2026-03-01T00:00:00Z=2",
	}, readPointsLog(t, l.broker))

	partly := encodeWrite2(
		upSeries("a:1").Sample(marchFirst, 1).Sample(-1, math.NaN()), upSeries("b:1").Bytes(4, nil),
	)
	a = l.remoteWrite(t, remoteWritePath, partly, version2)
	a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{
		"accepted": 1.0, "rejected": 2.0, "field": "timeseries[0].samples[1].timestamp",
	})
	require.Equal(t, []string{"1", "0", "0"}, written(a.Header))
	got := decode[accepted](t, l.remoteWrite(t, ingestPath, partly, version2), http.StatusCreated)
	require.Equal(t, []int{1, 2}, []int{got.Accepted, got.Rejected})
	require.Len(t, readPointsLog(t, l.broker), 5)

	wrong := promwrite.Message{}.Text(4, "").Bytes(5, promwrite.Message{}.Bytes(1, []byte{0, 7}).Sample(marchFirst, 1))
	a = l.remoteWrite(t, remoteWritePath, snappy.Encode(nil, wrong), version2)
	a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": "timeseries[0].labels_refs"})
	require.Equal(t, []string{"0", "0", "0"}, written(a.Header), "nothing was written")
	require.Len(t, readPointsLog(t, l.broker), 5)

	h := nativeHistogram(t, marchFirst)
	a = l.remoteWrite(t, remoteWritePath, encodeWrite2(upSeries("h:1").Bytes(4, h).Bytes(4, h[:len(h)-2])), version2)
	a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": "body"})
	a = l.remoteWrite(t, remoteWritePath, encodeWrite2(
		upSeries("h:1").Sample(marchFirst, 1).Sample(marchFirst+2, 1).Bytes(4, h).Bytes(4, h.Varint(4, 100)).
			Bytes(4, nativeHistogram(t, -1)),
	), version2)
	a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{
		"accepted": 3.0, "rejected": 2.0, "field": "timeseries[0].histograms[1]",
	})
	require.Contains(t, string(a.Body), "timeseries[0].histograms[2].timestamp")
	require.Equal(t, []string{"2", "1", "0"}, written(a.Header))
	require.Len(t, readPointsLog(t, l.broker), 8)

	a = l.remoteWrite(t, remoteWritePath, encodeWrite(upSeries("a:1").Sample(marchFirst, 1)), nil)
	require.Equal(t, http.StatusNoContent, a.Status)
	require.Equal(t, []string{"", "", ""}, written(a.Header), "1.0 has no such headers")
}

// TestUnusualSeriesOfRemoteWriteAreReadAsTheyWereSent sends series that a Prometheus may have, but most have not, in
// both versions: labels that cannot name a source, native histograms with bounds of their own, and those whose first
// span has no buckets, as Prometheus' receiver for OpenTelemetry writes them.
func TestUnusualSeriesOfRemoteWriteAreReadAsTheyWereSent(t *testing.T) {
	t.Parallel()
	l := startConsumedLive(t)
	histogramAt := func(minute int64, h *histogram.Histogram) []byte {
		message := prompb.FromIntHistogram(marchFirst+minute*60_000, h)
		raw, err := message.Marshal()
		require.NoError(t, err)
		return raw
	}
	first := []histogram.Span{{Offset: -5, Length: 1}}
	const histograms = 4 // the field of version 1
	for _, version := range []string{"1.0", "2.0"} {
		target := []string{"instance", "a\tb", "job", "two\nlines", "version", version}
		named := func(metric string) promwrite.Message {
			return promwrite.Labels(append([]string{"__name__", metric}, target...)...)
		}
		series := []promwrite.Message{
			named("up").Sample(marchFirst, 1),
			named("custom").Bytes(histograms, histogramAt(0, &histogram.Histogram{
				Schema: histogram.CustomBucketsSchema, Count: 4, Sum: 7, CustomValues: []float64{0.1, 1, 10},
				PositiveSpans: []histogram.Span{{Length: 3}}, PositiveBuckets: []int64{1, 0, 1},
			})),
			named("reset").Bytes(histograms, histogramAt(0, &histogram.Histogram{
				Count: 1, PositiveSpans: first, PositiveBuckets: []int64{1},
			})).Bytes(histograms, histogramAt(1, &histogram.Histogram{
				Count: 2, PositiveSpans: first, PositiveBuckets: []int64{2},
			})).Bytes(histograms, histogramAt(2, &histogram.Histogram{
				Count: 4, PositiveSpans: []histogram.Span{{Offset: -5}, {Offset: 8, Length: 1}}, PositiveBuckets: []int64{4},
			})),
		}
		body, header := encodeWrite(series...), map[string]string(nil)
		if version == "2.0" {
			body, header = snappy.Encode(nil, promwrite.Request2(series...)), version2
		}
		a := l.remoteWrite(t, remoteWritePath, body, header)
		require.Equal(t, http.StatusNoContent, a.Status, "%s", a.Body)

		labels := "instance=a\tb job=two\nlines version=" + version + "} "
		at := func(query string, d time.Duration) []string {
			return l.evaluate(t, strings.ReplaceAll(query, "{}", `{version="`+version+`"}`), "time", promTime(d))
		}
		require.Eventually(t, func() bool {
			return len(at("up{}", 0)) == 1 && len(at("reset{}", 2*time.Minute)) == 1
		}, time.Minute, 50*time.Millisecond)
		require.Equal(t, []string{"{__name__=up " + labels + "1@0"}, at("up{}", 0))
		require.Equal(t, []string{"{" + labels + "1@0"}, at("histogram_quantile(0.5, custom{})", 0))
		require.Equal(t, []string{"{" + labels + "7@0"}, at("histogram_sum(custom{})", 0))
		require.Equal(t, []string{"{" + labels + "0.2@120"},
			at("round(histogram_fraction(0, 0.1, increase(reset{}[3m])), 1e-8)", 2*time.Minute),
			"one of five is in the first bucket")
	}
	require.Contains(t, l.sourceNames(t), "prometheus")
}
