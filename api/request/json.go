package request

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// MaxBody is the default limit of a decoded body: 1 MiB.
	MaxBody = 1 << 20
	// MaxDepth is the maximum nesting depth of arrays and objects in a body.
	MaxDepth = 64
)

// JSON reads the request's body of at most MaxBody and decodes it like DecodeJSON into
// v, a pointer to a struct. Content-Type must be application/json, or for PATCH also
// application/merge-patch+json.
func JSON(r *http.Request, v any) error {
	body, release, err := JSONBody(r, v)
	if err != nil {
		return err
	}
	defer release()
	if OperatorOf(r.Context()) != nil { // the operators' audit trail contains them
		NotesOf(r.Context()).setFields(body)
	}
	return nil
}

// JSONBody reads and decodes the request's body like JSON, and returns its bytes, which are valid until release is
// called. It does not note the fields for the operators' audit trail.
func JSONBody(r *http.Request, v any) (body []byte, release func(), err error) {
	types := []string{mediaJSON}
	if r.Method == http.MethodPatch {
		types = append(types, "application/merge-patch+json")
	}
	body, release, err = Body(nil, r, MaxBody, Types(types...))
	if err != nil {
		return nil, nil, err
	}
	if err := DecodeJSON(body, v); err != nil {
		release()
		return nil, nil, err
	}
	return body, release, nil
}

// SmallJSON is like JSON, for requests without a key or a session. It reads at most limit
// bytes, without encoding. If the body takes longer than waitTimeout, it returns a Timeout
// error.
func SmallJSON(w http.ResponseWriter, r *http.Request, v any, limit int64, waitTimeout time.Duration) error {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(waitTimeout)) // on failure the server's deadline applies
	body, release, err := Body(w, r, limit, NoEncoding())
	if err != nil {
		return err
	}
	defer release()
	_ = connection.SetReadDeadline(time.Time{}) // otherwise it would cancel the request
	return DecodeJSON(body, v)
}

// DecodeJSON strictly decodes one JSON object into v, a pointer to a struct.
//
// It returns a Malformed error if body is not JSON by RFC 8259 and RFC 7493
// (duplicate names, invalid UTF-8, lone surrogates, a byte order mark, text after
// the value), is nested beyond MaxDepth, or has an unknown field (names are
// case-sensitive), a value of another type, or null for a field that is not a
// [Nullable]. It returns an Invalid error for a number beyond the range of its type
// and for U+0000 in a string. All errors have the field in their details.
//
// Optional fields are pointers, which are nil if the field is absent. Nothing in v
// aliases body.
func DecodeJSON(body []byte, v any) error {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return fault.Field(fault.Malformed, "body", "is empty, a JSON object is due")
	}
	if err := checkDepth(body); err != nil {
		return err
	}
	// Check the syntax of the whole body before the types of its fields, so that
	// the error does not depend on the order of the errors.
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if err := dec.SkipValue(); err != nil {
		return describe(body, err)
	}
	if err := json.Unmarshal(body, v, json.RejectUnknownMembers(true), json.WithUnmarshalers(refuseNull)); err != nil {
		return describe(body, err)
	}
	return checkNUL(body)
}

// refuseNull makes null an error unless the target supports it. By default, null would
// silently become the zero value.
var refuseNull = json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v any) error {
	if dec.PeekKind() != 'n' {
		return errors.ErrUnsupported
	}
	switch v.(type) {
	case nullable, *any, *jsontext.Value:
		return errors.ErrUnsupported
	}
	return &nullError{target: reflect.TypeOf(v).Elem()}
})

type nullError struct{ target reflect.Type }

func (e *nullError) Error() string { return "null where " + expected(e.target) + " is due" }

type nullable interface{ nullable() }

// Nullable is a field that may be absent, null or a value. A merge patch (RFC 7396)
// distinguishes these.
type Nullable[T any] struct {
	Set   bool // the field is present
	Null  bool // the field is present and null
	Value T    // the zero value unless the field is present and not null
}

func (*Nullable[T]) nullable() {}

// UnmarshalJSONFrom decodes null or a T.
func (n *Nullable[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*n = Nullable[T]{Set: true}
	if dec.PeekKind() == 'n' {
		n.Null = true
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, &n.Value)
}

// checkDepth checks the nesting depth before a recursive parser reads the body. It
// does not check that brackets match.
func checkDepth(body []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fault.Field(fault.Malformed, "body", "is nested too deep").With("limit", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// checkNUL refuses U+0000 in any name or string, because no store accepts it. body must
// be valid JSON, so U+0000 can occur only as an escape.
func checkNUL(body []byte) error {
	if !bytes.Contains(body, []byte(`\u0000`)) {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil // the end
		}
		if token.Kind() == '"' && strings.Contains(token.String(), "\x00") {
			return fault.Field(fault.Invalid, fieldPath(body, dec.StackPointer()), "must not contain U+0000")
		}
	}
}

// DecodePart decodes a JSON object that is part of a body that DecodeJSON has decoded, with
// the same checks. path is the path of the part, such as payload, and prefixes the fields in
// errors. If it is "", fields are named as if the part were the body.
func DecodePart(part jsontext.Value, path string, v any) error {
	err := json.Unmarshal(part, v, json.RejectUnknownMembers(true), json.WithUnmarshalers(refuseNull))
	if err == nil {
		return nil
	}
	return PrefixField(path, describe(part, err))
}

// PrefixField prepends path to the field in an error's details, if there is one.
func PrefixField(path string, err error) error {
	var inner *fault.Error
	if !errors.As(err, &inner) {
		return err
	}
	field, named := inner.Details["field"].(string)
	if !named {
		return err
	}
	reason, _ := inner.Details["reason"].(string)
	switch {
	case path == "":
		return err
	case field == "body":
		field = path
	case strings.HasPrefix(field, "["):
		field = path + field
	default:
		field = path + "." + field
	}
	outer := fault.New(inner.Kind, field+": "+reason).Because(inner)
	for name, detail := range inner.Details {
		_ = outer.With(name, detail)
	}
	return outer.With("field", field)
}

// NoInput returns an error if the request has parameters, or a body other than an empty object.
func NoInput(r *http.Request) error {
	if err := Query(r).Err(); err != nil {
		return err
	}
	if r.ContentLength == 0 {
		return nil
	}
	return JSON(r, &struct{}{})
}
