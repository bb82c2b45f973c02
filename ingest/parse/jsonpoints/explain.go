package jsonpoints

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// fail notes why the request is refused.
func (p *Parser) fail(err *fault.Error) int {
	p.err = err
	return scan.Failed
}

// wrongType refuses the value at b[i] for its JSON type; what is no value at all
// is left to the check of the syntax.
func (p *Parser) wrongType(i int, path, want string) int {
	var have string
	switch c := at(p.b, i); {
	case c == '{':
		have = "an object"
	case c == '[':
		have = "an array"
	case c == '"':
		have = "a string"
	case c == 't', c == 'f':
		have = "a boolean"
	case c == 'n':
		have = "null"
	case c == '-', c-'0' <= 9:
		have = "a number"
	default:
		return scan.Failed
	}
	return p.fail(fault.Field(fault.Malformed, path, "must be "+want+", not "+have))
}

// wrongTypeUnlessSyntax is wrongType after a string or number could not be read:
// these are of the right type, but no JSON.
func (p *Parser) wrongTypeUnlessSyntax(i int, path, want string) int {
	if c := at(p.b, i); c == '"' || c == '-' || c-'0' <= 9 {
		return scan.Failed
	}
	return p.wrongType(i, path, want)
}

func (p *Parser) tooMany() int {
	field := p.batch.Hooks.ListName()
	reason := fmt.Sprintf("must hold at most %d points in one request", p.maxPoints)
	return p.fail(fault.Field(fault.Invalid, field, reason).With("limit", p.maxPoints))
}

// explain returns the error of a refused request. The syntax of the whole comes
// before anything else, so a body is judged the same wherever its faults are.
func (p *Parser) explain() error {
	if len(p.b) == space(p.b, 0) {
		return fault.Field(fault.Malformed, "body", "is empty, a JSON object is due")
	}
	if tooDeep(p.b) {
		return fault.Field(fault.Malformed, "body", "is nested too deep").With("limit", maxDepth)
	}
	if err := checkSyntax(p.b); err != nil {
		return err
	}
	if p.err == nil {
		return fault.Field(fault.Malformed, "body", "is not valid JSON")
	}
	return p.err
}

// maxDepth is how deep arrays and objects may be nested for the rest of the body
// to be judged; a good one has a depth of four.
const maxDepth = 64

// tooDeep reports whether brackets are nested beyond maxDepth.
func tooDeep(b []byte) bool {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '[', '{':
			if depth++; depth > maxDepth {
				return true
			}
		case ']', '}':
			depth--
		case '"':
			i = skipString(b, i)
		}
	}
	return false
}

// skipString returns where the string at b[i] has its closing quote.
func skipString(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// checkSyntax reports why a body is not JSON, by the parser that the rest of the
// interface uses. It is slow, and so only asked once something is wrong. Names
// given twice are no concern of it: among those of the interface parser has
// found them, and remembering all others would cost memory.
func checkSyntax(body []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	err := dec.SkipValue()
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
		return fault.Field(fault.Malformed, "body", "has text after the JSON value").With("position", dec.InputOffset())
	}
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return fault.Field(fault.Malformed, "body", "is not valid JSON").Because(err)
	}
	reason := "is not valid JSON"
	switch text := syntactic.Err; {
	case errors.Is(text, io.ErrUnexpectedEOF) || errors.Is(text, io.EOF):
		reason = "ends too early"
	case text == nil:
	case strings.Contains(text.Error(), "UTF-8"):
		reason = "is not valid UTF-8"
	case strings.Contains(text.Error(), "surrogate"):
		reason = "has a lone surrogate"
	}
	field := pointerPath(syntactic.JSONPointer)
	return fault.Field(fault.Malformed, field, reason).With("position", syntactic.ByteOffset).Because(err)
}

// pointerPath turns a JSON pointer into a path such as points[3].value. What
// looks like an index below a list's name is one.
func pointerPath(pointer jsontext.Pointer) string {
	path, inList := "", false
	for token := range pointer.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 31); err == nil && inList {
			path += "[" + token + "]"
			inList = false
			continue
		}
		switch lookup(token) {
		case fieldPoints, fieldSeries, fieldTimestamps, fieldValues:
			inList = true
		default:
			inList = false
		}
		path = fieldpath.Member(path, token)
	}
	if path == "" {
		return "body"
	}
	return path
}

// path returns the path of a field of the object that is being read, or of the
// object itself where name is empty.
func (p *Parser) path(name string) string {
	if !p.inside {
		return fieldpath.Member("", name)
	}
	object := objectPath(p.list, p.index)
	if name == "" {
		return object
	}
	return fieldpath.Member(object, name)
}

func (p *Parser) entryPath(f field, position int) string {
	return fieldpath.Index(p.path(fieldNames[f]), position)
}

func objectPath(list field, index int) string { return fieldpath.Index(fieldNames[list], index) }
