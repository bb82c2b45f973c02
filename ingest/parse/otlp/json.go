package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// lengthBytes is the number of bytes of the length of a nested message. It is known only after the message is
// written, so it is a varint with a fixed number of bytes. 2^28 is more than the largest body can become.
const lengthBytes = 4

var (
	errForm    = errors.New("not the type of the field")
	errTooMany = errors.New("too many values")
)

// encoder encodes JSON in protobuf. It keeps the JSON's order of fields, so that the paths of both are equal. The size
// of the result is at most a few times that of the JSON: the bounds and counts of a list have 8 bytes each, and their
// number is limited. The counts of exponential histograms are not larger than in the JSON.
type encoder struct {
	d       *jsontext.Decoder
	b       []byte
	numbers int // of eight bytes in lists; how many more there may be
	why     string
}

// appendRequest appends an ExportMetricsServiceRequest in JSON to b, encoded in protobuf. The JSON is that of protobuf,
// with the exceptions of OTLP: names in lowerCamelCase only, unknown names are ignored
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
func appendRequest(b, body []byte, maxPoints int) ([]byte, error) {
	e := &encoder{
		// A bound and a count for each bucket.
		d: jsontext.NewDecoder(bytes.NewBuffer(body)), b: b, numbers: 2*maxPoints + 2*maxBuckets,
	}
	err := e.object(requestMessage)
	if err == nil {
		if _, end := e.d.ReadToken(); end == nil {
			return nil, fault.Field(fault.Malformed, "body", "must be one JSON object, without data after it")
		}
		return e.b, nil
	}
	switch {
	case errors.Is(err, errTooMany):
		return nil, tooMany(maxPoints)
	case errors.Is(err, errForm):
		return nil, fault.Field(fault.Malformed, e.path(), e.why)
	}
	return nil, fault.Field(fault.Malformed, "body", "is not valid JSON, or names a field of an object twice").Because(err)
}

// path returns the path of the value that was read last.
func (e *encoder) path() string {
	path := ""
	for token := range e.d.StackPointer().Tokens() {
		if index, err := strconv.Atoi(token); err == nil && path != "" {
			path = fieldpath.Index(path, index)
		} else {
			path = fieldpath.Member(path, token)
		}
	}
	if path == "" {
		return "body"
	}
	return path
}

func (e *encoder) wrong(why string) error {
	e.why = why
	return errForm
}

// object reads an object and writes its fields.
func (e *encoder) object(m messageType) error {
	token, err := e.d.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '{' {
		return e.wrong("must be an object")
	}
	for e.d.PeekKind() != '}' {
		if token, err = e.d.ReadToken(); err != nil {
			return err
		}
		field, known := messages[m][token.String()]
		switch {
		case !known || e.d.PeekKind() == 'n' || field.describes && !field.form.has(e.d.PeekKind()):
			err = e.d.SkipValue()
		case field.list:
			err = e.array(field)
		default:
			err = e.value(field)
		}
		if err != nil {
			return err
		}
	}
	_, err = e.d.ReadToken()
	return err
}

// has reports whether values of the form, which is formString or formBool, are tokens of a kind.
func (f form) has(kind jsontext.Kind) bool {
	if f == formString {
		return kind == '"'
	}
	return kind == 't' || kind == 'f'
}

// array reads an array and writes a field for each of its elements.
func (e *encoder) array(f field) error {
	token, err := e.d.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '[' {
		return e.wrong("must be an array")
	}
	for e.d.PeekKind() != ']' {
		if f.form == formDouble || f.form == formFixed {
			if e.numbers--; e.numbers < 0 {
				return errTooMany
			}
		}
		if err := e.value(f); err != nil {
			return err
		}
	}
	_, err = e.d.ReadToken()
	return err
}

// value reads a value and writes it as a field.
func (e *encoder) value(f field) error {
	if f.form == formMessage {
		e.b = protobufTag(e.b, f.number, protobuf.Bytes)
		from := len(e.b)
		e.b = append(e.b, make([]byte, lengthBytes)...)
		if err := e.object(f.message); err != nil {
			return err
		}
		setLength(e.b[from:from+lengthBytes], len(e.b)-from-lengthBytes)
		return nil
	}
	token, err := e.d.ReadToken()
	if err != nil {
		return err
	}
	switch f.form {
	case formString, formBytes, formHex:
		return e.text(f, token)
	case formBool:
		if token.Kind() != 't' && token.Kind() != 'f' {
			return e.wrong("must be a boolean")
		}
		e.b = append(protobufTag(e.b, f.number, protobuf.Varint), map[bool]byte{true: 1}[token.Bool()])
		return nil
	case formDouble:
		return e.double(f, token)
	}
	return e.integer(f, token)
}

func (e *encoder) text(f field, token jsontext.Token) error {
	if token.Kind() != '"' {
		return e.wrong("must be a string")
	}
	text := []byte(token.String())
	if f.form == formBytes {
		decoded, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return e.wrong("must be a string in base64")
		}
		text = decoded
	}
	if f.form == formHex { // ids, which the JSON of OTLP has in hexadecimal
		decoded, err := hex.DecodeString(string(text))
		if err != nil {
			return e.wrong("must be a string in hexadecimal")
		}
		text = decoded
	}
	e.b = binary.AppendUvarint(protobufTag(e.b, f.number, protobuf.Bytes), uint64(len(text)))
	e.b = append(e.b, text...)
	return nil
}

func (e *encoder) double(f field, token jsontext.Token) error {
	text := token.String()
	value, err := strconv.ParseFloat(text, 64)
	isNumber := token.Kind() == '0' || token.Kind() == '"' && isNumeric(text)
	switch {
	case token.Kind() == '"' && text == "NaN", token.Kind() == '"' && strings.TrimPrefix(text, "-") == "Infinity":
	case !isNumber:
		return e.wrong("must be a number")
	case err != nil:
		return e.wrong("is beyond the range of numbers")
	}
	e.b = binary.LittleEndian.AppendUint64(protobufTag(e.b, f.number, protobuf.Fixed64), math.Float64bits(value))
	return nil
}

// isNumeric reports whether a text has the form of a JSON number.
func isNumeric(text string) bool {
	v := jsontext.Value(text)
	return len(text) > 0 && v.Kind() == '0' && v.IsValid() && strings.TrimSpace(text) == text
}

// integer reads an integer, which can also be a string. Enumerations can be the names of their values.
func (e *encoder) integer(f field, token jsontext.Token) error {
	text := token.String()
	if value, isName := temporalities[text]; isName && f.form == formEnum && token.Kind() == '"' {
		e.b = binary.AppendUvarint(protobufTag(e.b, f.number, protobuf.Varint), value)
		return nil
	}
	if token.Kind() != '0' && (token.Kind() != '"' || !isNumeric(text)) {
		return e.wrong("must be an integer")
	}
	value, ok := parseInteger(text, f.form)
	if !ok {
		return e.wrong("must be an integer within the range of the field")
	}
	switch f.form {
	case formFixed, formSignedFixed:
		e.b = binary.LittleEndian.AppendUint64(protobufTag(e.b, f.number, protobuf.Fixed64), value)
	case formZigzag:
		zigzag := uint32(value)<<1 ^ uint32(int32(value)>>31)
		e.b = binary.AppendUvarint(protobufTag(e.b, f.number, protobuf.Varint), uint64(zigzag))
	default:
		e.b = binary.AppendUvarint(protobufTag(e.b, f.number, protobuf.Varint), value)
	}
	return nil
}

// parseInteger parses a JSON number that is an integer, perhaps with an exponent or zeros after the point.
func parseInteger(text string, f form) (value uint64, ok bool) {
	if strings.ContainsAny(text, ".eE") {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v != math.Trunc(v) || math.Abs(v) >= 1<<63 {
			return 0, false
		}
		text = strconv.FormatInt(int64(v), 10)
	}
	var err error
	switch f {
	case formFixed, formVarint:
		value, err = strconv.ParseUint(text, 10, 64)
	case formUint32:
		value, err = strconv.ParseUint(text, 10, 32)
	case formZigzag, formEnum:
		var v int64
		v, err = strconv.ParseInt(text, 10, 32)
		value = uint64(v)
	default:
		var v int64
		v, err = strconv.ParseInt(text, 10, 64)
		value = uint64(v)
	}
	return value, err == nil
}

func protobufTag(b []byte, number, wire uint64) []byte {
	return binary.AppendUvarint(b, number<<3|wire)
}

// setLength writes a length as a varint of lengthBytes bytes.
func setLength(b []byte, length int) {
	for i := range b {
		b[i] = byte(length>>(7*i))&0x7f | 0x80
	}
	b[len(b)-1] &^= 0x80
}
