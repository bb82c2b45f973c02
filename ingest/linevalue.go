package ingest

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value reads the value at b[i] into a column, or notes the rule that it breaks,
// and gives where it ends, or failed.
func (p *lineParser) value(label int32, i int) int {
	if i < len(p.b) && p.b[i] == '"' {
		return p.text(label, i)
	}
	number, end, out := readNumber(p.b, i)
	if out == readSyntax || !valueEnds(p.b, end) {
		if number, end, out = readOddValue(p.b, i, number, end, out); out == readSyntax {
			p.culprit = p.batch.labels.list[label].metric
			return p.fail(lineValue)
		}
	}
	b := p.batch
	why := b.labels.list[label].refused
	if out == readRange && why == accepted {
		why = valueRange
	}
	if why != accepted {
		p.mishaps = append(p.mishaps, lineMishap{label: label, why: why})
		return end
	}
	b.numbers.label = append(b.numbers.label, label)
	b.numbers.values = append(b.numbers.values, number)
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

// readOddValue reads a number or boolean in a form that JSON has not; number, end
// and out are what reading it as JSON came to.
func readOddValue(b []byte, i int, number float64, end int, out outcome) (float64, int, outcome) {
	if out == readOK && (b[end] == 'i' || b[end] == 'u') && valueEnds(b, end+1) {
		digits := i
		if b[i] == '-' {
			digits++
		}
		// Up to 18 digits are within the range of both kinds of integer.
		if _, after := readDigits(b, digits, 0); after == end && end-digits <= 18 && (digits == i || b[end] == 'i') {
			return number, end + 1, readOK
		}
	}
	end = i
	for !valueEnds(b, end) {
		end++
	}
	switch token := view(b[i:end]); token {
	case "t", "T", "true", "True", "TRUE":
		return 1, end, readOK
	case "f", "F", "false", "False", "FALSE":
		return 0, end, readOK
	default:
		number, out = readOddNumber(token)
		return number, end, out
	}
}

// readOddNumber reads an integer with its suffix, or a number without digits on
// one side of the point, with leading zeros or a plus sign.
func readOddNumber(token string) (float64, outcome) {
	if token == "" || strings.Trim(token, "+-.0123456789eEiu") != "" {
		return 0, readSyntax // strconv knows infinities and more
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
		return 0, readRange
	case err != nil:
		return 0, readSyntax
	}
	return number, readOK
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
func (p *lineParser) text(label int32, i int) int {
	b := p.batch
	end, escaped := scanQuoted(p.b, i)
	if end < 0 || !valueEnds(p.b, end) {
		p.culprit = b.labels.list[label].metric
		return p.fail(lineQuote)
	}
	text := view(p.b[i+1 : end-1])
	why := b.labels.list[label].refused
	switch {
	case !utf8.ValidString(text):
		return p.fail(lineUTF8)
	case escaped:
		from := len(b.unescaped)
		b.unescaped = appendUnquoted(b.unescaped, text)
		text = view(b.unescaped[from:])
	}
	switch {
	case why != accepted:
	case len(text) > maxTextBytes:
		why = valueLong
	case strings.IndexByte(text, 0) >= 0:
		why = valueNUL
	}
	if why != accepted {
		p.mishaps = append(p.mishaps, lineMishap{label: label, why: why})
		return end
	}
	b.strings.label = append(b.strings.label, label)
	b.strings.values = append(b.strings.values, text)
	return end
}

// appendUnquoted appends the text of what stands between quotes: a backslash
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
func (p *lineParser) time(i int) (us int64, next int, why reason) {
	if i = blanks(p.b, i); i == len(p.b) || p.b[i] == '\n' || p.b[i] == '\r' {
		if next, ends := lineEnds(p.b, i); ends {
			return p.batch.receivedUS, next, accepted
		}
	}
	// Lines that are sent together are mostly of one time.
	if end := i + len(p.stamp); end > i && end < len(p.b) && p.b[end] == '\n' && string(p.b[i:end]) == string(p.stamp) {
		return p.stampUS, end + 1, accepted
	}
	digits := i
	negative := p.b[i] == '-'
	if negative {
		digits++
	}
	epoch, end := readDigits(p.b, digits, 0)
	if next = end + 1; end == len(p.b) || p.b[end] != '\n' {
		var ends bool
		after := blanks(p.b, end)
		if next, ends = lineEnds(p.b, after); !ends {
			if after > end && end > digits {
				return 0, p.fail(lineTail), accepted
			}
			return 0, afterLine(p.b, end), timeFraction
		}
	}
	switch {
	case end == digits:
		return 0, next, timeFraction
	case negative && (epoch != 0 || end-digits > maxExactDigits):
		return 0, next, timeEarly
	case end-digits > maxExactDigits:
		return 0, next, timeLate
	}
	us = p.unit.micros(epoch)
	if why = p.batch.checkTime(us); why == accepted {
		p.stamp, p.stampUS = p.b[i:end], us
	}
	return us, next, why
}
