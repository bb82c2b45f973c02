package query

import (
	"time"
	_ "time/tzdata"

	"github.com/livegraph/livegraph/api/livedata/value"
)

// Bounds of a query's interval.
const (
	minInterval = time.Second
	maxInterval = 30 * value.Day
)

// parseInterval parses the length of a query's buckets.
func parseInterval(text string) (interval time.Duration, problem string) {
	d, ok := value.ParseDuration(text, "smhd")
	if !ok || d < minInterval || d > maxInterval {
		return 0, "must be a whole number and a unit (s, m, h, d), from 1s to 30d, or auto"
	}
	return d, ""
}

// parseZone parses the name of a time zone of the IANA database.
func parseZone(name string) (zone *time.Location, problem string) {
	zone, err := time.LoadLocation(name)
	// LoadLocation also accepts "", which is UTC, and "Local", the zone of this machine.
	if err != nil || name == "" || name == "Local" {
		return time.UTC, "must be a time zone of the IANA database, such as Europe/Berlin"
	}
	return zone, ""
}
