package request

import (
	"regexp"
	"strings"
	"time"
)

// rfc3339 is the form of a time by the letter of RFC 3339. Package time also
// takes offsets up to 24:60, a comma before the fraction and hours of one digit.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// The times that RFC 3339 can say in UTC, to the precision of the stores. By its offset a
// text can be up to a day beyond, where neither JSON nor every store can follow.
var (
	earliest = time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, time.December, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// ParseTime reads a time in the form of RFC 3339. What is beyond the years 0 to 9999 in UTC
// is the first or the last moment of these.
func ParseTime(text string) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err != nil || !rfc3339.MatchString(text):
		return at, false
	case at.Before(earliest):
		return earliest, true
	case at.After(latest):
		return latest, true
	}
	return at, true
}

// Time returns a parameter that is an RFC 3339 time, in UTC; nil when it is absent.
func (p *Params) Time(name string) *time.Time {
	text, given := p.String(name)
	if !given {
		return nil
	}
	at, ok := ParseTime(text)
	if !ok {
		problem := "must be an RFC 3339 time, such as 2026-11-21T07:40:08Z"
		if _, ok := ParseTime(strings.Replace(text, " ", "+", 1)); ok {
			problem += "; in a URL, + is written %2B"
		}
		p.Fail(name, problem)
	}
	at = at.UTC()
	return &at
}
