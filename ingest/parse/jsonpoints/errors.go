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

// fail sets the error of the request and returns failed.
func (p *Parser) fail(err *fault.Error) int {
	p.err = err
	return scan.Failed
}

// wrongType refuses the request because of the JSON type of the value at b[i]. If there
// is no value at b[i], it leaves the error to the syntax check.
func (p *Parser) wrongType(i int, path, want string) int {
	var have string
	switch c := byteAt(p.b, i); {
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

// wrongTypeUnlessSyntax is like wrongType, but leaves strings and numbers that cannot be
// parsed to the syntax check: their type is right, but they are not JSON.
func (p *Parser) wrongTypeUnlessSyntax(i int, path, want string) int {
	if c := byteAt(p.b, i); c == '"' || c == '-' || c-'0' <= 9 {
		return scan.Failed
	}
	return p.wrongType(i, path, want)
}

func (p *Parser) failTooMany() int {
	field := p.batch.Hooks.ListName()
	reason := fmt.Sprintf("must hold at most %d points in one request", p.maxPoints)
	return p.fail(fault.Field(fault.Invalid, field, reason).With("limit", p.maxPoints))
}

// requestError returns the error of a refused request. A syntax error anywhere in the
// body takes precedence, so that the error does not depend on the order of the errors.
func (p *Parser) requestError() error {
	if len(p.b) == skipSpace(p.b, 0) {
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

// maxDepth is the maximum nesting depth of a body. A valid body has a depth of four.
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

// skipString returns the index of the closing quote of the string at b[i].
func skipString(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// checkSyntax returns an error if the body is not valid JSON. It uses the JSON decoder of
// the other endpoints, which is slower, so it is called only after an error. It allows
// duplicate names: Parser checks those of known fields, and a check of all others would
// need memory.
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

// pointerPath converts a JSON pointer into a path such as points[3].value. A number
// after the name of a list is an index.
func pointerPath(pointer jsontext.Pointer) string {
	path, inList := "", false
	for token := range pointer.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 31); err == nil && inList {
			path += "[" + token + "]"
			inList = false
			continue
		}
		switch fieldByName(token) {
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

// path returns the path of a field of the current object, or of the object itself if name
// is empty.
func (p *Parser) path(name string) string {
	if !p.inObject {
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
