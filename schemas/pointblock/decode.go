package pointblock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// Record is a decoded record. It is made to be kept and decoded into again.
type Record struct {
	Workspace    uuid.UUID
	ReceivedAtUS int64 // microseconds since the Unix epoch
	Spans        []Span
	Deletions    []Deletion

	seen idSet
}

// Span is one series of a record: its identity, the bounds of its points, and
// the points themselves, still encoded. It refers to the record's bytes.
type Span struct {
	SeriesID    uint64
	Fingerprint Fingerprint
	Source      uuid.UUID
	Metric      []byte
	TagsRaw     []byte // the tags' fields as they are on the wire, see Tags
	Kind        Kind
	decimal     bool   // values are integers, see checkDecimals
	scale       uint8  // their decimals
	unit        uint32 // microseconds that the deltas count, at least 1
	FirstUS     int64  // time of the first point, microseconds since the Unix epoch
	LastUS      int64  // time of the last
	Count       int    // points, at least one

	deltas []byte // packed varints
	values []byte // packed doubles of a KindNumber, or zigzag varints if they are decimal
	texts  []byte // the fields of a KindString's texts
}

// Decode reads the value of a record into a Record and checks all of it, so that
// nothing that is done with it later can fail: every length, ids of 16 bytes,
// text in UTF-8, tags sorted and unique, times from 0 to MaxTimestampUS and
// strictly increasing, as many values as times, finite numbers, no series twice.
// Fields in any order, unpacked fields and unknown fields are read like any
// protobuf library reads them. Whatever the bytes are, Decode takes memory only
// in proportion to them, and answers what it does not understand with an error.
func Decode(value []byte, into *Record) error {
	into.Spans, into.Deletions = into.Spans[:0], into.Deletions[:0]
	into.ReceivedAtUS = 0
	var workspace []byte
	for b := value; len(b) > 0; {
		tag, payload, bits, rest, err := next(b)
		if err != nil {
			return fmt.Errorf("pointblock: %w", err)
		}
		b = rest
		switch tag {
		case recordWorkspace:
			workspace = payload
		case recordReceivedAt:
			into.ReceivedAtUS = int64(bits)
		case recordSeries:
			if len(into.Spans) == cap(into.Spans) {
				into.Spans = slices.Grow(into.Spans, moreSpans(len(into.Spans), len(value)-len(b), len(value)))
			}
			into.Spans = append(into.Spans, Span{})
			if err := decodeSpan(payload, &into.Spans[len(into.Spans)-1]); err != nil {
				return fmt.Errorf("pointblock: series[%d]: %w", len(into.Spans)-1, err)
			}
		case recordDeletion:
			d, err := decodeDeletion(payload)
			if err != nil {
				return fmt.Errorf("pointblock: deletions[%d]: %w", len(into.Deletions), err)
			}
			into.Deletions = append(into.Deletions, d)
		}
	}
	if len(workspace) != uuidBytes {
		return fmt.Errorf("pointblock: %w", errIDLength("workspace id", workspace))
	}
	into.Workspace = uuid.UUID(workspace)
	if i, twice := into.seen.repeated(into.Spans); twice {
		return fmt.Errorf("pointblock: series[%d]: the series is in the record twice", i)
	}
	return nil
}

// moreSpans reports how many spans to make room for when there is none left: as many as
// the rest of the record has if it is like what was read. Spans are large, and to find
// out by doubling leaves more behind than is kept.
func moreSpans(have, read, size int) int {
	const some = 16 // from so many on it is known what they are like
	if have < some {
		return max(have, 1)
	}
	rest := float64(size-read) * float64(have+1) / float64(read) // the next one is read already
	return int(rest*1.03) + some
}

// decodeSpan reads and checks one series.
func decodeSpan(b []byte, s *Span) error {
	if err := readSpan(b, s); err != nil {
		return err
	}
	return s.checkPoints()
}

// readSpan reads one series and checks its identity. Its points are not looked at,
// nor their number and bounds known.
func readSpan(b []byte, s *Span) error {
	var fingerprint, source []byte
	var tags, texts region
	var small smallColumns
	kind, message := uint64(0), b
	for len(b) > 0 {
		tag, payload, bits, rest, err := next(b)
		if err != nil {
			return err
		}
		start, end := len(message)-len(b), len(message)-len(rest)
		b = rest
		switch tag {
		case seriesID:
			s.SeriesID = bits
		case seriesFingerprint:
			fingerprint = payload
		case seriesSource:
			source = payload
		case seriesMetric:
			if s.Metric = payload; !utf8.Valid(payload) {
				return errors.New("metric is not UTF-8")
			}
		case seriesTag:
			tags.add(message, start, end)
		case seriesKind:
			kind = uint64(uint32(bits)) // enums are 32 bits
		case seriesDeltas:
			s.deltas = extend(s.deltas, payload)
		case seriesDelta:
			s.deltas = protowire.AppendVarint(s.deltas, bits)
		case seriesValues:
			s.values = extend(s.values, payload)
		case seriesValue:
			s.values = binary.LittleEndian.AppendUint64(s.values, bits)
		case seriesText:
			texts.add(message, start, end)
		default:
			small.take(tag, payload, bits)
		}
	}
	if err := s.pack(&small); err != nil {
		return err
	}
	if len(fingerprint) != uuidBytes {
		return errIDLength("fingerprint", fingerprint)
	}
	if len(source) != uuidBytes {
		return errIDLength("source id", source)
	}
	s.Fingerprint, s.Source = Fingerprint(fingerprint), uuid.UUID(source)
	s.TagsRaw, s.texts = tags.bytes, texts.bytes
	return s.checkIdentity(kind)
}

// smallColumns are the columns that may be there instead of others, as they are on the wire.
type smallColumns struct {
	decimals, multiples []byte // of numbers, and of times
	scale, unit         uint64
}

// take takes a field, if it is of one of them.
func (c *smallColumns) take(tag byte, payload []byte, bits uint64) {
	switch tag {
	case seriesDecimals:
		c.decimals = extend(c.decimals, payload)
	case seriesDecimal:
		c.decimals = protowire.AppendVarint(c.decimals, bits)
	case seriesScale:
		c.scale = uint64(uint32(bits)) // as protobuf libraries read an uint32
	case seriesUnitDeltas:
		c.multiples = extend(c.multiples, payload)
	case seriesUnitDelta:
		c.multiples = protowire.AppendVarint(c.multiples, bits)
	case seriesUnit:
		c.unit = uint64(uint32(bits))
	}
}

// pack takes the columns that may be there instead of others.
func (s *Span) pack(c *smallColumns) error {
	s.unit = 1
	switch {
	case len(c.decimals) > 0 && len(s.values) > 0:
		return errors.New("a series has values and decimals")
	case len(c.decimals) > 0 && c.scale > maxScale:
		return fmt.Errorf("the decimal scale %d is above %d", c.scale, maxScale)
	case len(c.multiples) > 0 && len(s.deltas) > 0:
		return errors.New("a series has times in microseconds and in units")
	case len(c.multiples) > 0 && c.unit == 0:
		return errors.New("the unit of timestamps is missing")
	}
	if len(c.decimals) > 0 {
		s.values, s.scale, s.decimal = c.decimals, uint8(c.scale), true
	}
	if len(c.multiples) > 0 {
		s.deltas, s.unit = c.multiples, uint32(c.unit)
	}
	return nil
}

// extend appends what a further packed field holds. The first is kept as it is
// in the record; its capacity ends with it, so that appending copies.
func extend(have, more []byte) []byte {
	if len(have) == 0 {
		return more[:len(more):len(more)]
	}
	return append(have, more...)
}

// region collects repeated fields: as a part of the message while they follow
// each other, else as a copy.
type region struct {
	bytes []byte
	end   int // where it ends in the message; -1 once it is a copy
}

func (r *region) add(message []byte, start, end int) {
	switch {
	case r.bytes == nil:
		r.bytes, r.end = message[start:end:end], end
	case r.end == start:
		r.bytes, r.end = message[start-len(r.bytes):end:end], end
	default:
		r.bytes, r.end = append(r.bytes, message[start:end]...), -1
	}
}
