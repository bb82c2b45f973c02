package jsonpoints

import "github.com/livegraph/livegraph/ingest/parse/scan"

// span is a part of the body: from its first index to the index of its end.
type span struct{ from, to int }

// rowForm is the text of a row around its timestamp and its value. The rows of a producer usually
// differ only in these two tokens, so a row with the form of an earlier row has the same label.
type rowForm struct {
	head, middle, tail []byte
	valueFirst         bool
}

// maxKeptForms is the maximum capacity for forms that a parser keeps after a request.
const maxKeptForms = 4096

// rowLike parses the row at b[i] into pt if the row has the form of the expected label's rows. Otherwise
// it fails without an error, and pt is not valid.
func (p *Parser) rowLike(i int, pt *point) int {
	if len(p.forms) == 0 { // there may be no label yet
		return scan.Failed
	}
	labels := &p.batch.Labels
	next := labels.List[labels.Last].Next
	if int(next) >= len(p.forms) {
		return scan.Failed
	}
	form := &p.forms[next]
	if len(form.head) == 0 || !hasPrefix(p.b[i:], form.head) {
		return scan.Failed
	}
	if i = p.formToken(form.valueFirst, i+len(form.head), pt); i == scan.Failed || !hasPrefix(p.b[i:], form.middle) {
		return scan.Failed
	}
	i = p.formToken(!form.valueFirst, i+len(form.middle), pt)
	if i == scan.Failed || !hasPrefix(p.b[i:], form.tail) {
		return scan.Failed
	}
	labels.Follow(next)
	return i + len(form.tail)
}

func (p *Parser) formToken(value bool, i int, pt *point) int {
	if value {
		return p.readRowValue(i, pt)
	}
	return p.readRowTime(i, pt)
}

// rememberForm stores the form of a row of a label that is not new in the request.
func (p *Parser) rememberForm(label int32, row, timestamp, value span) {
	first, second := timestamp, value
	valueFirst := value.from < timestamp.from
	if valueFirst {
		first, second = value, timestamp
	}
	for int(label) >= len(p.forms) {
		p.forms = append(p.forms, rowForm{})
	}
	p.forms[label] = rowForm{
		head: p.b[row.from:first.from], middle: p.b[first.to:second.from], tail: p.b[second.to:row.to],
		valueFirst: valueFirst,
	}
}

// forgetForms removes the forms, which refer to the request's body.
func (p *Parser) forgetForms() []rowForm {
	if cap(p.forms) > maxKeptForms {
		return nil
	}
	clear(p.forms)
	return p.forms[:0]
}
