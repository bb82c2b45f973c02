package lineprotocol

import (
	"slices"

	"github.com/livegraph/livegraph/ingest/parse/scan"
)

// precisions are the valid precisions.
var precisions = []string{"n", "ns", "u", "us", "µs", "ms", "s", "m", "h"}

// Precisions returns the valid timestamp precisions, as clients of InfluxDB name them.
func Precisions() []string { return slices.Clone(precisions) }

// UnitOf returns the unit of a precision, as clients of InfluxDB name it.
func UnitOf(precision string) (scan.Unit, bool) {
	switch precision {
	case "", "n":
		return scan.Nanoseconds, true
	case "u", "µs", "μs": // the micro sign, and the Greek letter
		return scan.Microseconds, true
	case "m":
		return scan.Minutes, true
	case "h":
		return scan.Hours, true
	}
	return scan.UnitOf(precision)
}
