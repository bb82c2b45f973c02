package ingest

import (
	"strings"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// point is a row's time and value.
type point struct {
	ts     int64
	kind   pointblock.Kind
	number float64
	text   string
	why    reason // the first rule that one of them breaks
}

// row reads the point object at b[i].
func (p *parser) row(i int) int {
	if p.batch.points == p.maxPoints {
		return p.tooMany()
	}
	var (
		seen     fields
		t        tokens
		expected = p.batch.labels.expected()
		pt       = point{ts: p.batch.receivedUS}
	)
	i, more := p.firstMember(i)
	for more {
		var f field
		if f, i = p.member(i, rowFields, &seen); i == failed {
			return failed
		}
		switch f {
		case fieldTimestamp:
			i = p.rowTime(i, &pt)
		case fieldValue:
			i = p.rowValue(i, &pt)
		default:
			i = p.identityToken(f, i, seen, &t, expected)
		}
		if i == failed {
			return failed
		}
		i, more = p.nextMember(i)
	}
	if i == failed || p.required(seen, fieldValue) == failed {
		return failed
	}
	p.batch.points++
	p.addPoint(&pt, p.label(&t, expected))
	return i
}

// addPoint adds a point of the label, or counts it as rejected.
func (p *parser) addPoint(pt *point, at int32) {
	b := p.batch
	l := &b.labels.list[at]
	why := pt.why
	if why == accepted {
		why = l.refused
	}
	if why != accepted {
		b.reject(why, p.index, whole, 1, l)
		return
	}
	if l.count[pt.kind-1] == 0 {
		l.first[pt.kind-1] = p.index
	}
	l.count[pt.kind-1]++
	if pt.kind == pointblock.KindNumber {
		b.numbers.add(at, pt.ts, pt.number)
		b.numbers.index = append(b.numbers.index, int32(p.index))
	} else {
		b.strings.add(at, pt.ts, pt.text)
		b.strings.index = append(b.strings.index, int32(p.index))
	}
}

// required checks that an object has a field and, itself or by default, what
// names its series.
func (p *parser) required(seen fields, also ...field) int {
	d := &p.batch.labels.defaults
	missing := unknownField
	for _, f := range also {
		if !seen.has(f) {
			missing = f
		}
	}
	if !seen.has(fieldMetric) && d.metric == "" {
		missing = fieldMetric
	}
	if !seen.has(fieldSourceID) && !seen.has(fieldSource) && len(d.source.source) == 0 {
		missing = fieldSourceID
	}
	if missing != unknownField {
		return p.fail(fault.Field(fault.Malformed, p.path(fieldNames[missing]), "is required"))
	}
	return 0
}

// label returns the index of the label with these tokens. The tags of a new one
// are those of the expected label, if they are the same bytes, else p.tags.
func (p *parser) label(t *tokens, expected *label) int32 {
	labels := &p.batch.labels
	if expected != nil && expected.equal(t) {
		i := labels.list[labels.last].next
		labels.last = i
		return i
	}
	i, hash := labels.find(t)
	if i < 0 {
		var own []pointblock.Tag
		switch {
		case len(t.tags) == 0:
		case expected != nil && len(expected.tokens.tags) > 0 && &t.tags[0] == &expected.tokens.tags[0]:
			own = expected.tags
		default:
			own = labels.keep(p.tags)
		}
		i = p.newLabel(*t, hash, own)
	}
	labels.follow(i)
	return i
}

// rowTime reads a timestamp into the point.
func (p *parser) rowTime(i int, pt *point) int {
	us, end, why := p.readTime(i)
	if end == failed {
		return p.wrongTypeUnlessSyntax(i, p.path(fieldNames[fieldTimestamp]), "a string or an integer")
	}
	if pt.ts = us; pt.why == accepted {
		pt.why = why
	}
	return end
}

// rowValue reads a value into the point.
func (p *parser) rowValue(i int, pt *point) int {
	var end int
	var why reason
	if at(p.b, i) == '"' {
		pt.kind = pointblock.KindString
		pt.text, end, why = p.readText(i)
	} else {
		pt.kind = pointblock.KindNumber
		pt.number, end, why = readScalar(p.b, i)
	}
	if end == failed {
		return p.wrongTypeUnlessSyntax(i, p.path(fieldNames[fieldValue]), "a number, a boolean or a string")
	}
	if pt.why == accepted {
		pt.why = why
	}
	return end
}

// readTime reads the timestamp at b[i] as microseconds since the Unix epoch, and
// says what rule it breaks. It fails on what is neither string nor number.
func (p *parser) readTime(i int) (us int64, end int, why reason) {
	if at(p.b, i) == '"' {
		end, escaped := scanString(p.b, i)
		if end < 0 {
			return 0, failed, accepted
		}
		text := p.b[i+1 : end-1]
		if escaped {
			text = appendUnescaped(nil, text)
		}
		us, ok := p.calendar.parse(text)
		if !ok {
			return 0, end, timeForm
		}
		return us, end, p.batch.checkTime(us)
	}
	epoch, end, out := readInteger(p.b, i)
	switch out {
	case readOK:
		us = p.unit.micros(epoch)
		return us, end, p.batch.checkTime(us)
	case readNotInteger:
		return 0, end, timeFraction
	case readRange:
		if p.b[i] == '-' {
			return 0, end, timeEarly
		}
		return 0, end, timeLate
	}
	return 0, failed, accepted
}

// readScalar reads the number or boolean at b[i].
func readScalar(b []byte, i int) (number float64, end int, why reason) {
	switch c := at(b, i); {
	case c == 't' && i+4 <= len(b) && string(b[i:i+4]) == "true":
		return 1, i + 4, accepted
	case c == 'f' && i+5 <= len(b) && string(b[i:i+5]) == "false":
		return 0, i + 5, accepted
	}
	number, end, out := readNumber(b, i)
	switch out {
	case readOK:
		return number, end, accepted
	case readRange:
		return 0, end, valueRange
	}
	return 0, failed, accepted
}

// readText reads the string value at b[i].
func (p *parser) readText(i int) (text string, end int, why reason) {
	end, escaped := scanString(p.b, i)
	if end < 0 {
		return "", failed, accepted
	}
	text = p.unescape(p.b[i:end], escaped)
	switch {
	case len(text) > maxTextBytes:
		return "", end, valueLong
	case escaped && strings.IndexByte(text, 0) >= 0:
		return "", end, valueNUL
	}
	return text, end, accepted
}
