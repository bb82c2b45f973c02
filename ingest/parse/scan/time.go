package scan

import (
	"encoding/binary"
	"math"
)

// Spans of time in microseconds.
const (
	secondUS = 1_000_000
	DayUS    = 86_400 * secondUS
)

// Unit is how integers count time: so many microseconds each, or so many to one.
type Unit struct {
	times, by uint64
	most      uint64 // beyond, the microseconds overflow
}

// The units of precision.
var (
	seconds      = Unit{times: secondUS, by: 1, most: math.MaxInt64 / secondUS}
	Milliseconds = Unit{times: 1000, by: 1, most: math.MaxInt64 / 1000}
	Microseconds = Unit{times: 1, by: 1, most: math.MaxInt64}
	Nanoseconds  = Unit{times: 1, by: 1000, most: math.MaxUint64}
	Minutes      = Unit{times: 60 * secondUS, by: 1, most: math.MaxInt64 / (60 * secondUS)}
	Hours        = Unit{times: 3600 * secondUS, by: 1, most: math.MaxInt64 / (3600 * secondUS)}
)

// UnitOf returns the unit of a precision.
func UnitOf(precision string) (Unit, bool) {
	switch precision {
	case "s":
		return seconds, true
	case "ms":
		return Milliseconds, true
	case "us":
		return Microseconds, true
	case "ns":
		return Nanoseconds, true
	}
	return Unit{}, false
}

// Micros turns an epoch into microseconds; what overflows becomes the largest
// time, which is out of any range.
func (u *Unit) Micros(epoch uint64) int64 {
	if epoch > u.most {
		return math.MaxInt64
	}
	if u.by != 1 {
		return int64(epoch / 1000) // nanoseconds; dividing by a constant is a multiplication
	}
	return int64(epoch * u.times)
}

// Calendar reads RFC 3339 times. It remembers the last date, because points of
// one request are mostly of one day.
type Calendar struct {
	high uint64 // the date's first eight characters
	low  uint16 // its last two
	days int64  // since 1970-01-01
}

// Parse returns the microseconds since 1970 of an RFC 3339 time; digits beyond the
// microsecond are cut off. Not ok is whatever does not have that form or is not a time:
// without zone, on the 30th of February, in a leap second.
func (c *Calendar) Parse(s []byte) (us int64, ok bool) {
	// 2006-01-02T15:04:05Z is the shortest.
	if len(s) < 20 || s[10]|0x20 != 't' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	high, low := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint16(s[8:])
	if high != c.high || low != c.low {
		days, ok := parseDate(s)
		if !ok {
			return 0, false
		}
		*c = Calendar{high: high, low: low, days: days}
	}
	hour, minute, second := twoDigits(s[11:]), twoDigits(s[14:]), twoDigits(s[17:])
	if hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	us = c.days*DayUS + int64(hour*3600+minute*60+second)*secondUS
	rest := s[19:]
	if rest[0] == '.' {
		fraction, end := parseFraction(rest[1:])
		if end == 0 {
			return 0, false
		}
		us += fraction
		rest = rest[1+end:]
	}
	if len(rest) == 1 && rest[0]|0x20 == 'z' {
		return us, true
	}
	offset, ok := parseOffset(rest)
	return us - offset, ok
}

// parseFraction reads the digits after the point as microseconds.
func parseFraction(s []byte) (us int64, end int) {
	weight := int64(secondUS / 10)
	for end < len(s) && s[end]-'0' <= 9 {
		us += int64(s[end]-'0') * weight
		weight /= 10
		end++
	}
	return us, end
}

// parseOffset reads a zone such as +01:00, as microseconds east.
func parseOffset(s []byte) (us int64, ok bool) {
	if len(s) != 6 || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	hours, minutes := twoDigits(s[1:]), twoDigits(s[4:])
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	us = int64(hours*3600+minutes*60) * secondUS
	if s[0] == '-' {
		us = -us
	}
	return us, true
}

// twoDigits returns the number that two digits write, 255 or more if they do not.
func twoDigits(s []byte) uint {
	a, b := uint(s[0]-'0'), uint(s[1]-'0')
	if a > 9 || b > 9 {
		return 255
	}
	return a*10 + b
}

// parseDate reads a date such as 2006-01-02 as days since 1970-01-01.
func parseDate(s []byte) (days int64, ok bool) {
	century, year, month, day := twoDigits(s), twoDigits(s[2:]), twoDigits(s[5:]), twoDigits(s[8:])
	if century > 99 || year > 99 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	year += century * 100
	if month < 1 || month > 12 || day < 1 || day > daysIn(month, year) {
		return 0, false
	}
	// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin
	// in March, so that the leap day is the last of a year.
	y, m := int64(year), int64(month)
	if m <= 2 {
		y--
		m += 12
	}
	y += 400 // keeps the divisions below above zero in the year 0
	dayOfYear := (153*(m-3)+2)/5 + int64(day) - 1
	return y*365 + y/4 - y/100 + y/400 + dayOfYear - 719468 - 146097, true
}

func daysIn(month, year uint) uint {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
