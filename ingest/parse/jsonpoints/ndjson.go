package jsonpoints

import (
	"bytes"
	"errors"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// ParseLines parses the batch's body as lines. Each line is a JSON object that is a
// row or a series. Lines may end in CR LF, and blank lines are skipped. The index of
// a row or series is that of its line. Errors are like those of Parse, and contain
// the line and the path of the field in the line's object.
func (p *Parser) ParseLines(b *block.Batch, maxPoints int) error {
	b.Hooks = p.ndjson
	p.batch, p.maxPoints, p.unit = b, maxPoints, scan.Milliseconds
	for remaining := b.Body; len(remaining) > 0; p.index++ {
		p.b = remaining
		if end := bytes.IndexByte(remaining, '\n'); end >= 0 {
			p.b, remaining = remaining[:end], remaining[end+1:]
		} else {
			remaining = nil
		}
		if p.line() == scan.Failed {
			return p.lineError()
		}
	}
	return nil
}

// line parses the line in p.b.
func (p *Parser) line() int {
	i := skipSpace(p.b, 0)
	if i == len(p.b) {
		return i
	}
	if p.b[i] != '{' {
		return p.wrongType(i, "body", "an object")
	}
	end := p.lineObject(i)
	if end == scan.Failed || skipSpace(p.b, end) != len(p.b) {
		return scan.Failed
	}
	return end
}

// lineObject parses the object at b[i]. It first assumes the shape of the previous line.
// If that fails, it determines the shape from the object's fields. After a line of another
// shape, it determines the shape of each line before parsing.
func (p *Parser) lineObject(i int) int {
	b := p.batch
	guess := p.shape
	if guess == unknownField || p.mixed {
		guess = shapeOf(p.b, i)
	}
	numbers := len(b.Numbers.Times)
	end := p.objectOf(guess, i)
	if end == scan.Failed {
		shape := shapeOf(p.b, i)
		if shape == guess {
			return scan.Failed
		}
		b.Numbers.Times, b.Numbers.Values = b.Numbers.Times[:numbers], b.Numbers.Values[:numbers]
		p.err, p.mixed, guess = nil, true, shape
		if end = p.objectOf(shape, i); end == scan.Failed {
			return scan.Failed
		}
	}
	p.shape = guess
	return end
}

// objectOf parses the object at b[i] as a row or as a series. After the first row, all
// points are stored as rows.
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

// shapeOf returns the shape of the object at b[i]: fieldSeries if it has a member
// timestamps or values, else fieldPoints. It considers only brackets and quotes, so the
// result does not depend on other errors.
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
			f := fieldOfToken(b[i : end+1])
			if (f == fieldTimestamps || f == fieldValues) && byteAt(b, skipSpace(b, end+1)) == ':' {
				return fieldSeries
			}
			i = end
		}
	}
	return fieldPoints
}

// fieldOfToken returns the field whose name is the string token.
func fieldOfToken(token []byte) field {
	if end, escaped := scanString(token, 0); end != len(token) {
		return unknownField
	} else if escaped {
		return fieldByName(string(appendUnescaped(nil, token[1:end-1])))
	}
	return fieldByName(scan.View(token[1 : len(token)-1]))
}

// lineError returns the error of a request that is refused because of the line in p.b.
func (p *Parser) lineError() error {
	err := p.requestError()
	var failure *fault.Error
	if errors.As(err, &failure) {
		return failure.With("line", p.index+1)
	}
	return err
}
