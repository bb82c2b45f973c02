package otlp

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// maxBuckets is the maximum number of buckets of a histogram, per sign for an exponential one, and of quantiles of a
// summary. Exporters have 160 at most by default.
const maxBuckets = 1000

// lists are the repeated fields of a data point. They keep their memory.
type lists struct {
	counts    []uint64 // of a histogram's buckets, or of the positive ones
	negative  []uint64
	bounds    []float64
	many      bool // there are more than maxBuckets
	buckets   []bucket
	quantiles []quantile
	exemplars [][]byte            // Exemplar messages
	native    histogram.Histogram // of an exponential histogram
}

// bucket is the number of values up to a bound.
type bucket struct {
	bound float64
	count uint64
}

type quantile struct{ rank, value float64 }

func (l *lists) reset() {
	clear(l.exemplars[:cap(l.exemplars)]) // they refer to the body
	*l = l.empty()
}

func (l *lists) empty() lists {
	return lists{
		counts: l.counts[:0], negative: l.negative[:0], bounds: l.bounds[:0], buckets: l.buckets[:0],
		quantiles: l.quantiles[:0], exemplars: l.exemplars[:0], native: l.native,
	}
}

// add appends a count, unless there are too many.
func (l *lists) add(counts []uint64, count uint64) []uint64 {
	if len(counts) > maxBuckets {
		l.many = true
		return counts
	}
	return append(counts, count)
}

func (l *lists) addBound(bits uint64) {
	if len(l.bounds) > maxBuckets {
		l.many = true
		return
	}
	l.bounds = append(l.bounds, math.Float64frombits(bits))
}

// sumField parses the fields that histograms and summaries have.
func (p *Parser) sumField(f *protobuf.Field) {
	pt := &p.point
	switch f.Tag {
	case pointCount:
		pt.count = f.Value
	case pointSum:
		pt.sum, pt.hasSum = math.Float64frombits(f.Value), true
	}
}

func (p *Parser) histogramField(f *protobuf.Field) bool {
	pt, l := &p.point, &p.lists
	switch f.Tag {
	case histogramCounts, histogramBounds:
		if len(f.Bytes)%8 != 0 {
			return false
		}
		for b := f.Bytes; len(b) > 0 && !l.many; b = b[8:] {
			if f.Tag == histogramCounts {
				l.counts = l.add(l.counts, binary.LittleEndian.Uint64(b))
			} else {
				l.addBound(binary.LittleEndian.Uint64(b))
			}
		}
	case histogramCount:
		l.counts = l.add(l.counts, f.Value)
	case histogramBound:
		l.addBound(f.Value)
	case histogramMin:
		pt.min, pt.hasMin = math.Float64frombits(f.Value), true
	case histogramMax:
		pt.max, pt.hasMax = math.Float64frombits(f.Value), true
	default:
		p.sumField(f)
	}
	return true
}

// checkHistogram checks the buckets and computes the number of values up to each bound.
func (p *Parser) checkHistogram() bool {
	pt, l := &p.point, &p.lists
	if l.many {
		return pt.reject(rejection.BucketsMany, "bucketCounts")
	}
	if len(l.counts) == 0 && len(l.bounds) == 0 { // only the sum and the count
		return true
	}
	if len(l.counts) != len(l.bounds)+1 {
		return pt.reject(rejection.BucketsInvalid, "bucketCounts")
	}
	below := uint64(0)
	for i, bound := range l.bounds {
		if !isFinite(bound) || i > 0 && bound <= l.bounds[i-1] {
			return pt.reject(rejection.BucketsInvalid, "bucketCounts")
		}
		if !sumUp(&below, l.counts[i]) {
			return pt.reject(rejection.BucketsInvalid, "bucketCounts")
		}
		l.buckets = append(l.buckets, bucket{bound, below})
	}
	return true
}

func (p *Parser) summaryField(f *protobuf.Field) bool {
	if f.Tag != summaryQuantile {
		p.sumField(f)
		return true
	}
	var q quantile
	for i := 0; i < len(f.Bytes); {
		var field protobuf.Field
		if field, i = protobuf.Next(f.Bytes, i); i == scan.Failed {
			return false
		}
		switch field.Tag {
		case quantileRank:
			q.rank = math.Float64frombits(field.Value)
		case quantileValue:
			q.value = math.Float64frombits(field.Value)
		}
	}
	if len(p.lists.quantiles) > maxBuckets {
		p.lists.many = true
		return true
	}
	p.lists.quantiles = append(p.lists.quantiles, q)
	return true
}

// checkSummary checks the quantiles and removes those that are NaN, which are those of a summary without values.
func (p *Parser) checkSummary() bool {
	pt, l := &p.point, &p.lists
	pt.hasSum = true // a sum of 0 is not encoded
	if l.many {
		return pt.reject(rejection.BucketsMany, "quantileValues")
	}
	kept := l.quantiles[:0]
	for _, q := range l.quantiles {
		switch {
		case math.IsNaN(q.rank) || q.rank < 0 || q.rank > 1:
			return pt.reject(rejection.QuantileRange, "quantileValues")
		case math.IsInf(q.value, 0):
			return pt.reject(rejection.ValueNotFinite, "quantileValues")
		case !math.IsNaN(q.value):
			kept = append(kept, q)
		}
	}
	l.quantiles = kept
	return true
}
