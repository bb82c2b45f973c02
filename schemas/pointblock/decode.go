package pointblock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Record is a decoded record. It can be reused for further calls of Decode. It refers to the bytes of the
// value until Release.
type Record struct {
	Workspace    uuid.UUID
	ReceivedAtUS int64 // microseconds since the Unix epoch
	Spans        []Span
	Deletions    []Deletion
	Exemplars    []Span // of series of KindSpecial; the texts are those of package exemplar

	seen    idSet
	content *content // of all spans
}

// content is the bytes to which the spans of a record refer.
type content struct {
	value  []byte // the encoded record
	copies []byte // fields that are not contiguous in value
}

// piece is a range of a content: of its value, or of its copies, which begin at the offset at which the
// value ends.
type piece struct{ offset, size uint32 }

// bytes returns the bytes of a piece.
func (c *content) bytes(p piece) []byte {
	from, all := int(p.offset), c.value
	if from >= len(all) {
		from, all = from-len(all), c.copies
	}
	end := from + int(p.size)
	return all[from:end:end]
}

// Span is one series of a record: its identity, the bounds of its points, and the encoded points. It
// is valid as long as its record is neither reused nor released.
//
// Live sensors send records of many spans, each with one point. So a span contains positions in the
// record instead of slices, which would take twice the memory and occupy the garbage collector.
type Span struct {
	SeriesID    uint64
	Fingerprint Fingerprint
	Source      uuid.UUID
	FirstUS     int64 // time of the first point, microseconds since the Unix epoch
	LastUS      int64 // time of the last point
	Count       int   // number of points, at least one
	content     *content
	metric      piece
	tags        piece  // encoded fields
	deltas      piece  // packed varints
	values      piece  // packed doubles of a KindNumber, or zigzag varints if decimal is set
	strings     piece  // encoded fields with the texts of the other kinds
	unit        uint32 // unit of the deltas in microseconds, at least 1
	Kind        Kind
	decimal     bool  // values are integers, see checkDecimals
	scale       uint8 // decimals of the integers
}

// begin prepares the record for another value.
func (r *Record) begin(value []byte) {
	r.Spans, r.Deletions, r.Exemplars, r.ReceivedAtUS = r.Spans[:0], r.Deletions[:0], r.Exemplars[:0], 0
	if r.content == nil {
		r.content = &content{}
	}
	r.content.value, r.content.copies = value, r.content.copies[:0]
}

// Release removes the spans, the deletions and the references to the value. The memory is kept for the next
// call of Decode.
func (r *Record) Release() {
	r.begin(nil)
	r.Deletions, r.Exemplars = nil, nil
}

// Decode decodes the value of a record and validates it completely, so that later operations on it
// cannot fail. It requires valid lengths, ids of 16 bytes, UTF-8 strings, sorted and unique tags,
// strictly increasing times from 0 to MaxTimestampUS, as many values as times, finite numbers, and
// unique series. It accepts fields in any order, unpacked fields and unknown fields like other
// protobuf libraries. For any input, Decode allocates memory only in proportion to its size and
// returns an error if it is invalid.
func Decode(value []byte, into *Record) error {
	into.begin(value)
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
			base := len(value) - len(b) - len(payload)
			if err := into.Spans[len(into.Spans)-1].decode(into.content, payload, base); err != nil {
				return fmt.Errorf("pointblock: series[%d]: %w", len(into.Spans)-1, err)
			}
		case recordDeletion:
			d, err := decodeDeletion(payload)
			if err != nil {
				return fmt.Errorf("pointblock: deletions[%d]: %w", len(into.Deletions), err)
			}
			into.Deletions = append(into.Deletions, d)
		case recordExemplars:
			if err := into.addExemplars(payload, len(value)-len(b)-len(payload)); err != nil {
				return fmt.Errorf("pointblock: exemplars[%d]: %w", len(into.Exemplars)-1, err)
			}
		}
	}
	if len(workspace) != uuidBytes {
		return fmt.Errorf("pointblock: %w", errIDLength("workspace id", workspace))
	}
	into.Workspace = uuid.UUID(workspace)
	if i, duplicate := into.seen.findDuplicate(into.Spans); duplicate {
		return fmt.Errorf("pointblock: series[%d]: the series is in the record twice", i)
	}
	if i, duplicate := into.seen.findDuplicate(into.Exemplars); duplicate {
		return fmt.Errorf("pointblock: exemplars[%d]: the series is in the record twice", i)
	}
	return nil
}

// addExemplars decodes and validates the exemplars of a series at an offset of the value.
func (r *Record) addExemplars(message []byte, offset int) error {
	r.Exemplars = append(r.Exemplars, Span{})
	span := &r.Exemplars[len(r.Exemplars)-1]
	if err := span.decode(r.content, message, offset); err != nil {
		return err
	}
	if span.Kind != KindSpecial {
		return fmt.Errorf("kind %d is not that of exemplars", span.Kind)
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

// decode decodes and validates the series at an offset of the value.
func (s *Span) decode(c *content, message []byte, offset int) error {
	if err := s.read(c, message, offset); err != nil {
		return err
	}
	return s.checkPoints()
}

// read decodes the series at an offset of the value and validates its identity. It does not validate the
// points or set their number and bounds.
func (s *Span) read(c *content, message []byte, offset int) error {
	s.content = c
	var (
		fingerprint, source           []byte
		tags, strings, deltas, values field
		packed                        packedColumns
		kind                          uint64
	)
	for b := message; len(b) > 0; {
		tag, payload, bits, rest, err := nextField(b)
		if err != nil {
			return err
		}
		end := offset + len(message) - len(rest)
		whole := piece{uint32(end - len(b) + len(rest)), uint32(len(b) - len(rest))}
		payloadAt := piece{uint32(end - len(payload)), uint32(len(payload))}
		b = rest
		switch tag {
		case seriesID:
			s.SeriesID = bits
		case seriesFingerprint:
			fingerprint = payload
		case seriesSource:
			source = payload
		case seriesMetric:
			if s.metric = payloadAt; !utf8.Valid(payload) {
				return errors.New("metric is not UTF-8")
			}
		case seriesTag:
			tags.add(c, whole)
		case seriesKind:
			kind = uint64(uint32(bits)) // enums are 32 bits
		case seriesDeltas:
			deltas.add(c, payloadAt)
		case seriesDelta:
			deltas.addVarint(c, bits)
		case seriesValues:
			values.add(c, payloadAt)
		case seriesValue:
			values.addBytes(c, binary.LittleEndian.AppendUint64(nil, bits))
		case seriesText:
			strings.add(c, whole)
		default:
			packed.add(c, tag, payloadAt, bits)
		}
	}
	s.deltas, s.values = deltas.store(c), values.store(c)
	if err := s.setPacked(&packed); err != nil {
		return err
	}
	if err := s.setIDs(fingerprint, source); err != nil {
		return err
	}
	s.tags, s.strings = tags.store(c), strings.store(c)
	return s.checkIdentity(kind)
}

func (s *Span) setIDs(fingerprint, source []byte) error {
	if len(fingerprint) != uuidBytes {
		return errIDLength("fingerprint", fingerprint)
	}
	if len(source) != uuidBytes {
		return errIDLength("source id", source)
	}
	s.Fingerprint, s.Source = Fingerprint(fingerprint), uuid.UUID(source)
	return nil
}

// packedColumns contains the encoded columns that may replace doubles and times in microseconds.
type packedColumns struct {
	decimals, unitDeltas field // numbers and times
	scale, unit          uint64
}

// add adds a field to its column. It ignores other fields.
func (p *packedColumns) add(c *content, tag byte, payload piece, bits uint64) {
	switch tag {
	case seriesDecimals:
		p.decimals.add(c, payload)
	case seriesDecimal:
		p.decimals.addVarint(c, bits)
	case seriesScale:
		p.scale = uint64(uint32(bits)) // protobuf libraries truncate to uint32, too
	case seriesUnitDeltas:
		p.unitDeltas.add(c, payload)
	case seriesUnitDelta:
		p.unitDeltas.addVarint(c, bits)
	case seriesUnit:
		p.unit = uint64(uint32(bits))
	}
}

// setPacked sets the columns of the span to the packed ones that are present.
func (s *Span) setPacked(p *packedColumns) error {
	s.unit = 1
	decimals, unitDeltas := p.decimals.store(s.content), p.unitDeltas.store(s.content)
	switch {
	case decimals.size > 0 && s.values.size > 0:
		return errors.New("a series has values and decimals")
	case decimals.size > 0 && p.scale > maxScale:
		return fmt.Errorf("the decimal scale %d is above %d", p.scale, maxScale)
	case unitDeltas.size > 0 && s.deltas.size > 0:
		return errors.New("a series has times in microseconds and in units")
	case unitDeltas.size > 0 && p.unit == 0:
		return errors.New("the unit of timestamps is missing")
	}
	if decimals.size > 0 {
		s.values, s.scale, s.decimal = decimals, uint8(p.scale), true
	}
	if unitDeltas.size > 0 {
		s.deltas, s.unit = unitDeltas, uint32(p.unit)
	}
	return nil
}

// field joins the occurrences of a field in a series. It copies them only if they are not contiguous.
type field struct {
	first piece
	copy  []byte // of all occurrences, instead of first
}

func (f *field) add(c *content, more piece) {
	switch {
	case more.size == 0:
	case f.copy == nil && f.first.size == 0:
		f.first = more
	case f.copy == nil && f.first.offset+f.first.size == more.offset:
		f.first.size += more.size
	default:
		f.addBytes(c, c.bytes(more))
	}
}

func (f *field) addBytes(c *content, more []byte) {
	if f.copy == nil {
		f.copy = append(f.copy, c.bytes(f.first)...)
	}
	f.copy = append(f.copy, more...)
}

func (f *field) addVarint(c *content, bits uint64) {
	f.addBytes(c, binary.AppendUvarint(nil, bits))
}

// store returns where the bytes of the field are in the content. It adds them to the copies if necessary.
func (f *field) store(c *content) piece {
	if f.copy == nil {
		return f.first
	}
	p := piece{uint32(len(c.value) + len(c.copies)), uint32(len(f.copy))}
	c.copies = append(c.copies, f.copy...)
	return p
}
