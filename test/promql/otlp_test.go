package promql_test

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote/otlptranslator/prometheusremotewrite"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// converted collects the native histograms that Prometheus' receiver for OpenTelemetry writes.
type converted struct {
	storage.AppenderV2
	list []randomSeries
}

// Append implements storage.AppenderV2.
func (c *converted) Append(
	_ storage.SeriesRef, series labels.Labels, _, ms int64, _ float64, h *histogram.Histogram, _ *histogram.FloatHistogram,
	_ storage.AOptions,
) (storage.SeriesRef, error) {
	if n := len(c.list); n == 0 || !labels.Equal(c.list[n-1].labels, series) {
		c.list = append(c.list, randomSeries{labels: series})
	}
	last := &c.list[len(c.list)-1]
	last.histograms = append(last.histograms, prompb.FromIntHistogram(ms, h))
	return 0, nil
}

// exponentials returns metrics with random exponential histograms: cumulative ones of several scales, and deltas.
func exponentials(seed uint64) (m pmetric.Metrics, points int) {
	r := rand.New(rand.NewPCG(seed, 3))
	m = pmetric.NewMetrics()
	list := m.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	for shard, scale := range []int32{-4, -1, 0, 3, 8, 9, 11, 20} {
		for _, temporality := range []pmetric.AggregationTemporality{
			pmetric.AggregationTemporalityCumulative, pmetric.AggregationTemporalityDelta,
		} {
			metric := list.AppendEmpty()
			metric.SetName("otlp_" + map[bool]string{true: "delta", false: "size"}[temporality == 1])
			data := metric.SetEmptyExponentialHistogram()
			data.SetAggregationTemporality(temporality)
			counts := make([]uint64, 40)
			offset := int32(r.IntN(60) - 40)
			for minute := range 100 {
				pt := data.DataPoints().AppendEmpty()
				points++
				pt.SetTimestamp(pcommon.Timestamp((dataStart + int64(minute)*60_000) * 1_000_000))
				pt.Attributes().PutStr("shard", strconv.Itoa(shard))
				if r.IntN(30) == 0 {
					pt.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
					continue
				}
				if temporality == pmetric.AggregationTemporalityDelta || r.IntN(40) == 0 {
					clear(counts)
				}
				fillExponential(r, pt, scale, offset, counts)
			}
		}
	}
	return m, points
}

// fillExponential adds observations to the counts and sets them.
func fillExponential(
	r *rand.Rand, pt pmetric.ExponentialHistogramDataPoint, scale, offset int32, counts []uint64,
) {
	total := uint64(0)
	for i := range counts {
		// Prometheus puts observations after empty buckets into wrong ones when it reduces a scale.
		if scale > 8 || r.IntN(4) == 0 {
			counts[i] += 1 + r.Uint64N(5)
		}
		total += counts[i]
	}
	pt.SetScale(scale)
	pt.SetZeroCount(counts[0])
	pt.Positive().SetOffset(offset)
	pt.Positive().BucketCounts().FromRaw(counts[1:30])
	pt.Negative().SetOffset(-offset)
	pt.Negative().BucketCounts().FromRaw(counts[30:])
	pt.SetCount(total)
	pt.SetSum(float64(total) / 8)
}

// compareExponential sends exponential histograms of OpenTelemetry to Livegraph, converts the same with Prometheus' own
// receiver, and compares the answers to queries.
func (s *server) compareExponential(t *testing.T) {
	m, points := exponentials(1)
	body, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(m)
	require.NoError(t, err)
	status, answer := s.do(t, http.MethodPost, "/v1/metrics", "application/x-protobuf", body)
	require.Equal(t, http.StatusOK, status, "%s", answer)
	require.Empty(t, answer, "no partial success")

	var c converted
	_, err = prometheusremotewrite.NewPrometheusConverter(&c).FromMetrics(
		t.Context(), m, prometheusremotewrite.Settings{AllowDeltaTemporality: true},
	)
	require.NoError(t, err)
	require.Len(t, c.list, 16)
	require.Positive(t, points)
	o := &oracle{server: s, db: openTSDB(t, c.list), engine: newEngine()}
	end := dataStart + 100*time.Minute.Milliseconds()
	all := evaluation{text: `count(sum by (shard, __name__) (last_over_time({__name__=~"otlp_.*"}[2h])))`, to: end}
	require.Eventually(t, func() bool {
		got := s.ask(t, all)
		_, err := got.matches(all, all.by(t, o.engine, o.db))
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	compared := 0
	for _, text := range []string{
		"sum by (shard) (otlp_size)", "sum(otlp_size)", "histogram_count(sum by (shard) (otlp_size))",
		"histogram_quantile(0.5, sum by (shard) (otlp_size))", "histogram_quantile(0.99, sum(rate(otlp_size[10m])))",
		"histogram_quantile(0, sum by (shard) (increase(otlp_size[7m])))", "sum by (shard) (rate(otlp_size[15m]))",
		"histogram_avg(sum(increase(otlp_size[1h])))", "histogram_stddev(sum by (shard) (otlp_size))",
		"histogram_fraction(-0.5, 3, sum by (shard) (otlp_size))", "sum by (shard) (sum_over_time(otlp_delta[10m]))",
		"histogram_count(sum(sum_over_time(otlp_delta[1h])))", "sum by (shard) (count_over_time(otlp_size[5m]))",
		"histogram_quantile(0.9, sum by (shard) (otlp_delta))",
	} {
		n, ok := o.compare(t, evaluation{text: text, from: dataStart, to: end, step: time.Minute})
		require.True(t, ok, text)
		require.Positive(t, n, text)
		compared += n
	}
	t.Logf("%d data points, %d points of answers", points, compared)
}
