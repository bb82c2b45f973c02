package pointblock

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Sensors measure with few decimals. If all numbers of a series have few decimals, it is encoded as
// integers and the power of ten to divide them by. Their differences are small, so a number takes one
// or two bytes instead of eight. Decoding returns exactly the encoded doubles: the integer and the
// power are exact doubles, so their quotient is the double nearest to the decimal number, as is the
// result of parsing it.
const (
	// maxEncodedScale is the maximum number of decimals that the encoder tries, and maxScale the
	// maximum that a record may have.
	maxEncodedScale = 7
	maxScale        = 15
	// maxInteger is the limit up to which all integers are exact doubles.
	maxInteger = 1 << 53
	// maxPlainPoints is the maximum number of points of a series that is always encoded as
	// microseconds and doubles, because other encodings would save little.
	maxPlainPoints = 3
)

var powersOfTen = [maxScale + 1]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
}

// packDecimals encodes values as integers with as few decimals as necessary. It reuses the memory of
// dst. ok is whether the values can be encoded so and the result is smaller than doubles.
func packDecimals(dst []byte, values []float64) (packed []byte, scale int, ok bool) {
	if len(values) <= maxPlainPoints {
		return dst[:0], 0, false
	}
	dst = slices.Grow(dst[:0], len(values)*binary.MaxVarintLen64)
	for scale := range maxEncodedScale + 1 {
		if n := putScaled(dst[:cap(dst)], values, powersOfTen[scale]); n > 0 {
			return dst[:n], scale, n < 8*len(values)-4
		}
	}
	return dst, 0, false
}

// putScaled writes the differences of the values multiplied by power into b. It returns the number of
// bytes, or 0 if dividing one of the integers by power does not result in its value.
func putScaled(b []byte, values []float64, power float64) (n int) {
	previous := int64(0)
	for _, v := range values {
		scaled := v * power
		if !(scaled >= -maxInteger && scaled <= maxInteger) {
			return 0
		}
		integer := int64(math.RoundToEven(scaled))
		// Compare bits because of the negative zero.
		if math.Float64bits(float64(integer)/power) != math.Float64bits(v) {
			return 0
		}
		n = putVarint(b, n, zigzag(integer-previous))
		previous = integer
	}
	return n
}

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// checkDecimals validates the integers of a span that is encoded as decimals.
func (s *Span) checkDecimals() error {
	integer, count := int64(0), 0
	for b := s.content.bytes(s.values); len(b) > 0; count++ {
		u, n := readVarint(b)
		if n == 0 {
			return fmt.Errorf("decimals[%d] is not a varint", count)
		}
		b = b[n:]
		d := unzigzag(u)
		if d < -2*maxInteger || d > 2*maxInteger {
			return fmt.Errorf("decimals[%d] is too large", count)
		}
		if integer += d; integer < -maxInteger || integer > maxInteger {
			return fmt.Errorf("decimals[%d] is too large", count)
		}
	}
	if count != s.Count {
		return fmt.Errorf("%d timestamps have %d decimals", s.Count, count)
	}
	return nil
}

// appendFromDecimals appends the numbers of a span that is encoded as decimals.
func (s *Span) appendFromDecimals(dst []float64) []float64 {
	n := len(dst)
	dst = slices.Grow(dst, s.Count)[:n+s.Count]
	out, power := dst[n:], powersOfTen[s.scale]
	b, integer := s.content.bytes(s.values), int64(0)
	for i := range out {
		u, size := readVarint(b)
		integer += unzigzag(u)
		out[i] = float64(integer) / power
		b = b[size:]
	}
	return dst
}

// Units of times, in microseconds. Most clocks have one of these resolutions.
const (
	second      = 1_000_000
	millisecond = 1_000
)

// unitOf returns the largest unit that all times are multiples of.
func unitOf(ts []int64) int64 {
	if len(ts) <= maxPlainPoints {
		return 1
	}
	unit, previous, last := int64(second), int64(0), int64(0)
	for _, t := range ts {
		d := t - previous
		previous = t
		if d == last {
			continue
		}
		last = d
		if unit == second && d%second != 0 {
			unit = millisecond
		}
		if unit == millisecond && d%millisecond != 0 {
			return 1
		}
	}
	return unit
}

// inUnits returns d divided by unit. It divides by constants, which compiles to multiplications.
func inUnits(d, unit int64) uint64 {
	switch unit {
	case second:
		return uint64(d) / second
	case millisecond:
		return uint64(d) / millisecond
	}
	return uint64(d)
}
