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

// Record is a decoded record. It can be reused for further calls of Decode.
type Record struct {
	Workspace    uuid.UUID
	ReceivedAtUS int64 // microseconds since the Unix epoch
	Spans        []Span
	Deletions    []Deletion

	seen idSet
}

// Span is one series of a record: its identity, the bounds of its points, and the encoded points. It
// refers to the record's bytes.
type Span struct {
	SeriesID    uint64
	Fingerprint Fingerprint
	Source      uuid.UUID
	Metric      []byte
	TagsRaw     []byte // encoded tag fields, see Tags
	Kind        Kind
	decimal     bool   // values are integers, see checkDecimals
	scale       uint8  // decimals of the integers
	unit        uint32 // unit of the deltas in microseconds, at least 1
	FirstUS     int64  // time of the first point, microseconds since the Unix epoch
	LastUS      int64  // time of the last point
	Count       int    // number of points, at least one

	deltas       []byte // packed varints
	values       []byte // packed doubles of a KindNumber, or zigzag varints if decimal is set
	stringFields []byte // encoded fields with the strings of a KindString
}

// Decode decodes the value of a record and validates it completely, so that later operations on it
// cannot fail. It requires valid lengths, ids of 16 bytes, UTF-8 strings, sorted and unique tags,
// strictly increasing times from 0 to MaxTimestampUS, as many values as times, finite numbers, and
// unique series. It accepts fields in any order, unpacked fields and unknown fields like other
// protobuf libraries. For any input, Decode allocates memory only in proportion to its size and
// returns an error if it is invalid.
func Decode(value []byte, into *Record) error {
	into.Spans, into.Deletions = into.Spans[:0], into.Deletions[:0]
	into.ReceivedAtUS = 0
	var workspace []byte
	for b := value; len(b) > 0; {
		tag, payload, bits, rest, err := nextField(b)
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
				into.Spans = slices.Grow(into.Spans, spansToGrow(len(into.Spans), len(value)-len(b), len(value)))
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
	if i, duplicate := into.seen.findDuplicate(into.Spans); duplicate {
		return fmt.Errorf("pointblock: series[%d]: the series is in the record twice", i)
	}
	return nil
}

// spansToGrow returns how many spans to allocate when the capacity is exhausted. It estimates the number
// in the remaining bytes from the bytes read so far. Spans are large, and growing by doubling would
// allocate more garbage than the final slice.
func spansToGrow(have, read, size int) int {
	const minSample = 16 // number of spans required for an estimate
	if have < minSample {
		return max(have, 1)
	}
	remaining := float64(size-read) * float64(have+1) / float64(read) // the next span has already been read
	return int(remaining*1.03) + minSample
}

// decodeSpan decodes and validates one series.
func decodeSpan(b []byte, s *Span) error {
	if err := readSpan(b, s); err != nil {
		return err
	}
	return s.checkPoints()
}

// readSpan decodes one series and validates its identity. It does not validate the points or set their
// number and bounds.
func readSpan(b []byte, s *Span) error {
	var fingerprint, source []byte
	var tags, texts region
	var packed packedColumns
	kind, message := uint64(0), b
	for len(b) > 0 {
		tag, payload, bits, rest, err := nextField(b)
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
			packed.add(tag, payload, bits)
		}
	}
	if err := s.setPacked(&packed); err != nil {
		return err
	}
	if len(fingerprint) != uuidBytes {
		return errIDLength("fingerprint", fingerprint)
	}
	if len(source) != uuidBytes {
		return errIDLength("source id", source)
	}
	s.Fingerprint, s.Source = Fingerprint(fingerprint), uuid.UUID(source)
	s.TagsRaw, s.stringFields = tags.bytes, texts.bytes
	return s.checkIdentity(kind)
}

// packedColumns contains the encoded columns that may replace doubles and times in microseconds.
type packedColumns struct {
	decimals, unitDeltas []byte // numbers and times
	scale, unit          uint64
}

// add appends a field to its column. It ignores other fields.
func (c *packedColumns) add(tag byte, payload []byte, bits uint64) {
	switch tag {
	case seriesDecimals:
		c.decimals = extend(c.decimals, payload)
	case seriesDecimal:
		c.decimals = protowire.AppendVarint(c.decimals, bits)
	case seriesScale:
		c.scale = uint64(uint32(bits)) // protobuf libraries truncate to uint32, too
	case seriesUnitDeltas:
		c.unitDeltas = extend(c.unitDeltas, payload)
	case seriesUnitDelta:
		c.unitDeltas = protowire.AppendVarint(c.unitDeltas, bits)
	case seriesUnit:
		c.unit = uint64(uint32(bits))
	}
}

// setPacked sets the columns of the span to the packed ones that are present.
func (s *Span) setPacked(c *packedColumns) error {
	s.unit = 1
	switch {
	case len(c.decimals) > 0 && len(s.values) > 0:
		return errors.New("a series has values and decimals")
	case len(c.decimals) > 0 && c.scale > maxScale:
		return fmt.Errorf("the decimal scale %d is above %d", c.scale, maxScale)
	case len(c.unitDeltas) > 0 && len(s.deltas) > 0:
		return errors.New("a series has times in microseconds and in units")
	case len(c.unitDeltas) > 0 && c.unit == 0:
		return errors.New("the unit of timestamps is missing")
	}
	if len(c.decimals) > 0 {
		s.values, s.scale, s.decimal = c.decimals, uint8(c.scale), true
	}
	if len(c.unitDeltas) > 0 {
		s.deltas, s.unit = c.unitDeltas, uint32(c.unit)
	}
	return nil
}

// extend appends the content of another packed field. The first one is not copied; its capacity is
// limited to its length, so that appending copies it.
func extend(have, more []byte) []byte {
	if len(have) == 0 {
		return more[:len(more):len(more)]
	}
	return append(have, more...)
}

// region collects repeated fields. While they are contiguous, it refers to the message, otherwise to a
// copy.
type region struct {
	bytes []byte
	end   int // end in the message; -1 for a copy
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
