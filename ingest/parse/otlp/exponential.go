package otlp

import (
	"math"
	"math/bits"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// exponential has the fields of an exponential histogram's data point besides its counts.
type exponential struct {
	scale                      int32
	zeros                      uint64
	threshold                  float64 // values up to it, of either sign, are counted as zeros
	positiveFrom, negativeFrom int32   // index of the first bucket
}

const (
	// defaultThreshold is the threshold of the zero bucket if none is sent: that of Prometheus for OpenTelemetry. The
	// zero bucket then has what an exporter rounded to zero.
	defaultThreshold = 1e-128
	// maxGap is the number of empty buckets that are stored between others. Prometheus uses the same: a span has about
	// their size.
	maxGap = 2
)

func (p *Parser) exponentialField(f *protobuf.Field) (ok bool) {
	pt, l := &p.point, &p.lists
	e := &pt.exponential
	ok = true
	switch f.Tag {
	case exponentialScale:
		e.scale = zigzag(f.Value)
	case exponentialZeros:
		e.zeros = f.Value
	case exponentialZero:
		e.threshold = math.Float64frombits(f.Value)
	case exponentialMin:
		pt.min, pt.hasMin = math.Float64frombits(f.Value), true
	case exponentialMax:
		pt.max, pt.hasMax = math.Float64frombits(f.Value), true
	case exponentialAbove:
		e.positiveFrom, l.counts, ok = l.readBuckets(f.Bytes, l.counts[:0])
	case exponentialBelow:
		e.negativeFrom, l.negative, ok = l.readBuckets(f.Bytes, l.negative[:0])
	default:
		p.sumField(f)
	}
	return ok
}

// readBuckets parses a Buckets message.
func (l *lists) readBuckets(b []byte, counts []uint64) (offset int32, _ []uint64, ok bool) {
	for i := 0; i < len(b); {
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); i == scan.Failed {
			return 0, counts, false
		}
		switch f.Tag {
		case bucketsOffset:
			offset = zigzag(f.Value)
		case bucketsCount:
			counts = l.add(counts, f.Value)
		case bucketsCounts:
			for j := 0; j < len(f.Bytes); {
				var count uint64
				if count, j = protobuf.Uvarint(f.Bytes, j); j == scan.Failed {
					return 0, counts, false
				}
				counts = l.add(counts, count)
			}
		}
	}
	return offset, counts, true
}

// zigzag decodes a sint32.
func zigzag(v uint64) int32 { return int32(uint32(v)>>1) ^ -int32(uint32(v)&1) }

// checkExponential checks the data point and converts it to a native histogram of Prometheus, as the receiver of
// Prometheus does. Bucket i of scale s has the values above base^i up to base^(i+1), where base is 2^(2^-s), and a
// negative bucket has their negatives
// (https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram).
func (p *Parser) checkExponential() bool {
	pt, l := &p.point, &p.lists
	e, h := &pt.exponential, &l.native
	switch {
	case e.scale < histogram.ExponentialSchemaMin:
		return pt.reject(rejection.ScaleRange, "scale")
	case len(l.counts) > maxBuckets:
		return pt.reject(rejection.BucketsMany, "positive.bucketCounts")
	case len(l.negative) > maxBuckets:
		return pt.reject(rejection.BucketsMany, "negative.bucketCounts")
	case !isFinite(e.threshold) || e.threshold < 0:
		return pt.reject(rejection.ThresholdRange, "zeroThreshold")
	case !e.addsUp(pt.count, l.counts, l.negative):
		return pt.reject(rejection.BucketsSum, "count")
	}
	h.Schema = min(e.scale, histogram.ExponentialSchemaMax)
	h.Count, h.Sum = pt.count, pt.sum
	h.CounterResetHint = histogram.UnknownCounterReset
	if p.metric.delta {
		h.CounterResetHint = histogram.GaugeType // so that it is not compared with the one before
	}
	e.mergeZeros(e.positiveFrom, l.counts)
	e.mergeZeros(e.negativeFrom, l.negative)
	h.ZeroCount, h.ZeroThreshold = e.zeros, e.threshold
	if e.threshold == 0 {
		h.ZeroThreshold = defaultThreshold
	}
	above, below := sideOf(h.PositiveSpans, h.PositiveBuckets), sideOf(h.NegativeSpans, h.NegativeBuckets)
	shift := e.scale - h.Schema
	switch {
	case !above.add(e.positiveFrom, l.counts, shift):
		return pt.reject(rejection.BucketsOffset, "positive.offset")
	case !below.add(e.negativeFrom, l.negative, shift):
		return pt.reject(rejection.BucketsOffset, "negative.offset")
	}
	h.PositiveSpans, h.PositiveBuckets = above.spans, above.deltas
	h.NegativeSpans, h.NegativeBuckets = below.spans, below.deltas
	return true
}

// addsUp reports whether the number of values is that of all buckets, and a count of Prometheus.
func (e *exponential) addsUp(count uint64, above, below []uint64) bool {
	sum := e.zeros
	for _, side := range [...][]uint64{above, below} {
		for _, n := range side {
			if !sumUp(&sum, n) {
				return false
			}
		}
	}
	return sum == count && sum <= math.MaxInt64
}

func sumUp(sum *uint64, count uint64) bool {
	total, carry := bits.Add64(*sum, count, 0)
	*sum = total
	return carry == 0
}

// mergeZeros moves the values of buckets that are within the zero bucket to it. Prometheus has no place for buckets
// whose upper bound is below its threshold.
func (e *exponential) mergeZeros(from int32, counts []uint64) {
	for i := 0; e.threshold > 0 && i < len(counts) && e.upperBound(int64(from)+int64(i)) <= e.threshold; i++ {
		e.zeros += counts[i]
		counts[i] = 0
	}
}

// upperBound returns the upper bound of a positive bucket. It is 0 or infinite if it is out of the range of numbers.
func (e *exponential) upperBound(index int64) float64 {
	return math.Exp2(math.Ldexp(float64(index+1), -int(e.scale)))
}

// side has the buckets of one sign as Prometheus has them: spans of consecutive buckets, and the difference of each
// count from that of the bucket before. It has no empty buckets, except in small gaps.
type side struct {
	spans  []histogram.Span
	deltas []int64
	next   int64 // index after that of the last bucket
	last   int64 // count of the last bucket
}

// sideOf returns a side without buckets that uses the memory of the slices.
func sideOf(spans []histogram.Span, deltas []int64) side {
	return side{spans: spans[:0], deltas: deltas[:0]}
}

// add adds the buckets from index from, each 2^shift of them as one. Prometheus' bucket i has the values up to base^i.
// add returns false if an index is beyond those of Prometheus.
func (s *side) add(from int32, counts []uint64, shift int32) bool {
	for i, count := range counts {
		if count == 0 {
			continue
		}
		index := (int64(from)+int64(i))>>shift + 1
		if index > math.MaxInt32 {
			return false
		}
		if len(s.deltas) > 0 && index < s.next {
			s.deltas[len(s.deltas)-1] += int64(count)
			s.last += int64(count)
			continue
		}
		switch gap := index - s.next; {
		case len(s.spans) == 0:
			s.spans = append(s.spans, histogram.Span{Offset: int32(index)})
		case gap > maxGap:
			s.spans = append(s.spans, histogram.Span{Offset: int32(gap)})
		default:
			for range gap {
				s.append(0)
			}
		}
		s.append(int64(count))
		s.next = index + 1
	}
	return true
}

func (s *side) append(count int64) {
	s.spans[len(s.spans)-1].Length++
	s.deltas = append(s.deltas, count-s.last)
	s.last = count
}
