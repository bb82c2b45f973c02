package jsonpoints

import (
	"fmt"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// series parses the series object at b[i]. It appends the arrays directly to the
// batch's column of numbers. AddRun corrects the columns afterwards if an entry is
// rejected or is a string.
func (p *Parser) series(i int) int {
	b := p.batch
	from := len(b.Numbers.Times)
	p.notes.Reset()
	p.expected, p.tagsRead = b.PredictedTokens(), false
	var seen fields
	var t block.Tokens
	i, more := p.firstMember(i)
	for more {
		var f field
		if f, i = p.member(i, seriesFields, &seen); i == scan.Failed {
			return scan.Failed
		}
		switch f {
		case fieldTimestamps:
			i = p.times(i)
		case fieldValues:
			i = p.values(i)
		default:
			i = p.identityToken(f, i, seen, &t)
		}
		if i == scan.Failed {
			return scan.Failed
		}
		i, more = p.nextMember(i)
	}
	if i == scan.Failed || p.required(seen, fieldValues, fieldTimestamps) == scan.Failed {
		return scan.Failed
	}
	n, values := len(b.Numbers.Times)-from, len(b.Numbers.Values)-from
	if n != values {
		return p.fail(fault.Field(fault.Invalid, p.path(fieldNames[fieldValues]),
			fmt.Sprintf("must have as many entries as timestamps: %d, not %d", n, values)))
	}
	b.Points += n
	b.AddRun(&p.notes, p.index, from, p.label(&t, nil))
	return i
}

// times parses the array of timestamps at b[i].
func (p *Parser) times(i int) int {
	i, more := p.enterArray(i, fieldTimestamps)
	ts := p.batch.Numbers.Times
	from, remaining := len(ts), p.maxPoints-p.batch.Points
	for more {
		us, end, why := p.readTime(i)
		position := len(ts) - from
		if end == scan.Failed {
			return p.wrongTypeUnlessSyntax(i, p.entryPath(fieldTimestamps, position), "a string or an integer")
		}
		if why != rejection.None {
			us = 0
			p.notes.Faults = append(p.notes.Faults, block.EntryFault{Position: int32(position), Reason: why})
		}
		if position == remaining {
			return p.failTooMany()
		}
		ts = append(ts, us)
		i, more = p.nextEntry(end)
	}
	p.batch.Numbers.Times = ts
	return i
}

// values parses the array of values at b[i].
func (p *Parser) values(i int) int {
	i, more := p.enterArray(i, fieldValues)
	values := p.batch.Numbers.Values
	from, remaining := len(values), p.maxPoints-p.batch.Points
	for more {
		number, end, why := readScalar(p.b, i)
		position := len(values) - from
		if end == scan.Failed && byteAt(p.b, i) == '"' {
			var text string
			if text, end, why = p.readString(i); why == rejection.None {
				p.notes.Strings = append(p.notes.Strings, block.StringEntry{Position: int32(position), Text: text})
			}
		}
		if end == scan.Failed {
			return p.wrongTypeUnlessSyntax(i, p.entryPath(fieldValues, position), "a number, a boolean or a string")
		}
		if why != rejection.None {
			p.notes.Faults = append(p.notes.Faults, block.EntryFault{Position: int32(position), Reason: why})
		}
		if position == remaining {
			return p.failTooMany()
		}
		values = append(values, number)
		i, more = p.nextEntry(end)
	}
	p.batch.Numbers.Values = values
	return i
}

// enterArray returns the index of the first entry of the array at b[i] and true, or, if the
// array is empty, the index of its end and false.
func (p *Parser) enterArray(i int, f field) (next int, more bool) {
	if byteAt(p.b, i) != '[' {
		return p.wrongType(i, p.path(fieldNames[f]), "an array"), false
	}
	if i = skipSpace(p.b, i+1); byteAt(p.b, i) == ']' {
		return i + 1, false
	}
	return i, true
}
