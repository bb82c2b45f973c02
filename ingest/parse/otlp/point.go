package otlp

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/nativehistogram"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// point is the data point that is being parsed.
type point struct {
	ns         uint64
	us         int64
	flags      uint64
	attributes []byte // KeyValue messages, each with its tag and length
	hash       uint64 // of attributes, if cacheable
	cacheable  bool   // the labels of the data point may be cached

	value          float64 // of gauges and sums
	hasValue       bool
	count          uint64 // of histograms and summaries, as the next
	sum, min, max  float64
	hasSum         bool
	hasMin, hasMax bool
	exponential    exponential

	tags       []pointblock.Tag // of all its series, if hasTags
	hasTags    bool
	refused    rejection.Reason // why the data point is rejected
	invalidTag string
	member     string // the field that breaks the rule
}

// reject records the rule that a field of the data point breaks. It reports whether the data point is valid.
func (pt *point) reject(why rejection.Reason, member string) bool {
	pt.refused, pt.member = why, member
	return why == rejection.None
}

// ends reports whether the data point has no value and marks the end of its series.
func (pt *point) ends() bool { return pt.flags&noRecordedValue != 0 }

// dataPoint parses a data point of the metric. It returns false if the whole request is refused.
func (p *Parser) dataPoint(b []byte) bool {
	p.point, p.lists = point{}, p.lists.empty()
	pt := &p.point
	for i := 0; i < len(b); {
		start := i
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); i == scan.Failed {
			return false
		}
		switch f.Tag {
		case pointTime:
			pt.ns = f.Value
		case p.metric.flags:
			pt.flags = f.Value
		case p.metric.attributes:
			p.addAttribute(b, start, i)
		case p.metric.exemplars:
			p.lists.exemplars = append(p.lists.exemplars, f.Bytes)
		default:
			if !p.field(&f) {
				return false
			}
		}
	}
	defer func() { p.index++ }()
	if pt.ends() && p.metric.tag != metricExponential {
		return true
	}
	if p.check() {
		p.beginLabels()
		p.store()
		if pt.refused == rejection.None && p.err == nil && !pt.ends() && !p.putExemplars() {
			return false
		}
	}
	if p.err != nil {
		return false
	}
	if pt.refused != rejection.None {
		return p.rejectPoint()
	}
	p.resource.latestUS = max(p.resource.latestUS, pt.us)
	return true
}

// rejectPoint counts the data point as rejected.
func (p *Parser) rejectPoint() bool {
	b, why := p.batch, p.point.refused
	if b.Points >= p.maxPoints {
		p.err = tooMany(p.maxPoints)
		return false
	}
	b.Points++
	if field := b.Rejected.Add(why, p.index, rejection.NoPosition, 1); field != nil {
		*field = p.fieldPath(why, p.index, rejection.NoPosition, &block.Label{
			Parsed: &block.Parsed{InvalidTag: p.point.invalidTag},
		})
	}
	return true
}

// addAttribute adds b[from:to], an attribute with its tag and length.
func (p *Parser) addAttribute(b []byte, from, to int) {
	pt := &p.point
	if n := len(pt.attributes); n > 0 {
		if from >= n && &b[from-n] == &pt.attributes[0] { // adjacent to the attributes before
			pt.attributes = b[from-n : to : to]
			return
		}
		unescaped := &p.batch.Unescaped
		start := len(*unescaped)
		*unescaped = append(append(*unescaped, pt.attributes...), b[from:to]...)
		pt.attributes = (*unescaped)[start:len(*unescaped):len(*unescaped)]
		return
	}
	pt.attributes = b[from:to:to]
}

// field parses a field that only the data points of the metric's type have. It returns false if it is malformed.
func (p *Parser) field(f *protobuf.Field) bool {
	switch p.metric.tag {
	case metricGauge, metricSum:
		p.numberField(f)
		return true
	case metricHistogram:
		return p.histogramField(f)
	case metricExponential:
		return p.exponentialField(f)
	}
	return p.summaryField(f)
}

func (p *Parser) numberField(f *protobuf.Field) {
	pt := &p.point
	switch f.Tag {
	case numberDouble:
		pt.value, pt.hasValue = math.Float64frombits(f.Value), true
	case numberInt:
		pt.value, pt.hasValue = float64(int64(f.Value)), true
	}
}

// check checks the data point's time and values. It returns false if one breaks a rule.
func (p *Parser) check() bool {
	pt, m := &p.point, &p.metric
	if m.fault != rejection.None {
		return pt.reject(m.fault, "")
	}
	if pt.ns == 0 {
		return pt.reject(rejection.TimeMissing, "timeUnixNano")
	}
	pt.us = int64(pt.ns / 1000)
	if why := p.batch.CheckTime(pt.us); why != rejection.None {
		return pt.reject(why, "timeUnixNano")
	}
	switch m.tag {
	case metricGauge, metricSum:
		switch {
		case !pt.hasValue:
			return pt.reject(rejection.ValueMissing, "value")
		case !isFinite(pt.value):
			return pt.reject(rejection.ValueNotFinite, "asDouble")
		}
		return true
	case metricHistogram:
		return p.checkHistogram() && p.checkSums()
	case metricExponential:
		return pt.ends() || p.checkExponential() && p.checkSums()
	}
	return p.checkSummary() && p.checkSums()
}

// checkSums checks the sum and the extremes of a histogram or summary.
func (p *Parser) checkSums() bool {
	pt := &p.point
	switch {
	case pt.hasSum && !isFinite(pt.sum):
		return pt.reject(rejection.ValueNotFinite, "sum")
	case pt.hasMin && !isFinite(pt.min):
		return pt.reject(rejection.ValueNotFinite, "min")
	case pt.hasMax && !isFinite(pt.max):
		return pt.reject(rejection.ValueNotFinite, "max")
	}
	return true
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// store appends the points of the data point to the batch.
func (p *Parser) store() {
	pt := &p.point
	switch p.metric.tag {
	case metricGauge, metricSum:
		p.put(seriesValue, 0, pt.value)
		return
	case metricExponential:
		_ = p.putNative() && !pt.ends() && p.putExtremes()
		return
	case metricSummary:
		for _, q := range p.lists.quantiles {
			if !p.put(seriesQuantile, q.rank, q.value) {
				return
			}
		}
	default:
		for _, bucket := range p.lists.buckets {
			if !p.put(seriesBucket, bucket.bound, float64(bucket.count)) {
				return
			}
		}
		if !p.put(seriesBucket, math.Inf(1), float64(pt.count)) {
			return
		}
	}
	_ = p.put(seriesCount, 0, float64(pt.count)) && (!pt.hasSum || p.put(seriesSum, 0, pt.sum)) && p.putExtremes()
}

// putExtremes appends the points of the minimum and maximum of a histogram.
func (p *Parser) putExtremes() bool {
	pt := &p.point
	return (!pt.hasMin || p.put(seriesMin, 0, pt.min)) && (!pt.hasMax || p.put(seriesMax, 0, pt.max))
}

// putNative appends the point with the native histogram of an exponential histogram: the one that marks the end of the
// series if there is no value.
func (p *Parser) putNative() bool {
	h := &p.lists.native
	if p.point.ends() {
		h = &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
	}
	b := p.batch
	from := len(b.Unescaped)
	text, err := nativehistogram.AppendInt(b.Unescaped, h)
	if err != nil { // it has too many buckets for its size
		return p.point.reject(rejection.ValueHistogram, "")
	}
	b.Unescaped = text
	return p.putText(seriesValue, 0, 0, scan.View(text[from:len(text):len(text)]))
}

// put appends a point of one of the data point's series to the batch. It returns false if the data point or the whole
// request is refused. A data point is refused with its first series, so that none of its points is stored then.
func (p *Parser) put(kind seriesKind, bound, number float64) bool {
	return p.putText(kind, bound, number, "")
}

// putText is put for a point whose value is the text, unless that is empty.
func (p *Parser) putText(kind seriesKind, bound, number float64, text string) bool {
	b := p.batch
	if b.Points >= p.maxPoints {
		p.err = tooMany(p.maxPoints)
		return false
	}
	index, ok := p.label(kind, bound)
	if !ok {
		return false
	}
	from := len(b.Numbers.Times)
	b.Numbers.Times, b.Numbers.Values = append(b.Numbers.Times, p.point.us), append(b.Numbers.Values, number)
	b.Points++
	p.notes.Reset()
	if text != "" {
		p.notes.Strings = append(p.notes.Strings, block.StringEntry{Text: text})
	}
	b.AddRun(&p.notes, p.index, from, index)
	return true
}
