package jsonpoints

import (
	"strings"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// point is the time and the value of a row.
type point struct {
	ts     int64
	kind   pointblock.Kind
	number float64
	text   string
	why    rejection.Reason // the first rule that time or value breaks
}

// row parses the point object at b[i].
func (p *Parser) row(i int) int {
	if p.batch.Points == p.maxPoints {
		return p.failTooMany()
	}
	expected := p.batch.Labels.Expected()
	pt := point{ts: p.batch.ReceivedUS}
	if end := p.rowLike(i, &pt); end != scan.Failed {
		p.addPoint(&pt, p.batch.Labels.Last)
		return end
	}
	return p.parseRow(i, expected)
}

// parseRow parses the point object at b[i], which has no known form.
func (p *Parser) parseRow(i int, expected *block.Label) int {
	var (
		seen             fields
		t                block.Tokens
		pt               = point{ts: p.batch.ReceivedUS}
		timestamp, value span
		start            = i
	)
	p.expected, p.tagsRead = p.expectedTokens(expected), false
	i, more := p.firstMember(i)
	for more {
		var f field
		if f, i = p.member(i, rowFields, &seen); i == scan.Failed {
			return scan.Failed
		}
		switch token := i; f {
		case fieldTimestamp:
			i = p.rowTime(i, &pt)
			timestamp = span{token, i}
		case fieldValue:
			i = p.rowValue(i, &pt)
			value = span{token, i}
		default:
			i = p.identityToken(f, i, seen, &t)
		}
		if i == scan.Failed {
			return scan.Failed
		}
		i, more = p.nextMember(i)
	}
	if i == scan.Failed || p.required(seen, fieldValue) == scan.Failed {
		return scan.Failed
	}
	labels := len(p.batch.Labels.List)
	label := p.label(&t, expected)
	if int(label) < labels && seen.has(fieldTimestamp) {
		p.rememberForm(label, span{start, i}, timestamp, value)
	}
	p.addPoint(&pt, label)
	return i
}

// expectedTokens returns the tokens of the expected label. If no label has followed the last one in the request,
// they are those of the label that followed it in an earlier request.
func (p *Parser) expectedTokens(expected *block.Label) block.Tokens {
	b := p.batch
	if expected == nil {
		return block.Tokens{}
	}
	if expected == &b.Labels.List[b.Labels.Last] {
		if predicted := b.PredictedTokens(); len(predicted.Metric) > 0 {
			return predicted
		}
	}
	return expected.Tokens
}

// addPoint adds a point of a label, or counts it as rejected.
func (p *Parser) addPoint(pt *point, labelIndex int32) {
	b := p.batch
	b.Points++
	l := &b.Labels.List[labelIndex]
	why := pt.why
	if why == rejection.None {
		why = l.Refused
	}
	if why != rejection.None {
		b.Reject(why, p.index, rejection.NoPosition, 1, l)
		return
	}
	if l.Count[pt.kind-1] == 0 {
		l.First[pt.kind-1] = int32(p.index)
	}
	l.Count[pt.kind-1]++
	if pt.kind == pointblock.KindNumber {
		b.Numbers.Add(labelIndex, pt.ts, pt.number)
		b.Numbers.Index = append(b.Numbers.Index, int32(p.index))
	} else {
		b.Strings.Add(labelIndex, pt.ts, pt.text)
		b.Strings.Index = append(b.Strings.Index, int32(p.index))
	}
}

// required checks that an object has the given fields and that metric and source are set in
// the object or by default.
func (p *Parser) required(seen fields, also ...field) int {
	d := &p.batch.Labels.Defaults
	missing := unknownField
	for _, f := range also {
		if !seen.has(f) {
			missing = f
		}
	}
	if !seen.has(fieldMetric) && d.Metric == "" {
		missing = fieldMetric
	}
	if !seen.has(fieldSourceID) && !seen.has(fieldSource) && len(d.Source.Source) == 0 {
		missing = fieldSourceID
	}
	if missing != unknownField {
		return p.fail(fault.Field(fault.Malformed, p.path(fieldNames[missing]), "is required"))
	}
	return 0
}

// label returns the index of the label with the tokens t.
func (p *Parser) label(t *block.Tokens, expected *block.Label) int32 {
	labels := &p.batch.Labels
	if expected != nil && expected.Tokens.Equal(t) {
		i := labels.List[labels.Last].Next
		labels.Last = i
		return i
	}
	i := p.predict(t)
	if i < 0 {
		var hash uint64
		if i, hash = labels.Find(t); i < 0 {
			i = p.newLabel(*t, hash)
		}
	}
	labels.Follow(i)
	return i
}

// rowTime parses a timestamp into pt.
func (p *Parser) rowTime(i int, pt *point) int {
	end := p.readRowTime(i, pt)
	if end == scan.Failed {
		return p.wrongTypeUnlessSyntax(i, p.path(fieldNames[fieldTimestamp]), "a string or an integer")
	}
	return end
}

// readRowTime is like rowTime, but fails without an error.
func (p *Parser) readRowTime(i int, pt *point) int {
	us, end, why := p.readTime(i)
	if pt.ts = us; pt.why == rejection.None {
		pt.why = why
	}
	return end
}

// rowValue parses a value into pt.
func (p *Parser) rowValue(i int, pt *point) int {
	end := p.readRowValue(i, pt)
	if end == scan.Failed {
		return p.wrongTypeUnlessSyntax(i, p.path(fieldNames[fieldValue]), "a number, a boolean or a string")
	}
	return end
}

// readRowValue is like rowValue, but fails without an error.
func (p *Parser) readRowValue(i int, pt *point) int {
	var end int
	var why rejection.Reason
	if byteAt(p.b, i) == '"' {
		pt.kind = pointblock.KindString
		pt.text, end, why = p.readString(i)
	} else {
		pt.kind = pointblock.KindNumber
		pt.number, end, why = readScalar(p.b, i)
	}
	if pt.why == rejection.None {
		pt.why = why
	}
	return end
}

// readTime parses the timestamp at b[i]. It returns microseconds since the Unix epoch and
// the rule that the timestamp breaks. It fails if the value is neither a string nor a number.
func (p *Parser) readTime(i int) (us int64, end int, why rejection.Reason) {
	if byteAt(p.b, i) == '"' {
		end, escaped := scanString(p.b, i)
		if end < 0 {
			return 0, scan.Failed, rejection.None
		}
		text := p.b[i+1 : end-1]
		if escaped {
			text = appendUnescaped(nil, text)
		}
		us, ok := p.calendar.Parse(text)
		if !ok {
			return 0, end, rejection.TimeForm
		}
		return us, end, p.batch.CheckTime(us)
	}
	epoch, end, out := p.epochs.Integer(p.b, i)
	switch out {
	case scan.OK:
		us = p.unit.Micros(epoch)
		return us, end, p.batch.CheckTime(us)
	case scan.NotInteger:
		return 0, end, rejection.TimeFraction
	case scan.Range:
		if p.b[i] == '-' {
			return 0, end, rejection.TimeEarly
		}
		return 0, end, rejection.TimeLate
	}
	return 0, scan.Failed, rejection.None
}

// readScalar parses the number or boolean at b[i].
func readScalar(b []byte, i int) (number float64, end int, why rejection.Reason) {
	switch c := byteAt(b, i); {
	case c == 't' && i+4 <= len(b) && string(b[i:i+4]) == "true":
		return 1, i + 4, rejection.None
	case c == 'f' && i+5 <= len(b) && string(b[i:i+5]) == "false":
		return 0, i + 5, rejection.None
	}
	number, end, out := scan.Number(b, i)
	switch out {
	case scan.OK:
		return number, end, rejection.None
	case scan.Range:
		return 0, end, rejection.ValueRange
	}
	return 0, scan.Failed, rejection.None
}

// readString parses the string value at b[i].
func (p *Parser) readString(i int) (text string, end int, why rejection.Reason) {
	end, escaped := scanString(p.b, i)
	if end < 0 {
		return "", scan.Failed, rejection.None
	}
	text = p.unescape(p.b[i:end], escaped)
	switch {
	case len(text) > block.MaxTextBytes:
		return "", end, rejection.ValueLong
	case escaped && strings.IndexByte(text, 0) >= 0:
		return "", end, rejection.ValueNUL
	}
	return text, end, rejection.None
}
