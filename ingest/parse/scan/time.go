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

// Unit is the unit of integer timestamps. A timestamp in microseconds is the integer times
// multiplier, divided by divisor.
type Unit struct {
	multiplier, divisor uint64
	max                 uint64 // larger integers overflow
}

// The units of precision.
var (
	seconds      = Unit{multiplier: secondUS, divisor: 1, max: math.MaxInt64 / secondUS}
	Milliseconds = Unit{multiplier: 1000, divisor: 1, max: math.MaxInt64 / 1000}
	Microseconds = Unit{multiplier: 1, divisor: 1, max: math.MaxInt64}
	Nanoseconds  = Unit{multiplier: 1, divisor: 1000, max: math.MaxUint64}
	Minutes      = Unit{multiplier: 60 * secondUS, divisor: 1, max: math.MaxInt64 / (60 * secondUS)}
	Hours        = Unit{multiplier: 3600 * secondUS, divisor: 1, max: math.MaxInt64 / (3600 * secondUS)}
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

// Micros converts an epoch timestamp into microseconds. On overflow it returns the largest
// int64, which is out of any range.
func (u *Unit) Micros(epoch uint64) int64 {
	if epoch > u.max {
		return math.MaxInt64
	}
	if u.divisor != 1 {
		return int64(epoch / 1000) // nanoseconds; dividing by a constant is a multiplication
	}
	return int64(epoch * u.multiplier)
}

// Calendar parses RFC 3339 times. It caches the last date, because the points of a
// request are mostly of one day.
type Calendar struct {
	high uint64 // the date's first eight characters
	low  uint16 // its last two
	days int64  // since 1970-01-01
}

// Parse returns the microseconds since 1970 of an RFC 3339 time. It truncates to the
// microsecond. It returns false if s is not an RFC 3339 time or not a valid time, for
// example without a zone, on the 30th of February, or in a leap second.
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
	suffix := s[19:]
	if suffix[0] == '.' {
		fraction, end := parseFraction(suffix[1:])
		if end == 0 {
			return 0, false
		}
		us += fraction
		suffix = suffix[1+end:]
	}
	if len(suffix) == 1 && suffix[0]|0x20 == 'z' {
		return us, true
	}
	offset, ok := parseOffset(suffix)
	return us - offset, ok
}

// parseFraction parses the digits after the decimal point as microseconds.
func parseFraction(s []byte) (us int64, end int) {
	weight := int64(secondUS / 10)
	for end < len(s) && s[end]-'0' <= 9 {
		us += int64(s[end]-'0') * weight
		weight /= 10
		end++
	}
	return us, end
}

// parseOffset parses a zone such as +01:00 as microseconds east of UTC.
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

// twoDigits returns the value of two digits, or 255 if one of the bytes is not a digit.
func twoDigits(s []byte) uint {
	a, b := uint(s[0]-'0'), uint(s[1]-'0')
	if a > 9 || b > 9 {
		return 255
	}
	return a*10 + b
}

// parseDate parses a date such as 2006-01-02 as days since 1970-01-01.
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
	y += 400 // keeps the dividends below positive in the year 0
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
