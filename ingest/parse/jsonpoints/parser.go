package jsonpoints

import (
	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Parser reads a JSON request into a batch in one pass over the bytes: syntax,
// fields, types, rules and limits at once. Each step begins at an index of the
// body and returns the index after what it read, or failed: what is wrong is then in err;
// nil there means that the body is not JSON.
type Parser struct {
	batch     *block.Batch
	b         []byte // the body
	maxPoints int
	unit      scan.Unit
	calendar  scan.Calendar

	list   field // points or series: what the body contains
	inside bool  // a row or series, not the request around them
	index  int   // of that row or series, or of the line that holds it
	shape  field // of the last line: points or series
	mixed  bool  // there are lines of both
	err    *fault.Error

	tags   []pointblock.Tag // of the object that is being read
	notes  block.Notes      // of the series that is being read
	json   block.Hooks
	ndjson block.Hooks
}

// New creates a parser.
func New() *Parser {
	p := &Parser{}
	p.json = block.Hooks{Blame: p.blameJSON, ListName: p.listName}
	p.ndjson = block.Hooks{
		Blame: p.blameNDJSON, ListName: func() string { return "body" }, Line: func(index int) int { return 1 + index },
	}
	return p
}

// Reset forgets the request.
func (p *Parser) Reset() {
	clear(p.tags)
	p.notes.Release()
	*p = Parser{calendar: p.calendar, tags: p.tags[:0], notes: p.notes, json: p.json, ndjson: p.ndjson}
}

// Parse reads the batch's body as one JSON object. The error is one of the whole
// request; what is wrong with single points is in the batch's tally.
func (p *Parser) Parse(b *block.Batch, maxPoints int) error {
	b.Hooks = p.json
	p.batch, p.b, p.maxPoints, p.unit = b, b.Body, maxPoints, scan.Milliseconds
	if p.request() == scan.Failed {
		return p.explain()
	}
	return nil
}

// request reads the object around everything.
func (p *Parser) request() int {
	i := space(p.b, 0)
	if at(p.b, i) != '{' {
		return p.wrongType(i, "body", "an object")
	}
	// The list is read once all defaults are known: at once when it ends the
	// object, else after the object.
	readAtOnce := endsInList(p.b)
	listAt, listEnd := scan.Failed, scan.Failed
	var seen fields
	i, more := p.firstMember(i)
	for more {
		var f field
		if f, i = p.member(i, requestFields, &seen); i == scan.Failed {
			return scan.Failed
		}
		switch {
		case f != fieldPoints && f != fieldSeries:
			i = p.setDefault(f, i, seen)
		case p.list != unknownField:
			return p.fail(fault.Field(fault.Malformed, fieldNames[f], "cannot be given together with "+fieldNames[p.list]))
		case readAtOnce || at(p.b, i) != '[':
			p.setList(f)
			i = p.readList(i)
		default:
			p.setList(f)
			listAt = i
			i = skipList(p.b, i)
			listEnd = i
		}
		if i == scan.Failed {
			return scan.Failed
		}
		i, more = p.nextMember(i)
	}
	if i == scan.Failed || space(p.b, i) != len(p.b) {
		return scan.Failed
	}
	if listAt != scan.Failed && p.readList(listAt) != listEnd {
		return scan.Failed
	}
	if p.list == unknownField {
		return p.fail(fault.Field(fault.Malformed, fieldNames[fieldPoints], "is required"))
	}
	return i
}

// setList notes whether the body contains points or series.
func (p *Parser) setList(f field) {
	p.list, p.batch.Rows = f, f == fieldPoints
}

// listName returns the name of the list, for an error about all of it.
func (p *Parser) listName() string { return fieldNames[p.list] }

// endsInList reports whether the text ends like an object whose last member is
// an array.
func endsInList(b []byte) bool {
	for _, want := range []byte("}]") {
		for len(b) > 0 && b[len(b)-1] <= ' ' {
			b = b[:len(b)-1]
		}
		if len(b) == 0 || b[len(b)-1] != want {
			return false
		}
		b = b[:len(b)-1]
	}
	return true
}

// skipList returns where the array at b[i] ends, judging by brackets alone. It is
// right for valid JSON, and what it skips is read later.
func skipList(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth <= 0 {
				return i + 1
			}
		case '"':
			i = skipString(b, i)
		}
	}
	return scan.Failed
}

// firstMember enters the object at b[i]: where its first member begins, or, if
// it has none, where it ends.
func (p *Parser) firstMember(i int) (next int, more bool) {
	if i = space(p.b, i+1); at(p.b, i) == '}' {
		return i + 1, false
	}
	return i, true
}

// nextMember goes on after a member: where the next one begins, or where the
// object ends.
func (p *Parser) nextMember(i int) (next int, more bool) {
	c := at(p.b, i)
	if c <= ' ' {
		i = space(p.b, i)
		c = at(p.b, i)
	}
	switch c {
	case ',':
		if i++; at(p.b, i) <= ' ' {
			i = space(p.b, i)
		}
		return i, true
	case '}':
		return i + 1, false
	}
	return scan.Failed, false
}

// nextEntry does the same in an array.
func (p *Parser) nextEntry(i int) (next int, more bool) {
	c := at(p.b, i)
	if c <= ' ' {
		i = space(p.b, i)
		c = at(p.b, i)
	}
	switch c {
	case ',':
		if i++; at(p.b, i) <= ' ' {
			i = space(p.b, i)
		}
		return i, true
	case ']':
		return i + 1, false
	}
	return scan.Failed, false
}

// member reads a member's name and the colon: which field it is, and where the
// value begins.
func (p *Parser) member(i int, allowed fields, seen *fields) (field, int) {
	f, end := readName(p.b, i)
	if f == unknownField {
		if f, end = p.readOddName(i, allowed); end == scan.Failed {
			return f, scan.Failed
		}
	}
	switch {
	case !allowed.has(f):
		return f, p.fail(fault.Field(fault.Malformed, p.path(fieldNames[f]), "is not a known field", allowed.names()...))
	case seen.has(f):
		return f, p.fail(fault.Field(fault.Malformed, p.path(fieldNames[f]), "is given more than once"))
	}
	*seen |= f.bit()
	return f, p.colon(end)
}

// readOddName reads a name that is not written in the usual way, or not of this
// interface.
func (p *Parser) readOddName(i int, allowed fields) (field, int) {
	if at(p.b, i) != '"' {
		return unknownField, scan.Failed
	}
	end, escaped := scanString(p.b, i)
	if end < 0 {
		return unknownField, scan.Failed
	}
	name := p.unescape(p.b[i:end], escaped)
	f := lookup(name)
	if f == unknownField {
		return f, p.fail(fault.Field(fault.Malformed, p.path(name), "is not a known field", allowed.names()...))
	}
	return f, end
}

// colon goes from the end of a name to the beginning of its value.
func (p *Parser) colon(i int) int {
	if at(p.b, i) != ':' {
		if i = space(p.b, i); at(p.b, i) != ':' {
			return scan.Failed
		}
	}
	if i++; at(p.b, i) <= ' ' {
		i = space(p.b, i)
	}
	return i
}

// readList reads the array of rows or series at b[i].
func (p *Parser) readList(i int) int {
	name := fieldNames[p.list]
	if at(p.b, i) != '[' {
		return p.wrongType(i, name, "an array")
	}
	i = space(p.b, i+1)
	if at(p.b, i) == ']' {
		return i + 1
	}
	p.inside = true
	for more := true; more; p.index++ {
		if at(p.b, i) != '{' {
			return p.wrongType(i, p.path(""), "an object")
		}
		if p.list == fieldPoints {
			i = p.row(i)
		} else {
			i = p.series(i)
		}
		if i == scan.Failed {
			return scan.Failed
		}
		i, more = p.nextEntry(i)
	}
	p.inside = false
	return i
}
