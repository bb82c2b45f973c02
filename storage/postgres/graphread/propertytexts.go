package graphread

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/graph"
)

// TextValues returns the values that a text matches: the string, and the number or boolean whose canonical encoding is
// the text.
func TextValues(text string) []jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, text) // the text is valid UTF-8
	values := []jsontext.Value{quoted}
	if text == "true" || text == "false" {
		return append(values, jsontext.Value(text))
	}
	if number, _ := jsonNumber(text); number != nil && string(number) == text {
		values = append(values, number)
	}
	return values
}

// jsonNumber reports whether a text is a number in JSON, and returns its canonical encoding, nil if it is beyond the
// range of a 64-bit float.
func jsonNumber(text string) (canonical jsontext.Value, isNumber bool) {
	value := jsontext.Value(text)
	if strings.Trim(text, "+-.0123456789eE") != "" || value.Kind() != '0' || !value.IsValid() {
		return nil, false
	}
	parsed, err := graph.ParseProperties(jsontext.Value(`{"":` + text + `}`))
	if err != nil {
		return nil, true
	}
	return parsed[""], true
}

// TextBound returns the bound that a text is: a number if the text is one in JSON, otherwise the string. A number
// beyond the range of a 64-bit float is beyond all numbers that are stored.
func TextBound(text string) jsontext.Value {
	value, isNumber := jsonNumber(text)
	switch {
	case !isNumber:
		value, _ = jsontext.AppendQuote(nil, text) // the text is valid UTF-8
	case value != nil:
	case text[0] == '-':
		value = jsontext.Value("-1e309")
	default:
		value = jsontext.Value("1e309")
	}
	return value
}
