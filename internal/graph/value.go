package graph

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// tree is a decoded JSON value: nil, bool, string, number, []tree, or object.
type tree any

// number is a JSON number in its canonical form.
type number string

type object map[string]tree

// Reasons why a value is invalid, as the API reports them.
var (
	errNul    = errors.New("must not contain U+0000")
	errNumber = errors.New("holds a number beyond the range of a 64-bit float")
	errDepth  = fmt.Errorf("is nested deeper than %d levels", MaxDepth)
	errJSON   = errors.New("must be valid JSON")
	errObject = errors.New("must be an object")
)

// Creating a decoder costs more than decoding most values.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(new(bytes.Buffer)) }}

// parse decodes one JSON value. depth is the maximum nesting of arrays and objects.
func parse(raw []byte, depth int) (tree, error) {
	dec := decoders.Get().(*jsontext.Decoder)
	dec.Reset(bytes.NewBuffer(raw)) // the decoder reads a bytes.Buffer in place
	defer func() {
		dec.Reset(new(bytes.Buffer)) // releases raw
		decoders.Put(dec)
	}()
	value, err := parseNext(dec, depth)
	if err != nil {
		return nil, err
	}
	if dec.PeekKind() != 0 || dec.InputOffset() != int64(len(bytes.TrimRight(raw, " \t\r\n"))) {
		return nil, errJSON
	}
	return value, nil
}

func parseNext(dec *jsontext.Decoder, depth int) (tree, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, errJSON
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return checkedText(token.String())
	case '0':
		return canonicalNumber(token.String())
	case '[':
		return parseArray(dec, depth-1)
	case '{':
		return parseObject(dec, depth-1)
	}
	return nil, errJSON
}

func parseArray(dec *jsontext.Decoder, depth int) (tree, error) {
	if depth < 0 {
		return nil, errDepth
	}
	array := []tree{}
	for dec.PeekKind() != ']' {
		value, err := parseNext(dec, depth)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := dec.ReadToken()
	return array, err
}

func parseObject(dec *jsontext.Decoder, depth int) (tree, error) {
	if depth < 0 {
		return nil, errDepth
	}
	members := object{}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, errJSON
		}
		name, err := checkedText(token.String())
		if err != nil {
			return nil, err
		}
		if members[name], err = parseNext(dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return members, err
}

func checkedText(s string) (string, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return "", errNul
	}
	return s, nil
}

// canonicalNumber returns a JSON number in the form in which a jsonb column returns it:
// an integer unchanged, any other number as the nearest 64-bit float without an
// exponent.
func canonicalNumber(text string) (number, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return "", errNumber
	}
	if f == 0 {
		return "0", nil
	}
	if !strings.ContainsAny(text, ".eE") {
		return number(text), nil
	}
	return number(strconv.FormatFloat(f, 'f', -1, 64)), nil
}

// encode appends a value in its canonical form: without spaces, members sorted by the
// bytes of their names, strings with the fewest escapes that JSON allows.
func encode(dst []byte, value tree) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return appendQuoted(dst, v)
	case number:
		return append(dst, v...)
	case []tree:
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = encode(dst, element)
		}
		return append(dst, ']')
	case object:
		return encodeObject(dst, v)
	}
	panic(fmt.Sprintf("graph: %T is no JSON value", value))
}

func encodeObject(dst []byte, members object) []byte {
	dst = append(dst, '{')
	for i, name := range sortedKeys(members) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, name), ':')
		dst = encode(dst, members[name])
	}
	return append(dst, '}')
}

// appendQuoted appends a string as JSON. The parser has validated that s is UTF-8.
func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// countKeys counts the members of all objects in a value, at every level.
func countKeys(value tree) int {
	count := 0
	switch v := value.(type) {
	case []tree:
		for _, element := range v {
			count += countKeys(element)
		}
	case object:
		count = len(v)
		for _, member := range v {
			count += countKeys(member)
		}
	}
	return count
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
