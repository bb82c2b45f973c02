package ingest

import (
	"encoding/binary"
	"fmt"
	"math"

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

// staleMarker is the NaN by which Prometheus says that a series has ended, see
// its package model/value.
const staleMarker = 0x7ff0000000000002

// RemoteWriteTypes are the media types of Prometheus' remote write 1.0.
var RemoteWriteTypes = []string{"application/x-protobuf", "application/x-protobuf;proto=prometheus.WriteRequest"}

// promParser reads a remote write of Prometheus into a batch in one pass over the bytes.
type promParser struct {
	hooks     hooks
	cache     *promCache
	batch     *batch
	b         []byte // the body
	maxPoints int
	index     int // of the TimeSeries
	err       *fault.Error

	tags  []pointblock.Tag // of the labels that are being read
	notes notes            // of the TimeSeries that is being read
	names promNames        // of the last labels

	hits, misses int // labels that were in the cache, and others
}

func newPromParser(cache *promCache) *promParser {
	p := &promParser{cache: cache}
	p.hooks = hooks{
		blame: p.blame, listName: func() string { return "body" }, resolved: p.remember,
		read: func(l *label) { p.readPromLabels(l) },
	}
	p.notes.unindexed = true
	return p
}

// reset forgets the request.
func (p *promParser) reset() {
	clear(p.tags)
	p.notes.release()
	*p = promParser{hooks: p.hooks, cache: p.cache, tags: p.tags[:0], notes: p.notes}
}

// parse reads the batch's body, which is decompressed, as a remote
// write of Prometheus. Stale markers, exemplars and metadata are passed over;
// native histograms are rejected as points. Errors are Malformed for what is no
// such message, UnsupportedMedia for one of version 2, Invalid for too many
// points.
func (p *promParser) parse(b *batch, maxPoints int) error {
	b.hooks = p.hooks
	p.batch, p.b, p.maxPoints = b, b.body, maxPoints
	for i := 0; i < len(p.b); {
		tag := p.b[i]
		if tag == requestTimeSeries {
			from, end := bytesField(p.b, i+1)
			if end == failed || !p.timeSeries(from, end) {
				return p.explainRemoteWrite()
			}
			p.index++
			i = end
			continue
		}
		if i = skipField(p.b, i); i == failed {
			return p.explainRemoteWrite()
		}
		if tag == requestSymbols || tag == requestTimeSeriesV2 {
			return unsupportedVersion()
		}
	}
	return nil
}

func (p *promParser) explainRemoteWrite() error {
	if p.err != nil {
		return p.err
	}
	return fault.Field(fault.Malformed, "body", "is not a WriteRequest of Prometheus' remote write 1.0")
}

func (p *promParser) tooMany() {
	p.err = fault.Field(fault.Invalid, "body", fmt.Sprintf("must hold at most %d points in one request", p.maxPoints)).
		With("limit", p.maxPoints)
}

func unsupportedVersion() error {
	return fault.Field(fault.UnsupportedMedia, "Content-Type",
		"must be version 1.0 of Prometheus' remote write, not 2.0 (protobuf_message: prometheus.WriteRequest)",
		RemoteWriteTypes...)
}

// timeSeries reads the TimeSeries at b[i:end], its samples straight into the
// batch's columns.
func (p *promParser) timeSeries(i, end int) bool {
	b := p.batch
	from, histograms := len(b.numbers.ts), 0
	p.notes.reset()
	body, labels := p.b[:end], i
	for i < end && body[i] == seriesLabel {
		if _, i = bytesField(body, i+1); i == failed {
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
			if i = skipField(body, i); i == failed {
				return false
			}
			continue
		}
		at, next := bytesField(body, i+1)
		if next == failed || !p.sample(body[:next], at, from) {
			return false
		}
		i = next
	}
	points := len(b.numbers.ts) - from + histograms
	if points == 0 {
		return true
	}
	if points > p.maxPoints-b.points {
		p.tooMany()
		return false
	}
	if scattered {
		raw = p.gatherLabels(labels, end)
	}
	at, ok := p.promLabel(raw)
	if !ok {
		return false
	}
	b.points += points
	b.reject(valueHistogram, p.index, 0, histograms, &b.labels.list[at])
	b.addRun(&p.notes, p.index, from, at)
	return true
}

// sample reads the Sample that begins at b[i] and ends with b into the columns,
// whose points from an index on are of the same series.
func (p *promParser) sample(b []byte, i, from int) bool {
	var bits, ms uint64
	if len(b)-i > 10 && b[i] == sampleValue && b[i+9] == sampleTimestamp {
		bits = binary.LittleEndian.Uint64(b[i+1:])
		if ms, i = uvarint(b, i+10); i == failed {
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
		if i == failed {
			return false
		}
	}
	c := &p.batch.numbers
	position := len(c.ts) - from
	if bits == staleMarker {
		p.notes.absent = append(p.notes.absent, int32(position+len(p.notes.absent)))
		return true
	}
	if position >= p.maxPoints-p.batch.points {
		p.tooMany()
		return false
	}
	us, why := p.promTime(int64(ms))
	value := math.Float64frombits(bits)
	if why == accepted && (math.IsNaN(value) || math.IsInf(value, 0)) {
		why = valueNotFinite
	}
	if why != accepted {
		p.notes.faults = append(p.notes.faults, entryFault{position: int32(position), why: why})
	}
	c.ts, c.values = append(c.ts, us), append(c.values, value)
	return true
}

// promTime returns the microseconds of a time in milliseconds.
func (p *promParser) promTime(ms int64) (us int64, why reason) {
	switch {
	case ms < 0:
		return 0, timeEarly
	case ms > p.batch.latestUS/1000:
		return 0, timeLate
	}
	return ms * 1000, accepted
}

// gatherLabels puts together the labels of the TimeSeries at b[i:end] that do not
// stand one after the other. The fields have been read once already.
func (p *promParser) gatherLabels(i, end int) []byte {
	b := p.batch
	from := len(b.unescaped)
	for i < end {
		next := skipField(p.b[:end], i)
		if p.b[i] == seriesLabel {
			b.unescaped = append(b.unescaped, p.b[i:next]...)
		}
		i = next
	}
	return b.unescaped[from:]
}
