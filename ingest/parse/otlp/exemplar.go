package otlp

import (
	"encoding/hex"
	"math"
	"unicode/utf8"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/exemplar"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// The labels of an exemplar with the ids of its trace and span, as in Prometheus.
const (
	traceLabel = "trace_id"
	spanLabel  = "span_id"
)

// traceBytes and spanBytes are the lengths of ids.
const (
	traceBytes = 16
	spanBytes  = 8
)

// putExemplars adds the exemplars of the data point to the batch: those of a histogram to the series of the bucket that
// counts their value, and the others to the series of the metric.
func (p *Parser) putExemplars() bool {
	for _, raw := range p.lists.exemplars {
		if p.batch.Exemplars.Full() {
			p.err = fault.Field(fault.TooLarge, "body", block.TooManyExemplars()).With("limit", block.MaxExemplars)
			return false
		}
		x, ok := p.readExemplar(raw)
		if !ok {
			return false
		}
		kind, bound := seriesValue, 0.0
		if p.metric.tag == metricHistogram {
			kind, bound = seriesBucket, p.bucketOf(x.value)
		}
		index, ok := p.label(kind, bound)
		if !ok {
			return false
		}
		p.batch.AddExemplar(index, x.us, x.value, x.labels)
	}
	return true
}

// bucketOf returns the bound of the first bucket that counts a value.
func (p *Parser) bucketOf(value float64) float64 {
	for _, bucket := range p.lists.buckets {
		if !(value > bucket.bound) {
			return bucket.bound
		}
	}
	return math.Inf(1)
}

// pointExemplar is an exemplar of a data point. Its time is -1 if it is to be dropped, because it has no time or value.
type pointExemplar struct {
	us     int64
	value  float64
	labels []exemplar.Label
}

// readExemplar parses an Exemplar.
func (p *Parser) readExemplar(b []byte) (x pointExemplar, ok bool) {
	x.labels = p.batch.Exemplars.Labels()
	hasValue, ns := false, uint64(0)
	var trace, span []byte
	for i := 0; i < len(b); {
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); i == scan.Failed {
			return x, false
		}
		switch f.Tag {
		case exemplarTime:
			ns = f.Value
		case exemplarDouble:
			x.value, hasValue = math.Float64frombits(f.Value), true
		case exemplarInt:
			x.value, hasValue = float64(int64(f.Value)), true
		case exemplarSpan:
			span = f.Bytes
		case exemplarTrace:
			trace = f.Bytes
		case exemplarAttr:
			key, value, ok := p.readPair(f.Bytes)
			if !ok {
				return x, false
			}
			x.labels = append(x.labels, exemplar.Label{Name: key, Value: value})
		}
	}
	if x.us = int64(ns / 1000); x.us == 0 || !hasValue {
		x.us = -1
	}
	x.labels = p.addIDs(x.labels, trace, span)
	return x, true
}

// addIDs adds the labels of the trace and the span. As in Prometheus, the attributes are left out if the labels would
// be too long with them.
func (p *Parser) addIDs(attributes []exemplar.Label, trace, span []byte) (labels []exemplar.Label) {
	runes := exemplar.Runes(attributes)
	var ids [2]exemplar.Label
	for i, id := range [...]struct {
		name   string
		bytes  []byte
		length int
	}{{traceLabel, trace, traceBytes}, {spanLabel, span, spanBytes}} {
		if len(id.bytes) == id.length && !isZero(id.bytes) {
			ids[i] = exemplar.Label{Name: id.name, Value: p.hexText(id.bytes)}
			runes += utf8.RuneCountInString(id.name) + len(ids[i].Value)
		}
	}
	if runes > exemplar.MaxRunes {
		attributes = attributes[:0]
	}
	for _, id := range ids {
		if id.Name != "" {
			attributes = append(attributes, id)
		}
	}
	return attributes
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// hexText returns bytes in hexadecimal, as a text that is valid until the end of the request.
func (p *Parser) hexText(b []byte) string {
	unescaped := &p.batch.Unescaped
	from := len(*unescaped)
	*unescaped = hex.AppendEncode(*unescaped, b)
	return scan.View((*unescaped)[from:len(*unescaped):len(*unescaped)])
}
