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
	// MaxBody is the limit of a body, decoded, where a route has no other: 1 MiB.
	MaxBody = 1 << 20
	// MaxDepth is how deep arrays and objects may be nested in a body.
	MaxDepth = 64
)

// JSON reads the request's body of at most MaxBody strictly into v, a pointer to
// a struct, as DecodeJSON does. Content-Type must be application/json (for PATCH
// also application/merge-patch+json).
func JSON(r *http.Request, v any) error {
	types := []string{mediaJSON}
	if r.Method == http.MethodPatch {
		types = append(types, "application/merge-patch+json")
	}
	body, release, err := Body(nil, r, MaxBody, Types(types...))
	if err != nil {
		return err
	}
	defer release()
	if err := DecodeJSON(body, v); err != nil {
		return err
	}
	if OperatorOf(r.Context()) != nil { // whose trail tells them
		NotesOf(r.Context()).set(body)
	}
	return nil
}

// SmallJSON reads what comes without a key or a session as JSON does, but at most limit
// bytes, in no encoding, and within waitTimeout: Timeout says that it took longer.
func SmallJSON(w http.ResponseWriter, r *http.Request, v any, limit int64, waitTimeout time.Duration) error {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(waitTimeout)) // where it cannot, the server's own holds
	body, release, err := Body(w, r, limit, Plain())
	if err != nil {
		return err
	}
	defer release()
	_ = connection.SetReadDeadline(time.Time{}) // else it would end the work on the request
	return DecodeJSON(body, v)
}

// DecodeJSON reads one JSON object strictly into v, a pointer to a struct.
//
// Malformed: what is no JSON by RFC 8259 and RFC 7493 (duplicate names, invalid
// UTF-8, lone surrogates, a byte order mark, text after the value), nesting
// beyond MaxDepth, an unknown field (names are case-sensitive), a value of
// another type, null where v has no [Nullable]. Invalid: a number beyond what
// its type holds, U+0000 in a string. All name the field in details.
//
// Fields that may be absent are pointers: nil then. Nothing in v aliases body.
func DecodeJSON(body []byte, v any) error {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return fault.Field(fault.Malformed, "body", "is empty, a JSON object is due")
	}
	if err := checkDepth(body); err != nil {
		return err
	}
	// The syntax of the whole comes before the types of its parts, so that a
	// body is judged the same wherever its faults are.
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if err := dec.SkipValue(); err != nil {
		return describe(body, err)
	}
	if err := json.Unmarshal(body, v, json.RejectUnknownMembers(true), json.WithUnmarshalers(refuseNull)); err != nil {
		return describe(body, err)
	}
	return checkNUL(body)
}

// refuseNull makes null an error wherever the target is not made for it: by
// default it would silently become the zero value.
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

// Nullable is a field that may be absent, null or a value, as a merge patch
// (RFC 7396) tells them apart.
type Nullable[T any] struct {
	Set   bool // the field is there
	Null  bool // it is there and null
	Value T    // the zero value unless it is there and not null
}

func (*Nullable[T]) nullable() {}

// UnmarshalJSONFrom reads null or a T.
func (n *Nullable[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*n = Nullable[T]{Set: true}
	if dec.PeekKind() == 'n' {
		n.Null = true
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, &n.Value)
}

// checkDepth bounds the nesting before anything recurses over it. Brackets that
// do not match are the parser's business.
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

// checkNUL refuses U+0000 in any name or string: no store takes it. Body is
// known to be well-formed, so that the escape is the only way to write it.
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

// DecodePart reads a JSON object that is part of a body which DecodeJSON has read, as
// strictly. path is where the part is, such as payload; fields are named from there.
// With "" they are named as if the part were the body.
func DecodePart(part jsontext.Value, path string, v any) error {
	err := json.Unmarshal(part, v, json.RejectUnknownMembers(true), json.WithUnmarshalers(refuseNull))
	if err == nil {
		return nil
	}
	return Under(path, describe(part, err))
}

// Under puts a path in front of the field that an error names, if it names one.
func Under(path string, err error) error {
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

// Nothing refuses parameters and a body, except for an empty object.
func Nothing(r *http.Request) error {
	if err := Query(r).Err(); err != nil {
		return err
	}
	if r.ContentLength == 0 {
		return nil
	}
	return JSON(r, &struct{}{})
}
