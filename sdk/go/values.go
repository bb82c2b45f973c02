package livegraph

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Field is a field of a change: absent, null or a value. The zero Field is absent, and the field does not change.
type Field[T any] struct {
	present, null bool
	value         T
}

// Set returns a field with a value.
func Set[T any](value T) Field[T] { return Field[T]{present: true, value: value} }

// Null returns a field that removes the value.
func Null[T any]() Field[T] { return Field[T]{present: true, null: true} }

// IsZero reports whether the field is absent. Package encoding/json then omits it.
func (f Field[T]) IsZero() bool { return !f.present }

// MarshalJSON returns null or the value.
func (f Field[T]) MarshalJSON() ([]byte, error) {
	if f.null || !f.present {
		return []byte("null"), nil
	}
	return encode(f.value)
}

// Properties are the custom attributes of a node or an edge. Numbers are float64, except that integers which a
// float64 may not represent exactly are json.Number.
type Properties map[string]any

// maxExactDigits is the number of digits of the integers that a float64 represents exactly.
const maxExactDigits = 15

// UnmarshalJSON reads an object.
func (p *Properties) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return err
	}
	for key, value := range values {
		values[key] = simplifyNumbers(value)
	}
	*p = values
	return nil
}

// simplifyNumbers replaces numbers by a float64 if it represents them.
func simplifyNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		digits := strings.TrimPrefix(v.String(), "-")
		if len(digits) > maxExactDigits && !strings.ContainsAny(digits, ".eE") {
			return v
		}
		if number, err := v.Float64(); err == nil {
			return number
		}
	case map[string]any:
		for key, inner := range v {
			v[key] = simplifyNumbers(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = simplifyNumbers(inner)
		}
	}
	return value
}

// CommandOutcome is the result of a command or a batch in JSON: a [CommandResult] or a [BatchResult].
type CommandOutcome = json.RawMessage

// RelativeTime returns a time relative to that of the server, such as -15 minutes, for queries of points.
func RelativeTime(offset time.Duration) Time {
	return Time(strconv.FormatInt(int64(offset/time.Second), 10) + "s")
}

// Time is a time in a query: RFC 3339, or in queries of points also relative, such as -15m. "" is not sent.
type Time string

// At returns a time in a query.
func At(t time.Time) Time { return Time(t.Format(time.RFC3339Nano)) }

// setText sets a parameter, unless its value is "".
func setText[T ~string](q url.Values, name string, value T) {
	if value != "" {
		q.Set(name, string(value))
	}
}

// textQuery returns parameters with one text, or none if its value is "".
func textQuery[T ~string](name string, value T) url.Values {
	q := url.Values{}
	setText(q, name, value)
	return q
}

// setTexts sets a parameter that is repeated.
func setTexts[T ~string](q url.Values, name string, values []T) {
	for _, value := range values {
		q.Add(name, string(value))
	}
}

// setNumber sets a parameter, unless its value is 0.
func setNumber(q url.Values, name string, value int) {
	if value != 0 {
		q.Set(name, strconv.Itoa(value))
	}
}

// setFilter sets the parameters of a filter by key, such as tag.room=cellar.
func setFilter(q url.Values, prefix string, values Filter) {
	for key, list := range values {
		q[prefix+"."+key] = list
	}
}

// Filter has values by key. Several values of one key match any of them.
type Filter map[string][]string

// Where returns a filter by one value of one key.
func Where(key string, values ...string) Filter { return Filter{key: values} }
