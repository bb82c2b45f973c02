package jsonpoints

import (
	"bytes"
	"errors"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// ParseLines reads the batch's body as lines that are each a row or a series
// as a JSON object; lines may end in CR LF, and blank ones are passed over. The
// index of a row or series is that of its line. Errors are as those of
// parse; they name the line, and the field in the line's object.
func (p *Parser) ParseLines(b *block.Batch, maxPoints int) error {
	b.Hooks = p.ndjson
	p.batch, p.maxPoints, p.unit = b, maxPoints, scan.Milliseconds
	for rest := b.Body; len(rest) > 0; p.index++ {
		p.b = rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			p.b, rest = rest[:end], rest[end+1:]
		} else {
			rest = nil
		}
		if p.line() == scan.Failed {
			return p.explainLine()
		}
	}
	return nil
}

// line reads the line in p.b.
func (p *Parser) line() int {
	i := space(p.b, 0)
	if i == len(p.b) {
		return i
	}
	if p.b[i] != '{' {
		return p.wrongType(i, "body", "an object")
	}
	end := p.lineObject(i)
	if end == scan.Failed || space(p.b, end) != len(p.b) {
		return scan.Failed
	}
	return end
}

// lineObject reads the object at b[i]: as what the line before was, and if that
// fails as what its own fields make it. After the first of those, lines are looked
// at before they are read.
func (p *Parser) lineObject(i int) int {
	b := p.batch
	guess := p.shape
	if guess == unknownField || p.mixed {
		guess = shapeOf(p.b, i)
	}
	numbers := len(b.Numbers.Times)
	end := p.objectOf(guess, i)
	if end == scan.Failed {
		own := shapeOf(p.b, i)
		if own == guess {
			return scan.Failed
		}
		b.Numbers.Times, b.Numbers.Values = b.Numbers.Times[:numbers], b.Numbers.Values[:numbers]
		p.err, p.mixed, guess = nil, true, own
		if end = p.objectOf(own, i); end == scan.Failed {
			return scan.Failed
		}
	}
	p.shape = guess
	return end
}

// objectOf reads the object at b[i] as a row or as a series. Once there was a
// row, all points are kept as rows.
func (p *Parser) objectOf(shape field, i int) int {
	b := p.batch
	if shape == fieldPoints {
		if p.list == fieldSeries {
			b.LabelRuns()
		}
		p.setList(fieldPoints)
		return p.row(i)
	}
	if p.list == unknownField {
		p.setList(fieldSeries)
	}
	end := p.series(i)
	if end != scan.Failed && p.list == fieldPoints {
		b.LabelRuns()
	}
	return end
}

// shapeOf returns what the object at b[i] is by the names of its members: a series
// if it has one of a series' columns, else a row. It judges by brackets and
// quotes alone, and so does not depend on what else is right or wrong.
func shapeOf(b []byte, i int) field {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"':
			end := skipString(b, i)
			if depth != 1 || end >= len(b) {
				i = end
				continue
			}
			if f := nameOf(b[i : end+1]); (f == fieldTimestamps || f == fieldValues) && at(b, space(b, end+1)) == ':' {
				return fieldSeries
			}
			i = end
		}
	}
	return fieldPoints
}

// nameOf returns the field of a name's token.
func nameOf(token []byte) field {
	if end, escaped := scanString(token, 0); end != len(token) {
		return unknownField
	} else if escaped {
		return lookup(string(appendUnescaped(nil, token[1:end-1])))
	}
	return lookup(scan.View(token[1 : len(token)-1]))
}

// explainLine returns the error of a request that is refused for the line in p.b.
func (p *Parser) explainLine() error {
	err := p.explain()
	var failure *fault.Error
	if errors.As(err, &failure) {
		return failure.With("line", p.index+1)
	}
	return err
}
