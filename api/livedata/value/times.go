// Package value parses and formats single values of the live-data routes: times, durations,
// numbers, kinds.
package value

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Day is 24 hours.
const Day = 24 * time.Hour

const timeForms = "must be an RFC 3339 time, epoch milliseconds, now, or relative such as -15m (s, m, h, d, w)"

// ParseTime parses a time of a query and returns it in microseconds since the Unix epoch. A
// time outside the range that can be stored becomes the nearest one inside: a time before
// 1970 becomes 1970.
func ParseTime(text string, now time.Time) (us int64, problem string) {
	if rest, ok := strings.CutPrefix(text, "now"); ok {
		if rest == "" {
			return now.UnixMicro(), ""
		}
		text = rest
	}
	if age, ok := strings.CutPrefix(text, "-"); ok {
		d, ok := ParseDuration(age, "smhdw")
		if !ok {
			return 0, timeForms
		}
		return Storable(now.Add(-d).UnixMicro()), ""
	}
	if isDigits(text) {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ms > time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).UnixMilli() {
			return 0, "is beyond the year 9999; epoch times are in milliseconds"
		}
		return Storable(ms * 1000), ""
	}
	at, ok := request.ParseTime(text)
	if !ok {
		problem := timeForms
		if _, ok := request.ParseTime(strings.Replace(text, " ", "+", 1)); ok {
			problem += "; in a URL, + is written %2B"
		}
		return 0, problem
	}
	return Storable(at.UnixMicro()), ""
}

// Storable returns the nearest time that can be stored.
func Storable(us int64) int64 { return min(max(us, 0), pointblock.MaxTimestampUS+1) }

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

var unitLength = map[byte]time.Duration{
	's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': Day, 'w': 7 * Day,
}

// ParseDuration parses a positive whole number and one of the units. A longer duration than
// Go can represent becomes the longest one, 292 years.
func ParseDuration(text, units string) (time.Duration, bool) {
	if len(text) < 2 || !isDigits(text[:len(text)-1]) || !strings.Contains(units, text[len(text)-1:]) {
		return 0, false
	}
	unit := unitLength[text[len(text)-1]]
	n, err := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * unit, n > 0
}

// FormatDuration formats a duration in the largest unit, up to days, that divides it.
func FormatDuration(d time.Duration) string {
	for _, unit := range []byte("dhm") {
		if length := unitLength[unit]; d%length == 0 {
			return strconv.FormatInt(int64(d/length), 10) + string(unit)
		}
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// Clock formats timestamps. It caches the last date, because most timestamps of an answer are
// of one day. This takes a third of the time of the layouts of package time.
type Clock struct {
	day  int64 // days since the Unix epoch
	date []byte
}

const (
	secondUS = int64(1_000_000)
	dayUS    = 24 * 60 * 60 * secondUS
)

// AppendTimestamp appends a timestamp as JSON: an RFC 3339 string, or in the
// epoch's unit, when there is one.
func (c *Clock) AppendTimestamp(dst []byte, us int64, epoch string) []byte {
	switch epoch {
	case "ms":
		return strconv.AppendInt(dst, us/1000, 10)
	case "us":
		return strconv.AppendInt(dst, us, 10)
	case "ns":
		dst = strconv.AppendInt(dst, us, 10)
		if us == 0 {
			return dst
		}
		return append(dst, "000"...) // the product would overflow after the year 2262
	}
	return append(c.Append(append(dst, '"'), us), '"')
}

// Append appends a time as RFC 3339 in UTC, with microseconds without trailing zeros.
func (c *Clock) Append(dst []byte, us int64) []byte {
	days, rest := us/dayUS, us%dayUS
	if rest < 0 {
		days, rest = days-1, rest+dayUS
	}
	if c.date == nil || days != c.day {
		c.day = days
		c.date = time.UnixMicro(days*dayUS).UTC().AppendFormat(c.date[:0], "2006-01-02T")
	}
	seconds, micros := rest/secondUS, rest%secondUS
	dst = append(dst, c.date...)
	dst = append(appendTwo(dst, seconds/3600), ':')
	dst = append(appendTwo(dst, seconds/60%60), ':')
	dst = appendTwo(dst, seconds%60)
	if micros != 0 {
		var digits [7]byte
		for i := 6; i > 0; i-- {
			digits[i], micros = byte('0'+micros%10), micros/10
		}
		digits[0] = '.'
		dst = append(dst, bytes.TrimRight(digits[:], "0")...)
	}
	return append(dst, 'Z')
}

func appendTwo(dst []byte, n int64) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }
