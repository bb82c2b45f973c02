package value

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// GroupHead is a series or a group in a query's answer, without its points.
type GroupHead struct {
	SourceID   *uuid.UUID        `json:"sourceId"`
	SourceName *string           `json:"sourceName"`
	Metric     *string           `json:"metric"`
	Kind       string            `json:"kind"`
	Unit       *string           `json:"unit"`
	Tags       map[string]string `json:"tags"`
	Columns    []string          `json:"columns"`
}

// KindName returns the name of a kind of value in answers.
func KindName(kind pointblock.Kind) string {
	if kind == pointblock.KindString {
		return "string"
	}
	return "number"
}

// AppendNumber appends the shortest decimal that parses to the same number, or null for NaN
// and infinities.
func AppendNumber(dst []byte, value float64) []byte {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return append(dst, "null"...)
	}
	if out, ok := appendDecimal(dst, value); ok {
		return out
	}
	format := byte('f')
	if size := math.Abs(value); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, value, format, -1, 64)
}

// AppendCell appends the value of a row in a column as JSON, or null if there is none.
func AppendCell(dst []byte, column timeseries.Column, i int) []byte {
	if column.Strings != nil {
		if text := column.Strings[i]; text != nil {
			dst, _ = jsontext.AppendQuote(dst, *text) // stored strings are valid UTF-8
			return dst
		}
		return append(dst, "null"...)
	}
	return AppendNumber(dst, column.Numbers[i])
}
