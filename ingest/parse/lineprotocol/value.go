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

// value reads the value at b[i] into a column, or notes the rule that it breaks,
// and returns where it ends, or failed.
func (p *Parser) value(label int32, i int) int {
	if i < len(p.b) && p.b[i] == '"' {
		return p.text(label, i)
	}
	number, end, out := scan.Number(p.b, i)
	if out == scan.Syntax || !valueEnds(p.b, end) {
		if number, end, out = readOddValue(p.b, i, number, end, out); out == scan.Syntax {
			p.culprit = p.batch.Labels.List[label].Metric
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

// valueEnds reports whether a value that goes up to b[i] ends there.
func valueEnds(b []byte, i int) bool {
	if i == len(b) {
		return true
	}
	c := b[i]
	return c == ',' || c == ' ' || c == '\n' || c == '\r'
}

// readOddValue reads a number or boolean in a form that JSON does not have; number,
// end and out are the result of reading it as JSON.
func readOddValue(b []byte, i int, number float64, end int, out scan.Outcome) (float64, int, scan.Outcome) {
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
		number, out = readOddNumber(token)
		return number, end, out
	}
}

// readOddNumber reads an integer with its suffix, or a number without digits on
// one side of the point, with leading zeros or a plus sign.
func readOddNumber(token string) (float64, scan.Outcome) {
	if token == "" || strings.Trim(token, "+-.0123456789eEiu") != "" {
		return 0, scan.Syntax // strconv knows infinities and more
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

// parseInteger reads an integer of 64 bits, as the nearest number.
func parseInteger(digits string, unsigned bool) (float64, error) {
	if strings.ContainsFunc(digits[min(1, len(digits)):], func(c rune) bool { return c < '0' || c > '9' }) {
		return 0, strconv.ErrSyntax // strconv says that it is too large before it comes to that
	}
	if unsigned {
		n, err := strconv.ParseUint(digits, 10, 64)
		return float64(n), err
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return float64(n), err
}

// text reads the string at b[i] like value.
func (p *Parser) text(label int32, i int) int {
	b := p.batch
	end, escaped := scanQuoted(p.b, i)
	if end < 0 || !valueEnds(p.b, end) {
		p.culprit = b.Labels.List[label].Metric
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

// appendUnquoted appends the text between quotes: a backslash
// means something before a quote and before another backslash only.
func appendUnquoted(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\') {
			i++
		}
		dst = append(dst, s[i])
	}
	return dst
}

// time reads the timestamp after the fields, which end at b[i]: the time, where
// the next line begins, or failed, and the rule that the time breaks.
func (p *Parser) time(i int) (us int64, next int, why rejection.Reason) {
	if i = blanks(p.b, i); i == len(p.b) || p.b[i] == '\n' || p.b[i] == '\r' {
		if next, ends := lineEnds(p.b, i); ends {
			return p.batch.ReceivedUS, next, rejection.None
		}
	}
	// Lines that are sent together are mostly of one time.
	if end := i + len(p.stamp); end > i && end < len(p.b) && p.b[end] == '\n' && string(p.b[i:end]) == string(p.stamp) {
		return p.stampUS, end + 1, rejection.None
	}
	digits := i
	negative := p.b[i] == '-'
	if negative {
		digits++
	}
	epoch, end := scan.Digits(p.b, digits, 0)
	if next = end + 1; end == len(p.b) || p.b[end] != '\n' {
		var ends bool
		after := blanks(p.b, end)
		if next, ends = lineEnds(p.b, after); !ends {
			if after > end && end > digits {
				return 0, p.fail(rejection.LineTail), rejection.None
			}
			return 0, afterLine(p.b, end), rejection.TimeFraction
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
		p.stamp, p.stampUS = p.b[i:end], us
	}
	return us, next, why
}
