package pointblock

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Sensors measure with few decimals. A series whose numbers all have few is written as
// integers and the power of ten that they are to be divided by: their differences are
// small, so that a number takes a byte or two instead of eight. What is read is the very
// double that was written: both the integer and the power are doubles without error, and
// so their quotient is the double that is nearest to the decimal number (as is what
// parsed it).
const (
	// mostDecimals is what the encoder tries, and maxScale what a record may have.
	mostDecimals = 7
	maxScale     = 15
	// maxInteger is up to which all integers are doubles.
	maxInteger = 1 << 53
	// fewPoints is up to how many a series is written as it is: there is little to save.
	fewPoints = 3
)

var powersOfTen = [maxScale + 1]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
}

// packDecimals writes values as integers with as few decimals as they need into dst, whose
// memory it keeps using, and reports whether they can be written so, and in less than they are.
func packDecimals(dst []byte, values []float64) (packed []byte, scale int, ok bool) {
	if len(values) <= fewPoints {
		return dst[:0], 0, false
	}
	dst = slices.Grow(dst[:0], len(values)*binary.MaxVarintLen64)
	for scale := range mostDecimals + 1 {
		if n := putScaled(dst[:cap(dst)], values, powersOfTen[scale]); n > 0 {
			return dst[:n], scale, n < 8*len(values)-4
		}
	}
	return dst, 0, false
}

// putScaled writes the differences of values times a power, and gives how many bytes they
// are; 0: one of them divided by the power is not the value again.
func putScaled(b []byte, values []float64, power float64) (n int) {
	previous := int64(0)
	for _, v := range values {
		scaled := v * power
		if !(scaled >= -maxInteger && scaled <= maxInteger) {
			return 0
		}
		integer := int64(math.RoundToEven(scaled))
		// Its bits, because of the negative zero.
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

// checkDecimals checks the integers of a span that has them instead of doubles.
func (s *Span) checkDecimals() error {
	integer, count := int64(0), 0
	for b := s.values; len(b) > 0; count++ {
		u, n := readVarint(b)
		if n == 0 {
			return fmt.Errorf("decimals[%d] is no varint", count)
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

// appendFromDecimals appends the numbers of a span that has integers.
func (s *Span) appendFromDecimals(dst []float64) []float64 {
	n := len(dst)
	dst = slices.Grow(dst, s.Count)[:n+s.Count]
	out, power := dst[n:], powersOfTen[s.scale]
	b, integer := s.values, int64(0)
	for i := range out {
		u, size := readVarint(b)
		integer += unzigzag(u)
		out[i] = float64(integer) / power
		b = b[size:]
	}
	return dst
}

// Units of times, in microseconds. Most clocks tick in one of them.
const (
	second      = 1_000_000
	millisecond = 1_000
)

// unitOf returns the largest unit of which all times are multiples.
func unitOf(ts []int64) int64 {
	if len(ts) <= fewPoints {
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

// inUnits returns how often the unit is in a difference that is a multiple of it. Division
// by a constant is a multiplication.
func inUnits(d, unit int64) uint64 {
	switch unit {
	case second:
		return uint64(d) / second
	case millisecond:
		return uint64(d) / millisecond
	}
	return uint64(d)
}
