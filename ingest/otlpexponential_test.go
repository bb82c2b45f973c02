package ingest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/nativehistogram"
)

type (
	exponentialPoint   = otlpmetrics.ExponentialHistogramDataPoint
	exponentialBuckets = otlpmetrics.ExponentialHistogramDataPoint_Buckets
)

func otlpExponentialMetric(pt *exponentialPoint) *otlpmetrics.Metric {
	pt.TimeUnixNano = otlpTime
	return &otlpmetrics.Metric{Name: "size", Data: &otlpmetrics.Metric_ExponentialHistogram{
		ExponentialHistogram: &otlpmetrics.ExponentialHistogram{
			AggregationTemporality: 2, DataPoints: []*exponentialPoint{pt},
		},
	}}
}

// writtenNative returns the only native histogram that was written, of the metric size, and the names and values of the
// other series.
func writtenNative(t require.TestingT, p *fakeStores) (h *histogram.Histogram, others map[string]any) {
	others = map[string]any{}
	for name, point := range p.written(t) {
		_, name, _ = strings.Cut(name, " ")
		name, kind := name[:strings.Index(name, "}")+1], name[strings.LastIndex(name, " ")+1:]
		if kind != "special" {
			others[name] = point
			continue
		}
		require.Nil(t, h, "one histogram")
		require.True(t, strings.HasPrefix(name, `"size"{`), name)
		decoded, err := nativehistogram.Decode(point.(string))
		require.NoError(t, err)
		require.NotNil(t, decoded.Int)
		h = decoded.Int
	}
	require.NotNil(t, h)
	return h, others
}

// describeNative returns a histogram as text: its buckets with their bounds, of which that of zero is closed.
func describeNative(h *histogram.Histogram) string {
	f := h.ToFloat(nil)
	parts := []string{fmt.Sprintf("schema %d count %v sum %v", h.Schema, f.Count, f.Sum)}
	for it := f.AllBucketIterator(); it.Next(); {
		if b := it.At(); b.Count > 0 {
			parts = append(parts, fmt.Sprintf("%.9g..%.9g:%g", b.Lower, b.Upper, b.Count))
		}
	}
	return strings.Join(parts, " ")
}

func TestExponentialHistogramsBecomeNativeOnes(t *testing.T) {
	const zero = "-1e-128..1e-128"
	sparse := make([]uint64, 100)
	sparse[0], sparse[3], sparse[99] = 1, 2, 3
	for name, c := range map[string]struct {
		pt   *exponentialPoint
		want string
	}{
		"positive": {
			&exponentialPoint{
				Count: 6, Sum: new(30.5), Positive: &exponentialBuckets{Offset: 1, BucketCounts: []uint64{1, 0, 5}},
			},
			"schema 0 count 6 sum 30.5 2..4:1 8..16:5",
		},
		"both signs and zeros": {
			&exponentialPoint{
				Count: 10, ZeroCount: 2, Positive: &exponentialBuckets{Offset: -1, BucketCounts: []uint64{4}},
				Negative: &exponentialBuckets{Offset: 0, BucketCounts: []uint64{1, 3}}, Sum: new(-7.0),
			},
			"schema 0 count 10 sum -7 -4..-2:3 -2..-1:1 " + zero + ":2 0.5..1:4",
		},
		"gaps": {
			&exponentialPoint{Count: 6, Positive: &exponentialBuckets{Offset: -50, BucketCounts: sparse}},
			"schema 0 count 6 sum 0 8.8817842e-16..1.77635684e-15:1 7.10542736e-15..1.42108547e-14:2 " +
				"5.62949953e+14..1.12589991e+15:3",
		},
		"a threshold for zeros": {
			&exponentialPoint{
				Count: 3, ZeroCount: 1, ZeroThreshold: 0.25, Positive: &exponentialBuckets{Offset: 0, BucketCounts: []uint64{2}},
			},
			"schema 0 count 3 sum 0 -0.25..0.25:1 1..2:2",
		},
		"a small threshold": {
			&exponentialPoint{Count: 1, ZeroCount: 1, ZeroThreshold: 1e-200}, "schema 0 count 1 sum 0 -1e-200..1e-200:1",
		},
		"a threshold over buckets": {
			&exponentialPoint{
				Count: 9, ZeroCount: 1, ZeroThreshold: 3, Positive: &exponentialBuckets{Offset: 0, BucketCounts: []uint64{1, 1, 2}},
				Negative: &exponentialBuckets{Offset: 0, BucketCounts: []uint64{3, 0, 1}},
			},
			"schema 0 count 9 sum 0 -8..-4:1 -3..3:5 3..4:1 4..8:2",
		},
		"a threshold at the bound of a bucket": {
			&exponentialPoint{
				Count: 3, ZeroThreshold: 4, Positive: &exponentialBuckets{Offset: 0, BucketCounts: []uint64{0, 2, 1}},
			},
			"schema 0 count 3 sum 0 -4..4:2 4..8:1",
		},
		"a scale": {
			&exponentialPoint{Count: 2, Scale: 1, Positive: &exponentialBuckets{Offset: 1, BucketCounts: []uint64{1, 1}}},
			"schema 1 count 2 sum 0 1.41421356..2:1 2..2.82842712:1",
		},
		"the lowest scale": {
			&exponentialPoint{Count: 3, Scale: -4, Positive: &exponentialBuckets{Offset: -1, BucketCounts: []uint64{1, 2}}},
			"schema -4 count 3 sum 0 1.52587891e-05..1:1 1..65536:2",
		},
		"a scale above that of Prometheus": { // 0..3 and 4..7 of scale 10 are 0 and 1 of scale 8
			&exponentialPoint{Count: 36, Scale: 10, Positive: &exponentialBuckets{
				Offset: -1, BucketCounts: []uint64{8, 1, 2, 3, 4, 5, 6, 7},
			}},
			fmt.Sprintf("schema 8 count 36 sum 0 %.9g..1:8 1..%.9[2]g:10 %.9[2]g..%.9[3]g:18",
				bound8(-1), bound8(1), bound8(2)),
		},
		"empty buckets before those of a finer scale": {
			&exponentialPoint{Count: 12, Scale: 9, Positive: &exponentialBuckets{BucketCounts: []uint64{0, 0, 5, 7}}},
			fmt.Sprintf("schema 8 count 12 sum 0 %.9g..%.9g:12", bound8(1), bound8(2)),
		},
		"the highest scale": {
			&exponentialPoint{Count: 3, Scale: math.MaxInt32, Positive: &exponentialBuckets{
				Offset: math.MinInt32, BucketCounts: []uint64{1, 1},
			}, Negative: &exponentialBuckets{Offset: math.MaxInt32, BucketCounts: []uint64{1}}},
			fmt.Sprintf("schema 8 count 3 sum 0 %.9g..-1:1 %.9g..1:2", -bound8(1), bound8(-1)),
		},
		"empty": {&exponentialPoint{}, "schema 0 count 0 sum 0"},
	} {
		t.Run(name, func(t *testing.T) {
			p, result, err := acceptAs(t, OTLP, otlpBody(t, otlpExponentialMetric(c.pt)))
			require.NoError(t, err)
			require.Equal(t, []int{1, 0, 1}, []int{result.Accepted, result.Rejected, result.Histograms}, "%+v", result.Errors)
			h, others := writtenNative(t, p)
			require.Equal(t, c.want, describeNative(h))
			require.Equal(t, histogram.UnknownCounterReset, h.CounterResetHint)
			require.Empty(t, others)
		})
	}
}

// bound8 returns a bound of schema 8.
func bound8(index int) float64 { return math.Exp2(float64(index) / 256) }

// Buckets at the limits of the indexes are stored, if Prometheus has an index for them.
func TestOffsetsOfExponentialHistogramsAreTakenUpToTheirLimits(t *testing.T) {
	for offset, want := range map[int32]int32{math.MinInt32: math.MinInt32 + 1, math.MaxInt32 - 1: math.MaxInt32} {
		p, _, err := acceptAs(t, OTLP, otlpBody(t, otlpExponentialMetric(&exponentialPoint{
			Count: 3, Positive: &exponentialBuckets{Offset: offset, BucketCounts: []uint64{3, 0, 0}},
		})))
		require.NoError(t, err)
		h, _ := writtenNative(t, p)
		require.Equal(t, []histogram.Span{{Offset: want, Length: 1}}, h.PositiveSpans)
	}
}

// Up to two empty buckets between others are stored, as by Prometheus. More begin a span.
func TestLargeGapsOfExponentialHistogramsBeginASpan(t *testing.T) {
	p, _, err := acceptAs(t, OTLP, otlpBody(t, otlpExponentialMetric(&exponentialPoint{
		Count: 4, Positive: &exponentialBuckets{Offset: 4, BucketCounts: []uint64{1, 0, 0, 1, 0, 0, 0, 2, 0}},
	})))
	require.NoError(t, err)
	h, _ := writtenNative(t, p)
	require.Equal(t, []histogram.Span{{Offset: 5, Length: 4}, {Offset: 3, Length: 1}}, h.PositiveSpans)
	require.Equal(t, []int64{1, -1, 0, 1, 1}, h.PositiveBuckets)
}

// A data point has nothing of the one before it in the request.
func TestExponentialHistogramsOfARequestAreIndependent(t *testing.T) {
	delta := otlpExponentialMetric(&exponentialPoint{
		Count: 4, Sum: new(9.0), ZeroCount: 1, ZeroThreshold: 0.5, Min: new(1.0), Scale: 3,
		Positive: &exponentialBuckets{Offset: 9, BucketCounts: []uint64{2}},
		Negative: &exponentialBuckets{BucketCounts: []uint64{1}},
	})
	delta.Name = "before"
	delta.GetExponentialHistogram().AggregationTemporality = 1
	p, result, err := acceptAs(t, OTLP, otlpBody(t, delta, otlpExponentialMetric(&exponentialPoint{})))
	require.NoError(t, err)
	require.Equal(t, 3, result.Accepted)
	found := false
	for name, text := range p.written(t) {
		if strings.Contains(name, `"size"{`) {
			decoded, err := nativehistogram.Decode(text.(string))
			require.NoError(t, err)
			require.Equal(t, histogram.UnknownCounterReset, decoded.Int.CounterResetHint)
			require.Equal(t, "schema 0 count 0 sum 0", describeNative(decoded.Int))
			require.InDelta(t, 1e-128, decoded.Int.ZeroThreshold, 0)
			found = true
		}
	}
	require.True(t, found)
}

func TestExponentialHistogramsHaveExtremesHintsAndEnds(t *testing.T) {
	m := otlpExponentialMetric(&exponentialPoint{
		Count: 1, Sum: new(3.0), Min: new(3.0), Max: new(3.5), Positive: &exponentialBuckets{BucketCounts: []uint64{1}},
		Attributes: otlpNumberPoint(1, "le", "1", "quantile", "x").GetAttributes(),
	})
	p, result, err := acceptAs(t, OTLP, otlpBody(t, m))
	require.NoError(t, err)
	require.Equal(t, 3, result.Accepted)
	_, others := writtenNative(t, p)
	require.Equal(t, map[string]any{
		`"size_min"{"le"="1","quantile"="x",}`: 3.0, `"size_max"{"le"="1","quantile"="x",}`: 3.5,
	}, others)

	m.GetExponentialHistogram().AggregationTemporality = 1
	p, _, err = acceptAs(t, OTLP, otlpBody(t, m))
	require.NoError(t, err)
	h, others := writtenNative(t, p)
	require.Equal(t, histogram.GaugeType, h.CounterResetHint)
	require.Contains(t, others, `"size_min"{"__temporality__"="delta","le"="1","quantile"="x",}`)

	for _, pt := range []*exponentialPoint{
		{}, {Scale: -9, Count: 7, Sum: new(math.NaN()), Min: new(1.0), ZeroThreshold: -1},
	} {
		pt.Flags = 1
		p, result, err = acceptAs(t, OTLP, otlpBody(t, otlpExponentialMetric(pt)))
		require.NoError(t, err)
		require.Equal(t, 1, result.Accepted)
		h, others = writtenNative(t, p)
		require.True(t, value.IsStaleNaN(h.Sum))
		require.Zero(t, h.Count)
		require.Empty(t, others)
	}
}

func TestExponentialHistogramsThatBreakARuleAreRejected(t *testing.T) {
	const at = "resourceMetrics[0].scopeMetrics[0].metrics[1].exponentialHistogram.dataPoints[0]"
	one := &exponentialBuckets{BucketCounts: []uint64{1}}
	large := make([]uint64, 1000)
	for i := range large {
		large[i] = uint64(i%2) << 40
	}
	for name, c := range map[string]struct {
		pt    *exponentialPoint
		field string
		why   rejection.Reason
	}{
		"a scale below -4":        {&exponentialPoint{Scale: -5}, ".scale", rejection.ScaleRange},
		"the least scale":         {&exponentialPoint{Scale: math.MinInt32}, ".scale", rejection.ScaleRange},
		"a negative threshold":    {&exponentialPoint{ZeroThreshold: -1}, ".zeroThreshold", rejection.ThresholdRange},
		"a threshold that is NaN": {&exponentialPoint{ZeroThreshold: math.NaN()}, ".zeroThreshold", rejection.ThresholdRange},
		"an infinite threshold": {
			&exponentialPoint{ZeroThreshold: math.Inf(1)}, ".zeroThreshold", rejection.ThresholdRange,
		},
		"a sum that is NaN":     {&exponentialPoint{Sum: new(math.NaN())}, ".sum", rejection.ValueNotFinite},
		"an infinite sum":       {&exponentialPoint{Sum: new(math.Inf(-1))}, ".sum", rejection.ValueNotFinite},
		"a minimum that is NaN": {&exponentialPoint{Min: new(math.NaN())}, ".min", rejection.ValueNotFinite},
		"an infinite maximum":   {&exponentialPoint{Max: new(math.Inf(1))}, ".max", rejection.ValueNotFinite},
		"many positive buckets": {
			&exponentialPoint{Positive: &exponentialBuckets{BucketCounts: make([]uint64, 1001)}}, ".positive.bucketCounts",
			rejection.BucketsMany,
		},
		"many negative buckets": {
			&exponentialPoint{Negative: &exponentialBuckets{BucketCounts: make([]uint64, 2000)}}, ".negative.bucketCounts",
			rejection.BucketsMany,
		},
		"a count without buckets": {&exponentialPoint{Count: 1}, ".count", rejection.BucketsSum},
		"buckets without a count": {&exponentialPoint{Positive: one}, ".count", rejection.BucketsSum},
		"a count above the sum": {
			&exponentialPoint{Count: 4, ZeroCount: 1, Positive: one, Negative: one}, ".count", rejection.BucketsSum,
		},
		"a count below the sum": {
			&exponentialPoint{Count: 2, ZeroCount: 1, Positive: one, Negative: one}, ".count", rejection.BucketsSum,
		},
		"a sum of 2^64": {
			&exponentialPoint{Positive: &exponentialBuckets{BucketCounts: []uint64{math.MaxUint64, 1}}}, ".count",
			rejection.BucketsSum,
		},
		"a sum of 2^63": {
			&exponentialPoint{Count: 1 << 63, Positive: &exponentialBuckets{BucketCounts: []uint64{1 << 63}}}, ".count",
			rejection.BucketsSum,
		},
		"a positive index beyond those of Prometheus": {
			&exponentialPoint{Count: 1, Positive: &exponentialBuckets{Offset: math.MaxInt32, BucketCounts: []uint64{1}}},
			".positive.offset", rejection.BucketsOffset,
		},
		"a negative index beyond those of Prometheus": {
			&exponentialPoint{
				Count: 1, Negative: &exponentialBuckets{Offset: math.MaxInt32 - 2, BucketCounts: []uint64{0, 0, 1}},
			}, ".negative.offset", rejection.BucketsOffset,
		},
		"too large": {
			&exponentialPoint{
				Count: 1000 << 40, Positive: &exponentialBuckets{BucketCounts: large},
				Negative: &exponentialBuckets{BucketCounts: large},
			}, "", rejection.ValueHistogram,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, delta := range []bool{false, true} {
				m := otlpExponentialMetric(c.pt)
				if delta {
					m.GetExponentialHistogram().AggregationTemporality = 1
				}
				p, result, err := acceptAs(t, OTLP, otlpBody(t, otlpGauge("good", otlpNumberPoint(1)), m))
				require.NoError(t, err)
				require.Equal(t, []int{1, 1, 2}, []int{result.Accepted, result.Rejected, result.DataPoints}, "%+v", result.Errors)
				require.Equal(t, []any{at + c.field, c.why.Text()}, []any{result.Errors[0].Field, result.Errors[0].Reason})
				require.Len(t, p.written(t), 1)
			}
		})
	}
}
