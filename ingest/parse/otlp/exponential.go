package otlp

import (
	"math"
	"math/bits"

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

// checkExponential checks the buckets and computes the number of values up to each bound. Bucket i of scale s has the
// values above base^i up to base^(i+1), where base is 2^(2^-s), and a negative bucket has their negatives
// (https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram). The same bound is the same float
// at each scale that has it, so the series of a bound continues when the exporter changes the scale.
func (p *Parser) checkExponential() bool {
	pt, l := &p.point, &p.lists
	e := &pt.exponential
	switch {
	case l.many:
		return pt.reject(rejection.BucketsMany, "bucketCounts")
	case !isFinite(e.threshold) || e.threshold < 0:
		return pt.reject(rejection.ValueNotFinite, "zeroThreshold")
	}
	below := uint64(0)
	if n := len(l.negative); n > 0 {
		l.upTo(-e.bound(e.negativeFrom, n), 0)
		for i := n - 1; i >= 0; i-- {
			if !sumUp(&below, l.negative[i]) {
				return pt.reject(rejection.BucketsInvalid, "negative.bucketCounts")
			}
			l.upTo(-e.bound(e.negativeFrom, i), below)
		}
	}
	if e.threshold > 0 {
		l.upTo(-e.threshold, below)
	}
	if !sumUp(&below, e.zeros) {
		return pt.reject(rejection.BucketsInvalid, "zeroCount")
	}
	l.upTo(e.threshold, below)
	if len(l.counts) > 0 {
		l.upTo(e.bound(e.positiveFrom, 0), below)
	}
	for i, count := range l.counts {
		if !sumUp(&below, count) {
			return pt.reject(rejection.BucketsInvalid, "positive.bucketCounts")
		}
		l.upTo(e.bound(e.positiveFrom, i+1), below)
	}
	return true
}

func sumUp(sum *uint64, count uint64) bool {
	total, carry := bits.Add64(*sum, count, 0)
	*sum = total
	return carry == 0
}

// bound returns the lower bound of the bucket that is i buckets after the one with index from. It is 0 or infinite if
// it is out of the range of numbers.
func (e *exponential) bound(from int32, i int) float64 {
	return math.Exp2(math.Ldexp(float64(int64(from)+int64(i)), -int(e.scale)))
}

// upTo adds the number of values up to a bound. A bound that is not above the last one, such as one within the zero
// bucket, replaces its count. Infinite bounds are left out, because the count has all values.
func (l *lists) upTo(bound float64, count uint64) {
	if math.IsInf(bound, 0) {
		return
	}
	if bound == 0 {
		bound = 0 // not -0
	}
	if n := len(l.buckets); n > 0 && bound <= l.buckets[n-1].bound {
		l.buckets[n-1].count = count
		return
	}
	l.buckets = append(l.buckets, bucket{bound, count})
}
