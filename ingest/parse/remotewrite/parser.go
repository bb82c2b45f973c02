package remotewrite

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// What is read of prometheus.WriteRequest, the message of Prometheus' remote
// write 1.0 (https://prometheus.io/docs/specs/prw/remote_write_spec/): its tags,
// each a field's number and wire type in one byte.
const (
	requestTimeSeries   = 1<<3 | wireBytes
	requestSymbols      = 4<<3 | wireBytes // of version 2 only, as the next
	requestTimeSeriesV2 = 5<<3 | wireBytes
	seriesLabel         = 1<<3 | wireBytes
	seriesSample        = 2<<3 | wireBytes
	seriesHistogram     = 4<<3 | wireBytes
	labelName           = 1<<3 | wireBytes
	labelValue          = 2<<3 | wireBytes
	sampleValue         = 1<<3 | wireFixed64
	sampleTimestamp     = 2<<3 | wireVarint
)

// StaleMarker is the NaN by which Prometheus marks the end of a series, see
// its package model/value.
const StaleMarker = 0x7ff0000000000002

// MediaTypes are the media types of Prometheus' remote write 1.0.
var MediaTypes = []string{"application/x-protobuf", "application/x-protobuf;proto=prometheus.WriteRequest"}

// Parser reads a remote write of Prometheus into a batch in one pass over the bytes.
type Parser struct {
	hooks     block.Hooks
	cache     *Cache
	batch     *block.Batch
	b         []byte // the body
	maxPoints int
	index     int // of the TimeSeries
	err       *fault.Error

	tags  []pointblock.Tag // of the labels that are being read
	notes block.Notes      // of the TimeSeries that is being read
	names lastSource       // of the last labels

	Hits, Misses int // labels that were in the cache, and others
}

// New creates a parser that finds the label sets of earlier requests in the cache.
func New(cache *Cache) *Parser {
	p := &Parser{cache: cache}
	p.hooks = block.Hooks{
		Blame: p.blame, ListName: func() string { return "body" }, Resolved: p.remember,
		Read: func(l *block.Label) { p.readLabels(l) },
	}
	p.notes.Unindexed = true
	return p
}

// Reset forgets the request.
func (p *Parser) Reset() {
	clear(p.tags)
	p.notes.Release()
	*p = Parser{hooks: p.hooks, cache: p.cache, tags: p.tags[:0], notes: p.notes}
}

// Parse reads the batch's body, which is decompressed, as a remote
// write of Prometheus. Stale markers, exemplars and metadata are passed over;
// native histograms are rejected as points. Errors are Malformed for what is no
// such message, UnsupportedMedia for one of version 2, Invalid for too many
// points.
func (p *Parser) Parse(b *block.Batch, maxPoints int) error {
	b.Hooks = p.hooks
	p.batch, p.b, p.maxPoints = b, b.Body, maxPoints
	for i := 0; i < len(p.b); {
		tag := p.b[i]
		if tag == requestTimeSeries {
			from, end := bytesField(p.b, i+1)
			if end == scan.Failed || !p.timeSeries(from, end) {
				return p.explainRemoteWrite()
			}
			p.index++
			i = end
			continue
		}
		if i = skipField(p.b, i); i == scan.Failed {
			return p.explainRemoteWrite()
		}
		if tag == requestSymbols || tag == requestTimeSeriesV2 {
			return unsupportedVersion()
		}
	}
	return nil
}

func (p *Parser) explainRemoteWrite() error {
	if p.err != nil {
		return p.err
	}
	return fault.Field(fault.Malformed, "body", "is not a WriteRequest of Prometheus' remote write 1.0")
}

func (p *Parser) tooMany() {
	p.err = fault.Field(fault.Invalid, "body", fmt.Sprintf("must hold at most %d points in one request", p.maxPoints)).
		With("limit", p.maxPoints)
}

func unsupportedVersion() error {
	return fault.Field(fault.UnsupportedMedia, "Content-Type",
		"must be version 1.0 of Prometheus' remote write, not 2.0 (protobuf_message: prometheus.WriteRequest)",
		MediaTypes...)
}

// timeSeries reads the TimeSeries at b[i:end], its samples straight into the
// batch's columns.
func (p *Parser) timeSeries(i, end int) bool {
	b := p.batch
	from, histograms := len(b.Numbers.Times), 0
	p.notes.Reset()
	body, labels := p.b[:end], i
	for i < end && body[i] == seriesLabel {
		if _, i = bytesField(body, i+1); i == scan.Failed {
			return false
		}
	}
	raw, scattered := body[labels:i], false
	for i < end {
		tag := body[i]
		if tag != seriesSample {
			scattered = scattered || tag == seriesLabel
			if tag == seriesHistogram {
				histograms++
			}
			if i = skipField(body, i); i == scan.Failed {
				return false
			}
			continue
		}
		at, next := bytesField(body, i+1)
		if next == scan.Failed || !p.sample(body[:next], at, from) {
			return false
		}
		i = next
	}
	points := len(b.Numbers.Times) - from + histograms
	if points == 0 {
		return true
	}
	if points > p.maxPoints-b.Points {
		p.tooMany()
		return false
	}
	if scattered {
		raw = p.gatherLabels(labels, end)
	}
	at, ok := p.label(raw)
	if !ok {
		return false
	}
	b.Points += points
	b.Reject(rejection.ValueHistogram, p.index, 0, histograms, &b.Labels.List[at])
	b.AddRun(&p.notes, p.index, from, at)
	return true
}

// sample reads the Sample that begins at b[i] and ends with b into the columns,
// whose points from an index on are of the same series.
func (p *Parser) sample(b []byte, i, from int) bool {
	var bits, ms uint64
	if len(b)-i > 10 && b[i] == sampleValue && b[i+9] == sampleTimestamp {
		bits = binary.LittleEndian.Uint64(b[i+1:])
		if ms, i = uvarint(b, i+10); i == scan.Failed {
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
			ms, i = uvarint(b, i+1)
		default:
			i = skipField(b, i)
		}
		if i == scan.Failed {
			return false
		}
	}
	c := &p.batch.Numbers
	position := len(c.Times) - from
	if bits == StaleMarker {
		p.notes.Absent = append(p.notes.Absent, int32(position+len(p.notes.Absent)))
		return true
	}
	if position >= p.maxPoints-p.batch.Points {
		p.tooMany()
		return false
	}
	us, why := p.time(int64(ms))
	value := math.Float64frombits(bits)
	if why == rejection.None && (math.IsNaN(value) || math.IsInf(value, 0)) {
		why = rejection.ValueNotFinite
	}
	if why != rejection.None {
		p.notes.Faults = append(p.notes.Faults, block.EntryFault{Position: int32(position), Why: why})
	}
	c.Times, c.Values = append(c.Times, us), append(c.Values, value)
	return true
}

// time returns the microseconds of a time in milliseconds.
func (p *Parser) time(ms int64) (us int64, why rejection.Reason) {
	switch {
	case ms < 0:
		return 0, rejection.TimeEarly
	case ms > p.batch.LatestUS/1000:
		return 0, rejection.TimeLate
	}
	return ms * 1000, rejection.None
}

// gatherLabels puts together the labels of the TimeSeries at b[i:end] that are not
// adjacent. The fields have been read once already.
func (p *Parser) gatherLabels(i, end int) []byte {
	b := p.batch
	from := len(b.Unescaped)
	for i < end {
		next := skipField(p.b[:end], i)
		if p.b[i] == seriesLabel {
			b.Unescaped = append(b.Unescaped, p.b[i:next]...)
		}
		i = next
	}
	return b.Unescaped[from:]
}
