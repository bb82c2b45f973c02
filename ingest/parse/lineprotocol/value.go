package lineprotocol

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// value parses the value at b[i] into a column, or records the rule that it breaks. It
// returns the index of the value's end, or failed.
func (p *Parser) value(label int32, i int) int {
	if i < len(p.b) && p.b[i] == '"' {
		return p.stringValue(label, i)
	}
	number, end, out := scan.Number(p.b, i)
	if out == scan.Syntax || !valueEnds(p.b, end) {
		if number, end, out = readNonJSONValue(p.b, i, number, end, out); out == scan.Syntax {
			p.invalidField = p.fieldName(label)
			return p.fail(rejection.LineValue)
		}
	}
	b := p.batch
	why := b.Labels.List[label].Refused
	if out == scan.Range && why == rejection.None {
		why = rejection.ValueRange
	}
	if why != rejection.None {
		p.faults = append(p.faults, fieldFault{label: label, why: why})
		return end
	}
	b.Numbers.Label = append(b.Numbers.Label, label)
	b.Numbers.Values = append(b.Numbers.Values, number)
	return end
}

// valueEnds reports whether b[i] ends a value.
func valueEnds(b []byte, i int) bool {
	if i == len(b) {
		return true
	}
	c := b[i]
	return c == ',' || c == ' ' || c == '\n' || c == '\r'
}

// readNonJSONValue parses a boolean, or a number in a form that JSON does not have. number,
// end and out are the result of parsing it as a JSON number.
func readNonJSONValue(b []byte, i int, number float64, end int, out scan.Outcome) (float64, int, scan.Outcome) {
	if out == scan.OK && (b[end] == 'i' || b[end] == 'u') && valueEnds(b, end+1) {
		digits := i
		if b[i] == '-' {
			digits++
		}
		// Up to 18 digits are within the range of both kinds of integer.
		if _, after := scan.Digits(b, digits, 0); after == end && end-digits <= 18 && (digits == i || b[end] == 'i') {
			return number, end + 1, scan.OK
		}
	}
	end = i
	for !valueEnds(b, end) {
		end++
	}
	switch token := scan.View(b[i:end]); token {
	case "t", "T", "true", "True", "TRUE":
		return 1, end, scan.OK
	case "f", "F", "false", "False", "FALSE":
		return 0, end, scan.OK
	default:
		number, out = readNonJSONNumber(token)
		return number, end, out
	}
}

// readNonJSONNumber parses an integer with its suffix, or a number that has leading zeros, a
// plus sign, or no digits on one side of the decimal point.
func readNonJSONNumber(token string) (float64, scan.Outcome) {
	if token == "" || strings.Trim(token, "+-.0123456789eEiu") != "" {
		return 0, scan.Syntax // strconv also accepts infinities and other forms
	}
	var number float64
	var err error
	switch last := len(token) - 1; token[last] {
	case 'i', 'u':
		number, err = parseInteger(token[:last], token[last] == 'u')
	default:
		number, err = strconv.ParseFloat(token, 64)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, scan.Range
	case err != nil:
		return 0, scan.Syntax
	}
	return number, scan.OK
}

// parseInteger parses a 64-bit integer and returns the nearest float64.
func parseInteger(digits string, unsigned bool) (float64, error) {
	if strings.ContainsFunc(digits[min(1, len(digits)):], func(c rune) bool { return c < '0' || c > '9' }) {
		return 0, strconv.ErrSyntax // strconv may return ErrRange before it finds the invalid character
	}
	if unsigned {
		n, err := strconv.ParseUint(digits, 10, 64)
		return float64(n), err
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return float64(n), err
}

// stringValue parses the string at b[i] like value.
func (p *Parser) stringValue(label int32, i int) int {
	b := p.batch
	end, escaped := scanQuoted(p.b, i)
	if end < 0 || !valueEnds(p.b, end) {
		p.invalidField = p.fieldName(label)
		return p.fail(rejection.LineQuote)
	}
	text := scan.View(p.b[i+1 : end-1])
	why := b.Labels.List[label].Refused
	switch {
	case !utf8.ValidString(text):
		return p.fail(rejection.LineUTF8)
	case escaped:
		from := len(b.Unescaped)
		b.Unescaped = appendUnquoted(b.Unescaped, text)
		text = scan.View(b.Unescaped[from:])
	}
	switch {
	case why != rejection.None:
	case len(text) > block.MaxTextBytes:
		why = rejection.ValueLong
	case strings.IndexByte(text, 0) >= 0:
		why = rejection.ValueNUL
	}
	if why != rejection.None {
		p.faults = append(p.faults, fieldFault{label: label, why: why})
		return end
	}
	b.Strings.Label = append(b.Strings.Label, label)
	b.Strings.Values = append(b.Strings.Values, text)
	return end
}

// appendUnquoted appends the unescaped content of a string. A backslash is an escape only
// before a quote or another backslash.
func appendUnquoted(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\') {
			i++
		}
		dst = append(dst, s[i])
	}
	return dst
}

// time parses the timestamp after the fields, which end at b[i]. It returns the time, the
// index of the next line, or failed, and the rule that the time breaks.
func (p *Parser) time(i int) (us int64, next int, why rejection.Reason) {
	if i = skipBlanks(p.b, i); i == len(p.b) || p.b[i] == '\n' || p.b[i] == '\r' {
		if next, ends := lineEnds(p.b, i); ends {
			return p.batch.ReceivedUS, next, rejection.None
		}
	}
	// Lines of one request mostly have the same timestamp.
	if end := i + len(p.lastTimestamp); end > i && end < len(p.b) && p.b[end] == '\n' &&
		string(p.b[i:end]) == string(p.lastTimestamp) {
		return p.lastTimestampUS, end + 1, rejection.None
	}
	digits := i
	negative := p.b[i] == '-'
	if negative {
		digits++
	}
	epoch, end := scan.Digits(p.b, digits, 0)
	if next = end + 1; end == len(p.b) || p.b[end] != '\n' {
		var ends bool
		after := skipBlanks(p.b, end)
		if next, ends = lineEnds(p.b, after); !ends {
			if after > end && end > digits {
				return 0, p.fail(rejection.LineTail), rejection.None
			}
			return 0, nextLine(p.b, end), rejection.TimeFraction
		}
	}
	switch {
	case end == digits:
		return 0, next, rejection.TimeFraction
	case negative && (epoch != 0 || end-digits > scan.MaxExactDigits):
		return 0, next, rejection.TimeEarly
	case end-digits > scan.MaxExactDigits:
		return 0, next, rejection.TimeLate
	}
	us = p.unit.Micros(epoch)
	if why = p.batch.CheckTime(us); why == rejection.None {
		p.lastTimestamp, p.lastTimestampUS = p.b[i:end], us
	}
	return us, next, why
}

// fieldName returns the name of the field of a label, which may have been found in the cache.
func (p *Parser) fieldName(label int32) string {
	return p.unescapeName(p.batch.Labels.List[label].Tokens.Metric, inKey)
}
