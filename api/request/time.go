package request

import (
	"regexp"
	"strings"
	"time"
)

// rfc3339 is the exact form of RFC 3339. Package time also accepts offsets up to 24:60,
// a comma before the fraction and hours of one digit.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// The first and the last time that RFC 3339 can represent in UTC, with the precision of the
// stores. A text with an offset can be up to a day outside of these, which JSON and some
// stores cannot represent.
var (
	earliest = time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, time.December, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// ParseTime parses an RFC 3339 time. Times outside of the years 0 to 9999 in UTC are
// replaced by the first or the last time of these years.
func ParseTime(text string) (t time.Time, ok bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err != nil || !rfc3339.MatchString(text):
		return t, false
	case t.Before(earliest):
		return earliest, true
	case t.After(latest):
		return latest, true
	}
	return t, true
}

// Time returns a parameter that is an RFC 3339 time, in UTC, or nil if it is absent.
func (p *Params) Time(name string) *time.Time {
	text, given := p.String(name)
	if !given {
		return nil
	}
	t, ok := ParseTime(text)
	if !ok {
		problem := "must be an RFC 3339 time, such as 2026-11-21T07:40:08Z"
		if _, ok := ParseTime(strings.Replace(text, " ", "+", 1)); ok {
			problem += "; in a URL, + is written %2B"
		}
		p.Fail(name, problem)
	}
	t = t.UTC()
	return &t
}
