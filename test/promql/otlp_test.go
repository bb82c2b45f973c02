package promql_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
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

// converted collects the samples that Prometheus' receiver for OpenTelemetry writes.
type converted struct {
	storage.AppenderV2
	list []randomSeries
}

// Append implements storage.AppenderV2. It removes spans without buckets, see TestTheEngineMisreadsEmptySpans.
func (c *converted) Append(
	_ storage.SeriesRef, series labels.Labels, _, ms int64, v float64, h *histogram.Histogram, _ *histogram.FloatHistogram,
	_ storage.AOptions,
) (storage.SeriesRef, error) {
	i := slices.IndexFunc(c.list, func(s randomSeries) bool { return labels.Equal(s.labels, series) })
	if i < 0 {
		i, c.list = len(c.list), append(c.list, randomSeries{labels: series})
	}
	if s := &c.list[i]; h != nil {
		s.histograms = append(s.histograms, prompb.FromIntHistogram(ms, h.Copy().Compact(maxGap)))
	} else {
		s.points = append(s.points, point{ms, v})
	}
	return 0, nil
}

// maxGap is the number of empty buckets that Prometheus' receiver keeps in a span.
const maxGap = 2

// TestTheEngineMisreadsEmptySpans subtracts a histogram from one that begins with a span without buckets, as those that
// Prometheus' receiver writes if their first buckets are empty. Rates across a reset do that. When a newer Prometheus
// has the right buckets, neither converted nor package nativehistogram need remove such spans.
func TestTheEngineMisreadsEmptySpans(t *testing.T) {
	later := &histogram.FloatHistogram{
		Count: 1, PositiveSpans: []histogram.Span{{Offset: -5, Length: 0}, {Offset: 8, Length: 1}},
		PositiveBuckets: []float64{4},
	}
	first := &histogram.FloatHistogram{
		Count: 1, PositiveSpans: []histogram.Span{{Offset: -5, Length: 1}}, PositiveBuckets: []float64{1},
	}
	subtract := func(h *histogram.FloatHistogram) []float64 {
		difference, _, _, err := h.Copy().Sub(first)
		require.NoError(t, err)
		return difference.PositiveBuckets
	}
	require.Equal(t, []float64{-1, 4}, subtract(later.Copy().Compact(maxGap)))
	require.Equal(t, []float64{3}, subtract(later), "Prometheus has been fixed")
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

// addOthers adds counters and histograms with explicit bounds.
func addOthers(m pmetric.Metrics, seed uint64) (points int) {
	r := rand.New(rand.NewPCG(seed, 4))
	list := m.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	bounds := []float64{-1, 0, 0.25, 1, 10}
	for shard := range 6 {
		temporality := pmetric.AggregationTemporality(1 + shard%2)
		suffix := map[bool]string{true: "_delta", false: ""}[temporality == pmetric.AggregationTemporalityDelta]
		counter, latency := list.AppendEmpty(), list.AppendEmpty()
		counter.SetName("otlp_counter" + suffix)
		sum := counter.SetEmptySum()
		sum.SetIsMonotonic(true)
		sum.SetAggregationTemporality(temporality)
		latency.SetName("otlp_latency" + suffix)
		data := latency.SetEmptyHistogram()
		data.SetAggregationTemporality(temporality)
		counts, total := make([]uint64, len(bounds)+1), uint64(0)
		for minute := range 100 {
			if suffix != "" || r.IntN(40) == 0 {
				clear(counts)
				total = 0
			}
			n := r.Uint64N(9)
			counts[r.IntN(len(counts))] += n
			total += n
			at := pcommon.Timestamp((dataStart + int64(minute)*60_000) * 1_000_000)
			one, many := sum.DataPoints().AppendEmpty(), data.DataPoints().AppendEmpty()
			one.SetTimestamp(at)
			one.SetIntValue(int64(total))
			many.SetTimestamp(at)
			many.SetCount(total)
			many.SetSum(float64(total) / 4)
			many.ExplicitBounds().FromRaw(bounds)
			many.BucketCounts().FromRaw(counts)
			one.Attributes().PutInt("shard", int64(shard))
			many.Attributes().PutInt("shard", int64(shard))
			points += 2
		}
	}
	return points
}

// compareOpenTelemetry sends metrics of OpenTelemetry to Livegraph, converts the same with Prometheus' own receiver,
// and compares the answers to queries. The seed is another one each time in the long form.
func (s *server) compareOpenTelemetry(t *testing.T) {
	seed := uint64(1)
	if full() {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	m, points := exponentials(seed)
	points += addOthers(m, seed)
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
	require.Len(t, c.list, 16+6+6*(6+2)) // a sum has one series, a histogram one for each bucket, the count and the sum
	require.Positive(t, points)
	o := &oracle{server: s, db: openTSDB(t, c.list), engine: newEngine()}
	end := dataStart + 100*time.Minute.Milliseconds()
	all := evaluation{text: `sum(count_over_time({__name__=~"otlp_.*"}[2h]))`, to: end}
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
		"histogram_quantile(0.9, sum by (shard) (otlp_delta))", "sum by (shard, le) (rate(otlp_latency_bucket[10m]))",
		"histogram_quantile(0.9, sum by (le) (rate(otlp_latency_bucket[15m])))", "sum by (shard) (otlp_latency_count)",
		"sum(rate(otlp_latency_sum[15m])) / sum(rate(otlp_latency_count[15m]))",
		"sum by (shard) (increase(otlp_counter[7m]))",
		"sum by (__name__, shard, le) ({__name__=~'otlp_latency.*'})",
		"sum by (shard) (sum_over_time(otlp_counter_delta[9m]))",
		"sum by (shard, le) (sum_over_time(otlp_latency_delta_bucket[9m]))",
	} {
		n, ok := o.compare(t, evaluation{text: text, from: dataStart, to: end, step: time.Minute})
		require.True(t, ok, text)
		require.Positive(t, n, text)
		compared += n
	}
	t.Logf("%d data points, %d points of answers", points, compared)
}
