package scan

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// Outcome is how reading a token ended.
type Outcome uint8

// How reading ends.
const (
	OK         Outcome = iota
	Syntax             // no JSON number
	Range              // a number beyond float64 or beyond uint64
	NotInteger         // a number with fraction or exponent where an integer is due
)

// MaxExactDigits is how many decimal digits always fit into a uint64.
const MaxExactDigits = 19

// Number reads the JSON number at b[i:], rounded to the nearest float64 as
// strconv.ParseFloat does, and returns where it ends. What follows is the caller's
// to check.
func Number(b []byte, i int) (value float64, end int, out Outcome) {
	start := i
	negative := i < len(b) && b[i] == '-'
	if negative {
		i++
	}
	mantissa, next := Digits(b, i, 0)
	digits := next - i
	if digits == 0 || digits > 1 && b[i] == '0' {
		return 0, i, Syntax
	}
	i = next
	exponent := 0
	if i < len(b) && b[i] == '.' {
		i++
		mantissa, next = Digits(b, i, mantissa)
		if next == i {
			return 0, i, Syntax
		}
		exponent = i - next
		digits += next - i
		i = next
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		e, after, ok := readExponent(b, i+1)
		if !ok {
			return 0, i, Syntax
		}
		exponent += e
		i = after
	}
	if digits <= MaxExactDigits {
		if value, ok := scale(mantissa, exponent, negative); ok {
			return value, i, OK
		}
		if mantissa != 0 && exponent > 308 {
			return 0, i, Range // at least 1e309; strconv would make an error of it
		}
	}
	value, err := strconv.ParseFloat(View(b[start:i]), 64)
	if err != nil {
		return 0, i, Range
	}
	return value, i, OK
}

// Digits adds the decimal digits at b[i:] to a mantissa, which is only right
// as long as it fits, and returns where they end. It takes eight bytes at a time,
// and at the end shifts out those that are no digits, because how many digits a
// measurement has is nothing that a branch predictor can know.
func Digits(b []byte, i int, mantissa uint64) (uint64, int) {
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:]) ^ 0x3030303030303030 // digits become 0 to 9
		others := ((w & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676 | w) & 0x8080808080808080
		if others != 0 {
			n := uint(bits.TrailingZeros64(others)) / 8
			return mantissa*smallPowers[n&7] + eightDigitValue(w<<(64-8*n)), i + int(n)
		}
		mantissa = mantissa*100_000_000 + eightDigitValue(w)
		i += 8
	}
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		mantissa = mantissa*10 + uint64(d)
	}
	return mantissa, i
}

var smallPowers = [8]uint64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000}

// eightDigitValue returns the number of eight digits, each the value of a byte, the
// first in the lowest: pairs, then fours, then all are joined by multiplications.
func eightDigitValue(w uint64) uint64 {
	w = w*10 + w>>8
	const mask = 0x000000ff000000ff
	return ((w&mask)*(100+1_000_000<<32) + (w>>16&mask)*(1+10_000<<32)) >> 32
}

// readExponent reads what follows the e of a number. Beyond five digits the
// value means any that large.
func readExponent(b []byte, i int) (exponent, end int, ok bool) {
	negative := false
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		negative = b[i] == '-'
		i++
	}
	start := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if exponent < 100_000 {
			exponent = exponent*10 + int(b[i]-'0')
		}
	}
	if negative {
		exponent = -exponent
	}
	return exponent, i, i > start
}

// scale returns mantissa * 10^exponent, correctly rounded. It answers not ok where
// it cannot be sure.
func scale(mantissa uint64, exponent int, negative bool) (float64, bool) {
	if mantissa < 1<<53 && -maxExactPower <= exponent && exponent <= maxExactPower {
		value := float64(mantissa) // exact, like the powers: one rounding (Clinger)
		if exponent < 0 {
			value /= exactPowers[-exponent]
		} else {
			value *= exactPowers[exponent]
		}
		if negative {
			value = -value
		}
		return value, true
	}
	return eiselLemire(mantissa, exponent, negative)
}

// eiselLemire is the algorithm of Lemire, "Number Parsing at a Gigabyte per
// Second" (2021), as strconv has it, for the exponents that measurements have.
func eiselLemire(mantissa uint64, exponent int, negative bool) (float64, bool) {
	if mantissa == 0 || exponent < minPower || exponent > maxPower {
		return 0, false
	}
	power := &powers[exponent-minPower]
	zeros := bits.LeadingZeros64(mantissa)
	mantissa <<= zeros
	const bias = 1023
	exponent2 := uint64(217706*exponent>>16+64+bias) - uint64(zeros)
	high, low := bits.Mul64(mantissa, power[0])
	if high&0x1ff == 0x1ff && low+mantissa < mantissa {
		high2, low2 := bits.Mul64(mantissa, power[1])
		mergedHigh, mergedLow := high, low+high2
		if mergedLow < low {
			mergedHigh++
		}
		if mergedHigh&0x1ff == 0x1ff && mergedLow+1 == 0 && low2+mantissa < mantissa {
			return 0, false
		}
		high, low = mergedHigh, mergedLow
	}
	msb := high >> 63
	result := high >> (msb + 9)
	exponent2 -= 1 ^ msb
	if low == 0 && high&0x1ff == 0 && result&3 == 1 {
		return 0, false // half-way between two
	}
	result += result & 1
	result >>= 1
	if result>>53 > 0 {
		result >>= 1
		exponent2++
	}
	if exponent2-1 >= 0x7ff-1 {
		return 0, false // subnormal or infinite
	}
	value := math.Float64frombits(exponent2<<52 | result&(1<<52-1))
	if negative {
		value = -value
	}
	return value, true
}

// Integer reads the JSON integer at b[i:]. A negative one that is not 0 is
// out of range.
func Integer(b []byte, i int) (value uint64, end int, out Outcome) {
	start := i
	if i < len(b) && b[i] == '-' {
		i++
	}
	value, end = Digits(b, i, 0)
	if end == i || end-i > 1 && b[i] == '0' {
		return 0, i, Syntax
	}
	if end < len(b) && (b[end] == '.' || b[end]|0x20 == 'e') {
		if _, end, out = Number(b, start); out == Syntax {
			return 0, end, Syntax
		}
		return 0, end, NotInteger
	}
	if end-i > MaxExactDigits || i > start && value != 0 {
		return 0, end, Range
	}
	return value, end, OK
}
