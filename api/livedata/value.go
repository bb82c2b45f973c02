package livedata

import (
	"math"
	"strconv"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// kindName returns the name of a kind of value in answers.
func kindName(kind pointblock.Kind) string {
	if kind == pointblock.KindString {
		return "string"
	}
	return "number"
}

// appendNumber appends the shortest decimal that reads back as the same number,
// null for what is no number.
func appendNumber(dst []byte, value float64) []byte {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if size := math.Abs(value); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, value, format, -1, 64)
}
