package ingest

import (
	"encoding/base64"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// otlpExponential converts an exponential histogram to a native one by maps of its buckets.
func otlpExponential(pt *otlpmetrics.ExponentialHistogramDataPoint, delta bool) (list []otlpSeries, ok bool) {
	h := prompb.Histogram{}
	if pt.GetFlags()&1 != 0 {
		h.Count, h.ZeroCount = &prompb.Histogram_CountInt{}, &prompb.Histogram_ZeroCountInt{}
		h.Sum = math.Float64frombits(value.StaleNaN)
		text, _ := nativeText(&h)
		return []otlpSeries{{text: text}}, true
	}
	sums, ok := otlpSums(pt.GetCount(), pt.Sum, pt.Min, pt.Max)
	list = slices.DeleteFunc(sums, func(s otlpSeries) bool { return s.suffix == "_count" || s.suffix == "_sum" })
	threshold := pt.GetZeroThreshold()
	ok = ok && finite(threshold) && threshold >= 0 && pt.GetScale() >= -4
	zeros, total := pt.GetZeroCount(), new(big.Int).SetUint64(pt.GetZeroCount())
	halvings := 0
	if h.Schema = pt.GetScale(); h.Schema > 8 {
		halvings, h.Schema = min(int(h.Schema)-8, 64), 8
	}
	convert := func(b *otlpmetrics.ExponentialHistogramDataPoint_Buckets) (spans []prompb.BucketSpan, deltas []int64) {
		ok = ok && len(b.GetBucketCounts()) <= 1000
		buckets := map[int]uint64{}
		for i, count := range b.GetBucketCounts() {
			total.Add(total, new(big.Int).SetUint64(count))
			index := float64(b.GetOffset()) + float64(i)
			switch {
			case count == 0:
				continue
			case threshold > 0 && math.Exp2((index+1)*math.Exp2(-float64(pt.GetScale()))) <= threshold:
				zeros += count
				continue
			}
			for range halvings {
				index = math.Floor(index / 2)
			}
			ok = ok && index+1 <= math.MaxInt32
			buckets[int(index)+1] += count
		}
		return nativeBuckets(buckets)
	}
	h.PositiveSpans, h.PositiveDeltas = convert(pt.GetPositive())
	h.NegativeSpans, h.NegativeDeltas = convert(pt.GetNegative())
	ok = ok && total.Cmp(new(big.Int).SetUint64(pt.GetCount())) == 0 && total.BitLen() < 64
	h.Count = &prompb.Histogram_CountInt{CountInt: pt.GetCount()}
	h.ZeroCount = &prompb.Histogram_ZeroCountInt{ZeroCountInt: zeros}
	h.Sum, h.ZeroThreshold = pt.GetSum(), threshold
	if threshold == 0 {
		h.ZeroThreshold = 1e-128
	}
	if delta {
		h.ResetHint = prompb.Histogram_GAUGE
	}
	text, size := nativeText(&h)
	return append(list, otlpSeries{text: text, exemplars: pt.GetExemplars()}), ok && size <= 8192
}

// nativeBuckets returns the spans of buckets, with up to two empty ones between others.
func nativeBuckets(buckets map[int]uint64) (spans []prompb.BucketSpan, deltas []int64) {
	indexes := slices.Sorted(maps.Keys(buckets))
	for i := 1; i < len(indexes); i++ {
		if gap := indexes[i] - indexes[i-1] - 1; gap <= 2 {
			for j := range gap {
				buckets[indexes[i-1]+1+j] = 0
			}
		}
	}
	before, count := 0, uint64(0)
	for i, index := range slices.Sorted(maps.Keys(buckets)) {
		if i == 0 || index > before+1 {
			offset := index - before - 1
			if i == 0 {
				offset = index
			}
			spans = append(spans, prompb.BucketSpan{Offset: int32(offset)})
		}
		spans[len(spans)-1].Length++
		deltas = append(deltas, int64(buckets[index]-count))
		before, count = index, buckets[index]
	}
	return spans, deltas
}

// nativeText returns the text of a native histogram and the size of its message.
func nativeText(h *prompb.Histogram) (text string, size int) {
	raw, err := h.Marshal()
	if err != nil {
		panic(err)
	}
	return "histogram:" + base64.StdEncoding.EncodeToString(raw), len(raw)
}
