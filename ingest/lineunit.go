package ingest

import "slices"

// linePrecisions are the units in which timestamps of Lines may be.
var linePrecisions = []string{"n", "ns", "u", "us", "µs", "ms", "s", "m", "h"}

// lineUnitNames lists the units in which timestamps may be, as clients of InfluxDB name them.
func lineUnitNames() []string { return slices.Clone(linePrecisions) }

// lineUnitOf returns the unit of a precision as clients of InfluxDB name it.
func lineUnitOf(precision string) (unit, bool) {
	switch precision {
	case "", "n":
		return nanoseconds, true
	case "u", "µs", "μs": // the micro sign, and the Greek letter
		return microseconds, true
	case "m":
		return minutes, true
	case "h":
		return hours, true
	}
	return unitOf(precision)
}
