package request

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// describe converts an error of the parser into one that has the field and the reason and
// does not mention Go.
func describe(body []byte, err error) error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return describeSemantic(body, semantic)
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return describeSyntactic(body, syntactic)
	}
	return fault.Field(fault.Malformed, "body", "cannot be read").Because(err)
}

func describeSemantic(body []byte, err *json.SemanticError) error {
	field := fieldPath(body, err.JSONPointer)
	var null *nullError
	switch {
	case errors.As(err.Err, &null):
		return fault.Field(fault.Malformed, field, "must be "+expected(null.target)+", not null").Because(err)
	case errors.Is(err.Err, json.ErrUnknownName):
		return fault.Field(fault.Malformed, field, "is not a known field", memberNames(err.GoType)...).Because(err)
	case errors.Is(err.Err, strconv.ErrRange):
		return fault.Field(fault.Invalid, field, "is beyond the range of numbers").Because(err)
	case err.JSONKind == '0' && isInteger(err.GoType):
		return fault.Field(fault.Malformed, field, "must be an integer, without fraction or exponent").Because(err)
	case err.JSONKind == '"' && err.Err != nil:
		return fault.Field(fault.Invalid, field, "has not the right form").Because(err)
	}
	return fault.Field(
		fault.Malformed, field, "must be "+expected(err.GoType)+", not "+kindName(err.JSONKind),
	).Because(err)
}

func describeSyntactic(body []byte, err *jsontext.SyntacticError) error {
	field := fieldPath(body, err.JSONPointer)
	reason := "is not valid JSON"
	switch text := err.Err; {
	case errors.Is(text, jsontext.ErrDuplicateName):
		reason = "is given more than once"
	case errors.Is(text, io.ErrUnexpectedEOF) || errors.Is(text, io.EOF):
		reason = "ends too early"
	case text != nil && strings.Contains(text.Error(), "UTF-8"):
		reason = "is not valid UTF-8"
	case text != nil && strings.Contains(text.Error(), "surrogate"):
		reason = "has a lone surrogate"
	case text != nil && strings.Contains(text.Error(), "after top-level value"):
		reason = "has text after the JSON value"
	}
	return fault.Field(fault.Malformed, field, reason).With("position", err.ByteOffset).Because(err)
}

// fieldPath converts a JSON pointer into the path in error responses: names joined by
// dots, and indexes in brackets, as in metrics[0].name. It uses body to distinguish an
// index from a name that consists of digits.
func fieldPath(body []byte, pointer jsontext.Pointer) string {
	var path strings.Builder
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	for token := range pointer.Tokens() {
		if dec.PeekKind() == '[' {
			path.WriteString("[" + token + "]")
			index, _ := strconv.Atoi(token)
			descendArray(dec, index)
			continue
		}
		writeName(&path, token)
		descendObject(dec, token)
	}
	if path.Len() == 0 {
		return "body"
	}
	return path.String()
}

// descendArray and descendObject advance the decoder to the given entry or member. They
// ignore errors: if the body is not valid JSON, only the brackets of the remaining path
// are lost.
func descendArray(dec *jsontext.Decoder, index int) {
	_, _ = dec.ReadToken()
	for range index {
		if dec.SkipValue() != nil {
			return
		}
	}
}

func descendObject(dec *jsontext.Decoder, name string) {
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil || token.String() == name || dec.SkipValue() != nil {
			return
		}
	}
}

// maxShownName is the maximum number of characters of a client's name in a response.
const maxShownName = 100

// Member returns the path of an object's member in the form that DecodeJSON uses. A name
// that would be ambiguous in a path is quoted, as in tags["a.b"].
func Member(object, name string) string {
	var path strings.Builder
	path.WriteString(object)
	writeName(&path, name)
	return path.String()
}

func writeName(path *strings.Builder, name string) {
	name = shorten(name)
	if name == "" || strings.ContainsAny(name, `.[]"\`) || strings.ContainsFunc(name, isControl) {
		quoted, _ := jsontext.AppendQuote(nil, name)
		path.WriteString("[" + string(quoted) + "]")
		return
	}
	if path.Len() > 0 {
		path.WriteByte('.')
	}
	path.WriteString(name)
}

func shorten(name string) string {
	if runes := []rune(name); len(runes) > maxShownName {
		return string(runes[:maxShownName]) + "…"
	}
	return name
}

// expected returns the JSON type that decodes into a Go type.
func expected(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return "another type"
	case isInteger(t):
		return "an integer"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	}
	return "an object"
}

func isInteger(t reflect.Type) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t != nil && t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[', ']':
		return "an array"
	}
	return "an object"
}

// memberNames returns the JSON names of a struct's fields.
func memberNames(t reflect.Type) []string {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
