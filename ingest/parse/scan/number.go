package scan

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// Outcome is the result of parsing a token.
type Outcome uint8

// The outcomes.
const (
	OK         Outcome = iota
	Syntax             // not a JSON number
	Range              // a number beyond the range of float64 or uint64
	NotInteger         // a number with fraction or exponent instead of an integer
)

// MaxExactDigits is the number of decimal digits that always fit into a uint64.
const MaxExactDigits = 19

// Number parses the JSON number at b[i:], rounded to the nearest float64 like
// strconv.ParseFloat, and returns the index of its end. The caller must check
// what follows.
func Number(b []byte, i int) (value float64, end int, outcome Outcome) {
	first := i
	negative := i < len(b) && b[i] == '-'
	if negative {
		first++
	}
	value, end = shortNumber(b, first)
	switch {
	case end == first:
		return longNumber(b, i)
	case negative:
		return -value, end, OK
	}
	return value, end, OK
}

// shortNumber parses a number without sign and exponent that ends within eight bytes, as most measurements do. It
// reads the eight bytes at once, because a branch predictor cannot predict the number of digits of a measurement. It
// returns i as the end of any other text.
func shortNumber(b []byte, i int) (value float64, end int) {
	if i+8 > len(b) {
		return 0, i
	}
	w, nonDigits := eightBytes(b[i:])
	whole := uint(bits.TrailingZeros64(nonDigits)) / 8 // 8 if all are digits
	if whole-1 > 6 || whole > 1 && b[i] == '0' {
		return 0, i
	}
	next := b[i+int(whole)]
	if next == '.' {
		nonDigits &= nonDigits - 1
		length := uint(bits.TrailingZeros64(nonDigits)) / 8
		fraction := length - whole - 1
		if length == 8 || fraction == 0 || b[i+int(length)]|0x20 == 'e' {
			return 0, i
		}
		below := uint64(1)<<(8*whole) - 1
		w = w&below | w>>8&^below // without the decimal point
		return float64(eightDigitValue(w<<(72-8*length))) / exactPowers[fraction], i + int(length)
	}
	if next|0x20 == 'e' {
		return 0, i
	}
	return float64(eightDigitValue(w << (64 - 8*whole))), i + int(whole)
}

// eightBytes returns the first eight bytes of b, digits as 0 to 9, and the high bit of each byte that is not a digit.
func eightBytes(b []byte) (w, nonDigits uint64) {
	w = binary.LittleEndian.Uint64(b) ^ 0x3030303030303030
	return w, ((w & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676 | w) & 0x8080808080808080
}

// longNumber parses any JSON number.
func longNumber(b []byte, i int) (value float64, end int, outcome Outcome) {
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
			return 0, i, Range // at least 1e309; strconv would allocate an error
		}
	}
	value, err := strconv.ParseFloat(View(b[start:i]), 64)
	if err != nil {
		return 0, i, Range
	}
	return value, i, OK
}

// Digits appends the decimal digits at b[i:] to a mantissa and returns it with the
// index of their end. The mantissa is correct only if it does not overflow. Digits
// reads eight bytes at a time and finally shifts out those that are not digits,
// because a branch predictor cannot predict the number of digits of a measurement.
func Digits(b []byte, i int, mantissa uint64) (uint64, int) {
	for i+8 <= len(b) {
		w, nonDigits := eightBytes(b[i:])
		if nonDigits != 0 {
			n := uint(bits.TrailingZeros64(nonDigits)) / 8
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

// eightDigitValue returns the value of eight digits. Each byte of w is a digit, the first
// digit in the lowest byte. Multiplications combine pairs, then fours, then all digits.
func eightDigitValue(w uint64) uint64 {
	w = w*10 + w>>8
	const mask = 0x000000ff000000ff
	return ((w&mask)*(100+1_000_000<<32) + (w>>16&mask)*(1+10_000<<32)) >> 32
}

// readExponent parses the exponent of a number, after the e. An exponent of more than
// six significant digits is not exact, but its magnitude is at least 100,000.
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

// scale returns mantissa * 10^exponent, correctly rounded. It returns false if it cannot
// guarantee the rounding.
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
// Second" (2021), as in strconv, for the exponents that are usual in measurements.
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
		return 0, false // halfway between two floats
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

// Integer parses the JSON integer at b[i:]. A negative integer other than -0 is
// out of range.
func Integer(b []byte, i int) (value uint64, end int, outcome Outcome) {
	start := i
	if i < len(b) && b[i] == '-' {
		i++
	}
	value, end = Digits(b, i, 0)
	if end == i || end-i > 1 && b[i] == '0' {
		return 0, i, Syntax
	}
	if end < len(b) && (b[end] == '.' || b[end]|0x20 == 'e') {
		if _, end, outcome = Number(b, start); outcome == Syntax {
			return 0, end, Syntax
		}
		return 0, end, NotInteger
	}
	if end-i > MaxExactDigits || i > start && value != 0 {
		return 0, end, Range
	}
	return value, end, OK
}

// Epochs parses integers like Integer. It caches the first eight digits, which consecutive timestamps mostly have in
// common.
type Epochs struct {
	bytes uint64 // the digits
	value uint64 // of them; 0: none are cached
}

// Integer parses the JSON integer at b[i:]. A negative integer other than -0 is out of range.
func (e *Epochs) Integer(b []byte, i int) (value uint64, end int, outcome Outcome) {
	if i+16 > len(b) {
		return Integer(b, i)
	}
	bytes := binary.LittleEndian.Uint64(b[i:])
	if bytes == e.bytes && e.value != 0 {
		w, nonDigits := eightBytes(b[i+8:])
		n := uint(bits.TrailingZeros64(nonDigits)) / 8
		if end = i + 8 + int(n); n < 8 && b[end] != '.' && b[end]|0x20 != 'e' {
			return e.value*smallPowers[n] + eightDigitValue(w<<(64-8*n)), end, OK
		}
	}
	value, end, outcome = Integer(b, i)
	if outcome == OK && end-i >= 8 {
		e.bytes = bytes
		e.value, _ = Digits(b[i:i+8], 0, 0)
	}
	return value, end, outcome
}
