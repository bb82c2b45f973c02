package ingest

import (
	"fmt"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// series reads the series object at b[i]. Its arrays are read straight into the
// batch's columns of numbers; only where an entry is rejected or is a string,
// are they put right afterwards.
func (p *parser) series(i int) int {
	b := p.batch
	from := len(b.numbers.ts)
	p.notes.reset()
	var seen fields
	var t tokens
	i, more := p.firstMember(i)
	for more {
		var f field
		if f, i = p.member(i, seriesFields, &seen); i == failed {
			return failed
		}
		switch f {
		case fieldTimestamps:
			i = p.times(i)
		case fieldValues:
			i = p.values(i)
		default:
			i = p.identityToken(f, i, seen, &t, nil)
		}
		if i == failed {
			return failed
		}
		i, more = p.nextMember(i)
	}
	if i == failed || p.required(seen, fieldValues, fieldTimestamps) == failed {
		return failed
	}
	n, values := len(b.numbers.ts)-from, len(b.numbers.values)-from
	if n != values {
		return p.fail(fault.Field(fault.Invalid, p.path(fieldNames[fieldValues]),
			fmt.Sprintf("must have as many entries as timestamps: %d, not %d", n, values)))
	}
	b.points += n
	b.addRun(&p.notes, p.index, from, p.label(&t, nil))
	return i
}

// times reads the array of timestamps at b[i].
func (p *parser) times(i int) int {
	i, more := p.enterArray(i, fieldTimestamps)
	ts := p.batch.numbers.ts
	from, room := len(ts), p.maxPoints-p.batch.points
	for more {
		us, end, why := p.readTime(i)
		position := len(ts) - from
		if end == failed {
			return p.wrongTypeUnlessSyntax(i, p.entryPath(fieldTimestamps, position), "a string or an integer")
		}
		if why != accepted {
			us = 0
			p.notes.faults = append(p.notes.faults, entryFault{position: int32(position), why: why})
		}
		if position == room {
			return p.tooMany()
		}
		ts = append(ts, us)
		i, more = p.nextEntry(end)
	}
	p.batch.numbers.ts = ts
	return i
}

// values reads the array of values at b[i].
func (p *parser) values(i int) int {
	i, more := p.enterArray(i, fieldValues)
	values := p.batch.numbers.values
	from, room := len(values), p.maxPoints-p.batch.points
	for more {
		number, end, why := readScalar(p.b, i)
		position := len(values) - from
		if end == failed && at(p.b, i) == '"' {
			var text string
			if text, end, why = p.readText(i); why == accepted {
				p.notes.strings = append(p.notes.strings, stringEntry{position: int32(position), text: text})
			}
		}
		if end == failed {
			return p.wrongTypeUnlessSyntax(i, p.entryPath(fieldValues, position), "a number, a boolean or a string")
		}
		if why != accepted {
			p.notes.faults = append(p.notes.faults, entryFault{position: int32(position), why: why})
		}
		if position == room {
			return p.tooMany()
		}
		values = append(values, number)
		i, more = p.nextEntry(end)
	}
	p.batch.numbers.values = values
	return i
}

// enterArray enters the array at b[i]: where its first entry begins, or, if it
// has none, where it ends.
func (p *parser) enterArray(i int, f field) (next int, more bool) {
	if at(p.b, i) != '[' {
		return p.wrongType(i, p.path(fieldNames[f]), "an array"), false
	}
	if i = space(p.b, i+1); at(p.b, i) == ']' {
		return i + 1, false
	}
	return i, true
}
