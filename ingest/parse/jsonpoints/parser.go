package jsonpoints

import (
	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Parser parses a JSON request into a batch in one pass over the bytes. It checks syntax,
// fields, types, rules and limits. Each parsing method begins at an index of the body and
// returns the index of the end, or failed. After a failure, err has the error, or is nil
// if the body is not JSON.
type Parser struct {
	cache     *block.LabelCache
	batch     *block.Batch
	b         []byte // the body
	maxPoints int
	unit      scan.Unit
	calendar  scan.Calendar
	epochs    scan.Epochs

	list     field // list of the body: points or series
	inObject bool  // the current object is a row or series, not the request
	index    int   // index of the row, series or line
	shape    field // shape of the last line: points or series
	mixed    bool  // the body has lines of both shapes
	err      *fault.Error

	expected block.Tokens     // of the label that is likely to come next
	tags     []pointblock.Tag // of the current object, if tagsRead
	tagsRead bool

	forms  []rowForm   // of the rows of each label, by its index; see rememberForm
	notes  block.Notes // of the current series
	json   block.Hooks
	ndjson block.Hooks
}

// New creates a Parser that uses the cache.
func New(cache *block.LabelCache) *Parser {
	p := &Parser{cache: cache}
	p.json = block.Hooks{
		FieldPath: p.fieldPathJSON, ListName: p.listName, Read: p.readLabel, Resolved: p.cacheSeries,
	}
	p.ndjson = block.Hooks{
		FieldPath: p.fieldPathNDJSON, ListName: func() string { return "body" },
		Line: func(index int) int { return 1 + index }, Read: p.readLabel, Resolved: p.cacheSeries,
	}
	return p
}

// Reset removes all references to the request.
func (p *Parser) Reset() {
	clear(p.tags)
	p.notes.Release()
	*p = Parser{
		cache: p.cache, calendar: p.calendar, epochs: p.epochs, tags: p.tags[:0], forms: p.forgetForms(), notes: p.notes,
		json: p.json, ndjson: p.ndjson,
	}
}

// Parse parses the batch's body as one JSON object. It returns an error only if the whole
// request is refused. Errors of single points are counted in the batch's tally.
func (p *Parser) Parse(b *block.Batch, maxPoints int) error {
	b.Hooks = p.json
	p.batch, p.b, p.maxPoints, p.unit = b, b.Body, maxPoints, scan.Milliseconds
	if p.request() == scan.Failed {
		return p.requestError()
	}
	return nil
}

// request parses the request object.
func (p *Parser) request() int {
	i := skipSpace(p.b, 0)
	if byteAt(p.b, i) != '{' {
		return p.wrongType(i, "body", "an object")
	}
	// The list must be parsed after all defaults: immediately if it is the last member,
	// else after the object.
	listIsLast := endsInList(p.b)
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
		case listIsLast || byteAt(p.b, i) != '[':
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
	if i == scan.Failed || skipSpace(p.b, i) != len(p.b) {
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

// setList records whether the body contains points or series.
func (p *Parser) setList(f field) {
	p.list, p.batch.Rows = f, f == fieldPoints
}

// listName returns the name of the list, for errors about the whole list.
func (p *Parser) listName() string { return fieldNames[p.list] }

// endsInList reports whether b ends like an object whose last member is an array.
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

// skipList returns the end of the array at b[i]. It considers only brackets and quotes, which
// is correct for valid JSON. The skipped bytes are parsed later.
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

// firstMember returns the index of the first member of the object at b[i] and true, or, if
// the object is empty, the index of its end and false.
func (p *Parser) firstMember(i int) (next int, more bool) {
	if i = skipSpace(p.b, i+1); byteAt(p.b, i) == '}' {
		return i + 1, false
	}
	return i, true
}

// nextMember returns the index of the member that follows b[i] and true, or the index of
// the object's end and false.
func (p *Parser) nextMember(i int) (next int, more bool) {
	c := byteAt(p.b, i)
	if c <= ' ' {
		i = skipSpace(p.b, i)
		c = byteAt(p.b, i)
	}
	switch c {
	case ',':
		if i++; byteAt(p.b, i) <= ' ' {
			i = skipSpace(p.b, i)
		}
		return i, true
	case '}':
		return i + 1, false
	}
	return scan.Failed, false
}

// nextEntry is like nextMember, for the entries of an array.
func (p *Parser) nextEntry(i int) (next int, more bool) {
	c := byteAt(p.b, i)
	if c <= ' ' {
		i = skipSpace(p.b, i)
		c = byteAt(p.b, i)
	}
	switch c {
	case ',':
		if i++; byteAt(p.b, i) <= ' ' {
			i = skipSpace(p.b, i)
		}
		return i, true
	case ']':
		return i + 1, false
	}
	return scan.Failed, false
}

// member parses a member's name and the colon. It returns the field and the index of its
// value.
func (p *Parser) member(i int, allowed fields, seen *fields) (field, int) {
	f, end := readName(p.b, i)
	if f == unknownField {
		if f, end = p.readUncommonName(i, allowed); end == scan.Failed {
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

// readUncommonName parses a name that readName does not recognize, for example one with
// escapes.
func (p *Parser) readUncommonName(i int, allowed fields) (field, int) {
	if byteAt(p.b, i) != '"' {
		return unknownField, scan.Failed
	}
	end, escaped := scanString(p.b, i)
	if end < 0 {
		return unknownField, scan.Failed
	}
	name := p.unescape(p.b[i:end], escaped)
	f := fieldByName(name)
	if f == unknownField {
		return f, p.fail(fault.Field(fault.Malformed, p.path(name), "is not a known field", allowed.names()...))
	}
	return f, end
}

// colon skips the colon after a name and returns the index of the value.
func (p *Parser) colon(i int) int {
	if byteAt(p.b, i) != ':' {
		if i = skipSpace(p.b, i); byteAt(p.b, i) != ':' {
			return scan.Failed
		}
	}
	if i++; byteAt(p.b, i) <= ' ' {
		i = skipSpace(p.b, i)
	}
	return i
}

// readList parses the array of rows or series at b[i].
func (p *Parser) readList(i int) int {
	name := fieldNames[p.list]
	if byteAt(p.b, i) != '[' {
		return p.wrongType(i, name, "an array")
	}
	i = skipSpace(p.b, i+1)
	if byteAt(p.b, i) == ']' {
		return i + 1
	}
	p.inObject = true
	for more := true; more; p.index++ {
		if byteAt(p.b, i) != '{' {
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
	p.inObject = false
	return i
}
