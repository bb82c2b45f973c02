package request

import (
	"regexp"
	"strings"
	"time"
)

// rfc3339 is the form of a time by the letter of RFC 3339. Package time also
// takes offsets up to 24:60, a comma before the fraction and hours of one digit.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// ParseTime reads a time in the form of RFC 3339.
func ParseTime(text string) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil && rfc3339.MatchString(text)
}

// Time gives a parameter that is an RFC 3339 time, in UTC; nil when it is absent.
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
