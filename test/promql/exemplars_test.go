package promql_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"
)

// exemplarAnswer is an element of an answer to query_exemplars.
type exemplarAnswer struct {
	SeriesLabels map[string]string
	Exemplars    []exemplarValue
}

type exemplarValue struct {
	Labels    map[string]string
	Value     string
	Timestamp float64
}

// exemplarRequests returns requests with exemplars of counters, buckets and native histograms, in the order of time,
// beside their samples and alone. Some are not stored.
func exemplarRequests(begin time.Time) (requests [][]prompb.TimeSeries) {
	long := strings.Repeat("é", 120)
	labelsOf := func(metric, instance string, more ...string) (list []prompb.Label) {
		for _, l := range [][2]string{{"__name__", metric}, {"instance", instance}, {"job", "api"}} {
			list = append(list, prompb.Label{Name: l[0], Value: l[1]})
		}
		for i := 0; i < len(more); i += 2 {
			list = append(list, prompb.Label{Name: more[i], Value: more[i+1]})
		}
		return list
	}
	for step := range 20 {
		ms := begin.Add(time.Duration(step) * 15 * time.Second).UnixMilli()
		x := func(offset int64, value float64, namesAndValues ...string) prompb.Exemplar {
			e := prompb.Exemplar{Timestamp: ms + offset, Value: value}
			for i := 0; i < len(namesAndValues); i += 2 {
				e.Labels = append(e.Labels, prompb.Label{Name: namesAndValues[i], Value: namesAndValues[i+1]})
			}
			return e
		}
		id := strconv.Itoa(step)
		counter, bucket := labelsOf("requests_total", "a:1"), labelsOf("latency_bucket", "a:1", "le", "0.5")
		native := labelsOf("size", "b:1")
		h := prompb.FromIntHistogram(ms, &histogram.Histogram{
			Count: uint64(step), Sum: 5, PositiveSpans: []histogram.Span{{Offset: 1, Length: 1}},
			PositiveBuckets: []int64{int64(step)},
		})
		requests = append(requests, []prompb.TimeSeries{
			{Labels: counter, Samples: []prompb.Sample{{Timestamp: ms, Value: float64(step)}}, Exemplars: []prompb.Exemplar{
				x(0, 1, "trace_id", id, "empty", ""), x(1, 2, "trace_id", id),
			}},
			{Labels: bucket, Samples: []prompb.Sample{{Timestamp: ms, Value: float64(step)}}},
			{Labels: bucket, Exemplars: []prompb.Exemplar{x(5, math.Inf(1), "trace_id", long)}},
			{Labels: bucket, Exemplars: []prompb.Exemplar{x(6, 1, "trace_id", long+"x")}}, // too long
			{Labels: native, Histograms: []prompb.Histogram{h}},
			{Labels: native, Exemplars: []prompb.Exemplar{x(7, -0.25, "trace_id", id, "span_id", "<\"\n>")}},
			{Labels: labelsOf("other", "a:1"), Samples: []prompb.Sample{{Timestamp: ms, Value: 1}}, Exemplars: []prompb.Exemplar{
				x(0, math.NaN()),
			}},
		})
	}
	return requests
}

// prometheusWithExemplars returns a database of Prometheus and the handler of its remote write.
func prometheusWithExemplars(t *testing.T) (*tsdb.DB, http.Handler) {
	t.Helper()
	options := tsdb.DefaultOptions()
	options.EnableExemplarStorage, options.MaxExemplars = true, 10_000
	db, err := tsdb.Open(t.TempDir(), nil, nil, options, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db, remote.NewWriteHandler(
		slog.New(slog.DiscardHandler), prometheus.NewRegistry(), db, remoteapi.MessageTypes{remoteapi.WriteV1MessageType},
		false, false, false,
	)
}

// selectExemplars returns what Prometheus answers to query_exemplars.
func selectExemplars(t *testing.T, db *tsdb.DB, query string, start, end time.Time) (list []exemplarAnswer) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	require.NoError(t, err)
	q, err := db.ExemplarQuerier(t.Context())
	require.NoError(t, err)
	found, err := q.Select(timestamp.FromTime(start), timestamp.FromTime(end), parser.ExtractSelectors(expr)...)
	require.NoError(t, err)
	for _, r := range found {
		a := exemplarAnswer{SeriesLabels: r.SeriesLabels.Map()}
		for _, x := range r.Exemplars {
			a.Exemplars = append(a.Exemplars, exemplarValue{
				Labels: x.Labels.Map(), Value: strconv.FormatFloat(x.Value, 'f', -1, 64), Timestamp: float64(x.Ts) / 1000,
			})
		}
		list = append(list, a)
	}
	return list
}

// TestExemplarsAreThoseOfPrometheus sends the same requests to Livegraph and to Prometheus.
func TestExemplarsAreThoseOfPrometheus(t *testing.T) {
	requireFull(t)
	s := startServer(t)
	db, handler := prometheusWithExemplars(t)
	begin := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	for _, series := range exemplarRequests(begin) {
		body, err := (&prompb.WriteRequest{Timeseries: series}).Marshal()
		require.NoError(t, err)
		r := httptest.NewRequestWithContext(
			t.Context(), http.MethodPost, "/api/v1/write", bytes.NewReader(snappy.Encode(nil, body)),
		)
		r.Header.Set("Content-Type", "application/x-protobuf")
		r.Header.Set("Content-Encoding", "snappy")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.Equal(t, http.StatusNoContent, w.Code, "%s", w.Body)
		answer := s.send(t, slices.Concat(series, series[:1])) // a part again
		require.Zero(t, answer.Rejected)
		s.await(t, answer.Checkpoint)
	}
	total := 0
	for _, query := range []string{
		"requests_total", `latency_bucket{le="0.5"}`, "histogram_quantile(0.9, sum by (le) (rate(latency_bucket[5m])))",
		"size", `{job="api"}`, "requests_total / on (instance) other", "requests_total + requests_total offset 5m", "none",
		`{__name__=~"requests_total|size",instance!="a:1"}`,
	} {
		for _, bounds := range [][2]time.Time{
			{begin, begin.Add(time.Hour)}, {begin.Add(15 * time.Second), begin.Add(30 * time.Second)},
			{begin.Add(time.Millisecond), begin.Add(15*time.Second + 5*time.Millisecond)},
			{begin.Add(-time.Hour), begin.Add(-time.Minute)},
		} {
			want := selectExemplars(t, db, query, bounds[0], bounds[1])
			form := url.Values{"query": {query}}
			form.Set("start", bounds[0].UTC().Format(time.RFC3339Nano))
			form.Set("end", fmt.Sprintf("%.3f", float64(bounds[1].UnixMilli())/1000))
			status, body := s.do(
				t, http.MethodPost, "/prometheus/api/v1/query_exemplars", "application/x-www-form-urlencoded",
				[]byte(form.Encode()),
			)
			require.Equal(t, http.StatusOK, status, "%s", body)
			var got struct{ Data []exemplarAnswer }
			require.NoError(t, json.Unmarshal(body, &got))
			require.Len(t, got.Data, len(want), "%s: %s", query, body)
			for i := range want {
				require.Equal(t, want[i], got.Data[i], query)
				total += len(want[i].Exemplars)
			}
		}
	}
	require.Greater(t, total, 300)
}
