package value

import (
	"math"
	"strconv"
)

const (
	decimalPlaces = 4
	decimalScale  = 1e4
	// maxDecimal bounds the scaled number to 15 digits. Two decimals of at most 15 digits never parse to the same
	// float64, so a decimal of that length that parses to the number is its only one, and so the shortest.
	maxDecimal = 1e15
)

// appendDecimal appends a number that has at most four decimal places and 15 digits, as sensors send them, and
// reports whether the number is one. It writes the same as strconv.AppendFloat in half of the time.
func appendDecimal(dst []byte, value float64) ([]byte, bool) {
	scaled := math.RoundToEven(value * decimalScale)
	if !(scaled > -maxDecimal && scaled < maxDecimal) || scaled/decimalScale != value || value == 0 {
		return dst, false
	}
	n := int64(scaled)
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	whole, fraction := n/decimalScale, n%decimalScale
	dst = strconv.AppendInt(dst, whole, 10)
	if fraction == 0 {
		return dst, true
	}
	var digits [1 + decimalPlaces]byte
	digits[0] = '.'
	used := 0
	for i := decimalPlaces; i > 0; i-- {
		digit := byte(fraction % 10)
		fraction /= 10
		digits[i] = '0' + digit
		if digit != 0 && used == 0 {
			used = i
		}
	}
	return append(dst, digits[:used+1]...), true
}
