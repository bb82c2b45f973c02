package ingest

import (
	"math"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// TestExponentialHistogramsHaveTheObservations counts random observations in buckets as the data model of OpenTelemetry
// defines them, and requires that the native histogram has them.
func TestExponentialHistogramsHaveTheObservations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.Int32Range(-4, 12).Draw(t, "scale")
		magnitude := rapid.Float64Range(-3, 3)
		observations := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 {
			v := math.Pow(10, magnitude.Draw(t, "magnitude"))
			return v * float64(rapid.SampledFrom([]int{1, 1, 1, -1, 0}).Draw(t, "sign"))
		}), 1, 200).Draw(t, "observations")
		pt, ok := exponentialOf(scale, observations)
		if !ok {
			t.Skip("more buckets than a histogram can have")
		}
		body, err := proto.Marshal(otlpRequest(otlpExponentialMetric(pt)))
		require.NoError(t, err)
		p := newFakeStores()
		result, err := p.pipeline(Limits{}).Accept(t.Context(), OTLP, request(string(body)))
		require.NoError(t, err)
		require.Zero(t, result.Rejected, "%+v", result.Errors)
		h, _ := writtenNative(t, p)
		require.Equal(t, min(scale, 8), h.Schema)
		requireObservations(t, h, observations)
	})
}

// exponentialOf returns the data point of observations. ok is false if it has too many buckets.
func exponentialOf(scale int32, observations []float64) (pt *exponentialPoint, ok bool) {
	pt = &exponentialPoint{Scale: scale, Count: uint64(len(observations)), Sum: new(0.0)}
	indexes := map[bool][]int{}
	for _, v := range observations {
		*pt.Sum += v
		if v == 0 {
			pt.ZeroCount++
			continue
		}
		index := int(math.Ceil(math.Log2(math.Abs(v))*math.Exp2(float64(scale)))) - 1
		indexes[v > 0] = append(indexes[v > 0], index)
	}
	for positive, list := range indexes {
		from := slices.Min(list)
		if slices.Max(list)-from >= 1000 {
			return nil, false
		}
		b := &exponentialBuckets{Offset: int32(from), BucketCounts: make([]uint64, slices.Max(list)-from+1)}
		for _, index := range list {
			b.BucketCounts[index-from]++
		}
		if positive {
			pt.Positive = b
		} else {
			pt.Negative = b
		}
	}
	return pt, true
}

// requireObservations requires that a histogram has the observations in its buckets, and that its quantiles are within
// the buckets of the observations that they are between.
func requireObservations(t require.TestingT, h *histogram.Histogram, observations []float64) {
	sorted := slices.Sorted(slices.Values(observations))
	f := h.ToFloat(nil)
	require.InDelta(t, float64(len(sorted)), f.Count, 0)
	growth := math.Exp2(math.Exp2(-float64(h.Schema)))
	const rounding = 1e-9 // of logarithms
	seen := 0
	for it := f.AllBucketIterator(); it.Next(); {
		b := it.At()
		for range int(b.Count) {
			v := sorted[seen]
			require.GreaterOrEqual(t, v, b.Lower-rounding*math.Abs(b.Lower))
			require.LessOrEqual(t, v, b.Upper+rounding*math.Abs(b.Upper))
			seen++
		}
		if b.Lower > 0 {
			require.InEpsilon(t, growth, b.Upper/b.Lower, rounding)
		}
	}
	require.Len(t, sorted, seen)
	for _, q := range []float64{0, 0.25, 0.5, 0.9, 1} {
		got, _ := promql.HistogramQuantile(q, f, "", posrange.PositionRange{})
		rank := q * float64(len(sorted))
		below, above := sorted[max(int(math.Ceil(rank))-1, 0)], sorted[min(int(rank), len(sorted)-1)]
		require.GreaterOrEqual(t, got, atMost(below, growth), "quantile %v of %v", q, sorted)
		require.LessOrEqual(t, got, -atMost(-above, growth), "quantile %v of %v", q, sorted)
	}
}

// atMost returns a lower bound of the bucket that has a value.
func atMost(v, growth float64) float64 {
	const rounding, threshold = 1 + 1e-9, 1e-128
	if v > 0 {
		return v / growth / rounding
	}
	return v*growth*rounding - threshold
}
