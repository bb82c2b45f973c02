package pointblock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"unicode/utf8"
)

// checkIdentity validates the series' kind, metric and tags.
func (s *Span) checkIdentity(kind uint64) error {
	if kind < uint64(KindNumber) || kind > uint64(KindSpecial) {
		return fmt.Errorf("kind %d is unknown", kind)
	}
	s.Kind = Kind(kind)
	if s.metric.size == 0 {
		return errors.New("the metric is missing")
	}
	var previous []byte
	for raw, i := s.content.bytes(s.tags), 0; len(raw) > 0; i++ {
		key, _, rest, err := nextTag(raw)
		if err != nil {
			return fmt.Errorf("tags[%d]: %w", i, err)
		}
		if i > 0 && string(key) <= string(previous) {
			return fmt.Errorf("tags[%d]: keys are not sorted and unique", i)
		}
		previous, raw = key, rest
	}
	return nil
}

// checkPoints validates the points and sets their number and time bounds.
func (s *Span) checkPoints() error {
	if err := s.checkTimes(); err != nil {
		return err
	}
	if s.Kind != KindNumber {
		return s.checkStrings()
	}
	if s.strings.size > 0 {
		return errors.New("a series of numbers has texts")
	}
	if s.decimal {
		return s.checkDecimals()
	}
	values := s.content.bytes(s.values)
	if len(values) != 8*s.Count {
		return fmt.Errorf("%d timestamps have %d bytes of values", s.Count, len(values))
	}
	for i := 0; i+8 <= len(values); i += 8 {
		const exponent = 0x7ff << 52 // if all bits are set, the value is infinite or NaN
		if binary.LittleEndian.Uint64(values[i:])&exponent == exponent {
			return fmt.Errorf("values[%d] is not finite", i/8)
		}
	}
	return nil
}

// checkTimes validates the timestamps and sets their number and bounds.
func (s *Span) checkTimes() error {
	ts, count := uint64(0), 0
	unit, maxDelta := uint64(s.unit), MaxTimestampUS/uint64(s.unit)
	for b := s.content.bytes(s.deltas); len(b) > 0; count++ {
		d, n := readVarint(b)
		if n == 0 {
			return fmt.Errorf("timestamps[%d] is not a varint", count)
		}
		b = b[n:]
		if d > maxDelta || ts+d*unit > MaxTimestampUS {
			return fmt.Errorf("timestamps[%d] is beyond the year 2299", count)
		}
		if d == 0 && count > 0 {
			return fmt.Errorf("timestamps[%d] is not above the previous one", count)
		}
		ts += d * unit
		if count == 0 {
			s.FirstUS = int64(ts)
		}
	}
	if count == 0 {
		return errors.New("the series has no points")
	}
	s.LastUS, s.Count = int64(ts), count
	return nil
}

func (s *Span) checkStrings() error {
	if s.values.size > 0 {
		return errors.New("a series of texts has numbers")
	}
	count := 0
	for b := s.content.bytes(s.strings); len(b) > 0; count++ {
		_, text, _, rest, err := nextField(b)
		if err != nil {
			return err
		}
		if !utf8.Valid(text) {
			return fmt.Errorf("texts[%d] is not UTF-8", count)
		}
		b = rest
	}
	if count != s.Count {
		return fmt.Errorf("%d timestamps have %d texts", s.Count, count)
	}
	return nil
}

// nextTag decodes the first of the encoded tags and returns the rest.
func nextTag(raw []byte) (key, value, rest []byte, err error) {
	_, b, _, rest, err := nextField(raw)
	if err != nil {
		return nil, nil, nil, err
	}
	for len(b) > 0 {
		tag, payload, _, remaining, err := nextField(b)
		if err != nil {
			return nil, nil, nil, err
		}
		b = remaining
		if (tag == tagKey || tag == tagValue) && !utf8.Valid(payload) {
			return nil, nil, nil, errors.New("a string is not UTF-8")
		}
		switch tag {
		case tagKey:
			key = payload
		case tagValue:
			value = payload
		}
	}
	return key, value, rest, nil
}

func errIDLength(what string, b []byte) error {
	return fmt.Errorf("%s has %d bytes, not %d", what, len(b), uuidBytes)
}

// idSet is a hash table that detects duplicate series in a record. The multiplier is random, so that
// chosen ids cannot cause many collisions.
type idSet struct {
	slots      []int32 // index of a span, plus one
	multiplier uint64
}

// findDuplicate returns the index of the first span whose series also has an earlier span.
func (set *idSet) findDuplicate(spans []Span) (int, bool) {
	if len(spans) < 2 {
		return 0, false
	}
	if set.multiplier == 0 {
		// It is seeded by the system, which is sufficient against chosen ids that collide.
		set.multiplier = rand.Uint64() | 1 //nolint:gosec // G404: no secret
	}
	width := bits.Len(uint(2*len(spans) - 1))
	if size := 1 << width; cap(set.slots) < size {
		set.slots = make([]int32, size)
	} else {
		set.slots = set.slots[:size]
		clear(set.slots)
	}
	for i := range spans {
		slot := int(spans[i].SeriesID * set.multiplier >> (64 - width))
		for ; set.slots[slot] != 0; slot = (slot + 1) & (len(set.slots) - 1) {
			if spans[set.slots[slot]-1].SeriesID == spans[i].SeriesID {
				return i, true
			}
		}
		set.slots[slot] = int32(i + 1)
	}
	return 0, false
}
