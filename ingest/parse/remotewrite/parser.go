package remotewrite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/nativehistogram"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// The protobuf tags of the fields that the parser reads of prometheus.WriteRequest, the
// message of Prometheus' remote write 1.0
// (https://prometheus.io/docs/specs/prw/remote_write_spec/). A tag has a field's number
// and wire type in one byte. version2.go has those of remote write 2.0.
const (
	requestTimeSeries   = 1<<3 | protobuf.Bytes
	requestMetadata     = 3<<3 | protobuf.Bytes
	requestSymbols      = 4<<3 | protobuf.Bytes // of version 2 only, like the next
	requestTimeSeriesV2 = 5<<3 | protobuf.Bytes
	seriesLabel         = 1<<3 | protobuf.Bytes
	seriesSample        = 2<<3 | protobuf.Bytes // of both versions
	seriesHistogram     = 4<<3 | protobuf.Bytes
	labelName           = 1<<3 | protobuf.Bytes
	labelValue          = 2<<3 | protobuf.Bytes
	sampleValue         = 1<<3 | protobuf.Fixed64
	sampleTimestamp     = 2<<3 | protobuf.Varint
)

// StaleMarker is the bits of the NaN that marks the end of a series in Prometheus; see
// its package model/value.
const StaleMarker = 0x7ff0000000000002

// The messages of Prometheus' remote write 1.0 and 2.0.
const (
	Message1 = "prometheus.WriteRequest"
	Message2 = "io.prometheus.write.v2.Request"
)

// MediaTypes are the media types of Prometheus' remote write. Without a message it is 1.0.
var MediaTypes = []string{
	"application/x-protobuf", "application/x-protobuf;proto=" + Message1, "application/x-protobuf;proto=" + Message2,
}

// Parser parses a remote write request of Prometheus into a batch in one pass over the bytes.
type Parser struct {
	hooks     block.Hooks
	cache     *block.LabelCache
	batch     *block.Batch
	b         []byte // the body
	maxPoints int
	message   string // what the body must be
	index     int    // index of the TimeSeries
	err       *fault.Error

	tags       []pointblock.Tag // tags of the current label set
	notes      block.Notes      // of the current TimeSeries
	names      lastSource       // source of the last label set
	samples    int              // number of samples of the current TimeSeries before its first native histogram
	histograms bool             // the current TimeSeries has native histograms

	// Of version 2.
	symbols      []symbol
	refs         []uint32 // labels_refs of the current TimeSeries
	exemplarRefs []uint32 // labels_refs of the current Exemplar
	labelBytes   int      // size of the labels that were written out
}

// New creates a Parser that uses the cache.
func New(cache *block.LabelCache) *Parser {
	p := &Parser{cache: cache}
	p.hooks = block.Hooks{
		FieldPath: p.fieldPath, ListName: func() string { return "body" }, Resolved: p.cacheSeries,
		Read:       func(l *block.Label) { p.readLabels(l) },
		SourceTags: targetTags,
	}
	p.notes.Unindexed = true
	return p
}

// Reset removes all references to the request.
func (p *Parser) Reset() {
	clear(p.tags)
	p.notes.Release()
	*p = Parser{
		hooks: p.hooks, cache: p.cache, tags: p.tags[:0], notes: p.notes, symbols: emptied(p.symbols), refs: emptied(p.refs),
		exemplarRefs: emptied(p.exemplarRefs),
	}
}

// Parse parses the batch's decompressed body as a remote write request of
// Prometheus. Values that are not finite, stale markers and native histograms become texts of
// pointblock.KindSpecial. Parse adds exemplars and metadata to the batch.
// It returns a Malformed error if the body is not such a
// message, UnsupportedMedia if it is of version 2, and Invalid if it has too many
// points.
func (p *Parser) Parse(b *block.Batch, maxPoints int) error {
	p.begin(b, maxPoints, "a WriteRequest of Prometheus' remote write 1.0")
	for i := 0; i < len(p.b); {
		tag := p.b[i]
		if tag == requestTimeSeries {
			from, end := protobuf.BytesField(p.b, i+1)
			if end == scan.Failed || !p.timeSeries(from, end) {
				return p.parseError()
			}
			p.index++
			i = end
			continue
		}
		field, end := protobuf.Next(p.b, i)
		if i = end; i == scan.Failed {
			return p.parseError()
		}
		if tag == requestMetadata {
			p.readMetadata(field.Bytes)
		}
		if tag == requestSymbols || tag == requestTimeSeriesV2 {
			return otherMessage("2.0", Message2)
		}
	}
	return nil
}

func (p *Parser) begin(b *block.Batch, maxPoints int, message string) {
	b.Hooks, b.Texts = p.hooks, pointblock.KindSpecial
	p.batch, p.b, p.maxPoints, p.message = b, b.Body, maxPoints, message
}

func (p *Parser) parseError() error {
	if p.err != nil {
		return p.err
	}
	return fault.Field(fault.Malformed, "body", "is not "+p.message)
}

func (p *Parser) failTooMany() {
	p.err = fault.Field(fault.Invalid, "body", fmt.Sprintf("must hold at most %d points in one request", p.maxPoints)).
		With("limit", p.maxPoints)
}

// otherMessage returns the error of a body that is a message of the other version than declared.
func otherMessage(version, message string) error {
	return fault.Field(fault.UnsupportedMedia, "Content-Type",
		"must declare version "+version+" of Prometheus' remote write for this body, with proto="+message, MediaTypes...)
}

// timeSeries parses the TimeSeries at b[i:end] and appends its samples directly to the
// batch's columns.
func (p *Parser) timeSeries(i, end int) bool {
	from := p.beginSeries()
	body, labels := p.b[:end], i
	for i < end && body[i] == seriesLabel {
		if _, i = protobuf.BytesField(body, i+1); i == scan.Failed {
			return false
		}
	}
	raw, nonAdjacent, exemplars := body[labels:i], false, end
	for i < end {
		tag := body[i]
		if tag != seriesSample && tag != seriesHistogram {
			nonAdjacent = nonAdjacent || tag == seriesLabel
			if tag == seriesExemplar {
				exemplars = min(exemplars, i)
			}
			if i = protobuf.SkipField(body, i); i == scan.Failed {
				return false
			}
			continue
		}
		start, next := protobuf.BytesField(body, i+1)
		if next == scan.Failed || !p.point(body[:next], start, from, tag == seriesHistogram) {
			return false
		}
		i = next
	}
	if len(p.batch.Numbers.Times) == from && exemplars == end {
		return true
	}
	if nonAdjacent {
		raw = p.joinLabels(labels, end)
	}
	index, ok := p.addSeries(from, raw)
	return ok && (exemplars == end || p.exemplars(body, exemplars, seriesExemplar, index))
}

// beginSeries prepares for the next TimeSeries and returns the index of its first point in the columns.
func (p *Parser) beginSeries() (from int) {
	p.notes.Reset()
	p.samples, p.histograms = 0, false
	return len(p.batch.Numbers.Times)
}

// addSeries adds the points that were appended to the columns from index from, and returns the index of their label.
// raw contains the labels as Label messages.
func (p *Parser) addSeries(from int, raw []byte) (index int32, ok bool) {
	b := p.batch
	if index, ok = p.label(raw); !ok {
		return 0, false
	}
	if points := len(b.Numbers.Times) - from; points > 0 {
		b.Points += points
		b.AddRun(&p.notes, p.index, from, index)
	}
	return index, true
}

// point parses the Sample or Histogram message b[i:] into the columns. from is the index of the first point of the
// same series.
func (p *Parser) point(b []byte, i, from int, isHistogram bool) bool {
	if isHistogram {
		return p.histogram(b[i:], from)
	}
	return p.sample(b, i, from)
}

// sample parses the Sample message b[i:] into the columns. from is the index of the first
// point of the same series.
func (p *Parser) sample(b []byte, i, from int) bool {
	var bits, ms uint64
	if len(b)-i > 10 && b[i] == sampleValue && b[i+9] == sampleTimestamp {
		bits = binary.LittleEndian.Uint64(b[i+1:])
		if ms, i = protobuf.Uvarint(b, i+10); i == scan.Failed {
			return false
		}
	}
	for i < len(b) {
		switch tag := b[i]; tag {
		case sampleValue:
			if i += 9; i > len(b) {
				return false
			}
			bits = binary.LittleEndian.Uint64(b[i-8:])
		case sampleTimestamp:
			ms, i = protobuf.Uvarint(b, i+1)
		default:
			i = protobuf.SkipField(b, i)
		}
		if i == scan.Failed {
			return false
		}
	}
	if !p.histograms {
		p.samples++
	}
	us, why := p.time(int64(ms))
	return p.add(from, us, math.Float64frombits(bits), special(bits), why)
}

// histogram parses a Histogram message into the columns. from is the index of the first point of the same series.
func (p *Parser) histogram(message []byte, from int) bool {
	b := p.batch
	p.histograms = true
	start := len(b.Unescaped)
	text, ms, err := nativehistogram.Append(b.Unescaped, message)
	if errors.Is(err, nativehistogram.ErrMalformed) {
		return false
	}
	us, why := p.time(ms)
	if err != nil && why == rejection.None {
		why = rejection.ValueHistogram
	}
	b.Unescaped = text
	return p.add(from, us, 0, scan.View(text[start:]), why)
}

// add appends a point to the columns: text, if it is not empty, and otherwise the value. why is the rule that it
// breaks.
func (p *Parser) add(from int, us int64, value float64, text string, why rejection.Reason) bool {
	c := &p.batch.Numbers
	position := len(c.Times) - from
	if position >= p.maxPoints-p.batch.Points {
		p.failTooMany()
		return false
	}
	if text != "" {
		p.notes.Strings = append(p.notes.Strings, block.StringEntry{Position: int32(position), Text: text})
	}
	if why != rejection.None {
		p.notes.Faults = append(p.notes.Faults, block.EntryFault{Position: int32(position), Reason: why})
	}
	c.Times, c.Values = append(c.Times, us), append(c.Values, value)
	return true
}

// special returns the text of a value that is not finite, "" for any other.
func special(bits uint64) string {
	const exponent, sign = 0x7ff << 52, 1 << 63
	switch {
	case bits&exponent != exponent:
		return ""
	case bits == StaleMarker:
		return pointblock.SpecialStale
	case bits == exponent:
		return pointblock.SpecialInf
	case bits == exponent|sign:
		return pointblock.SpecialMinusInf
	}
	return pointblock.SpecialNaN
}

// time converts milliseconds to microseconds and returns the rule that the time breaks.
func (p *Parser) time(ms int64) (us int64, why rejection.Reason) {
	switch {
	case ms < 0:
		return 0, rejection.TimeEarly
	case ms > p.batch.LatestUS/1000:
		return 0, rejection.TimeLate
	}
	return ms * 1000, rejection.None
}

// joinLabels copies the labels of the TimeSeries at b[i:end], which are not adjacent, to
// one slice. The fields have been validated already.
func (p *Parser) joinLabels(i, end int) []byte {
	b := p.batch
	from := len(b.Unescaped)
	for i < end {
		next := protobuf.SkipField(p.b[:end], i)
		if p.b[i] == seriesLabel {
			b.Unescaped = append(b.Unescaped, p.b[i:next]...)
		}
		i = next
	}
	return b.Unescaped[from:]
}
