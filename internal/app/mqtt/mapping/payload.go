package mapping

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxItems bounds the objects of a JSON payload, and the fields of each.
	maxItems = 1_000
	// maxDepth bounds the nesting of fields that become metrics.
	maxDepth = 8
)

// object is a JSON object. The nil object has no field.
type object struct{ fields map[string]jsontext.Value }

// parseObjects parses a payload that is an object or an array of objects.
func parseObjects(payload []byte) ([]*object, error) {
	raw := []jsontext.Value{payload}
	if jsontext.Value(payload).Kind() == '[' {
		if err := json.Unmarshal(payload, &raw); err != nil {
			return nil, errors.New("the payload is not JSON")
		}
	}
	if len(raw) > maxItems {
		return nil, fmt.Errorf("the payload has more than %d objects", maxItems)
	}
	objects := make([]*object, 0, len(raw))
	for _, value := range raw {
		o, err := parseObject(value)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func parseObject(value jsontext.Value) (*object, error) {
	o := &object{}
	err := json.Unmarshal(value, &o.fields)
	if err != nil || o.fields == nil {
		return nil, errors.New("the payload is not a JSON object, nor an array of them")
	}
	return o, nil
}

// find returns the value at a path.
func (o *object) find(path []string) (value jsontext.Value, ok bool) {
	for i, name := range path {
		if o == nil {
			return nil, false
		}
		if value, ok = o.fields[name]; !ok || i == len(path)-1 {
			return value, ok
		}
		if o, _ = parseObject(value); o == nil {
			return nil, false
		}
	}
	return nil, false
}

// text returns the string, number or boolean at a path as text.
func (o *object) text(path []string) (text string, ok bool) {
	value, ok := o.find(path)
	if !ok {
		return "", false
	}
	switch value.Kind() {
	case '"':
		return unquote(value), true
	case '0', 't', 'f':
		return string(value), true
	}
	return "", false
}

// unquote returns the text of a JSON string that has been parsed.
func unquote(value jsontext.Value) (text string) {
	_ = json.Unmarshal(value, &text)
	return text
}

// scalar is a value at a path of an object.
type scalar struct {
	path  string
	value Value
}

// scalars returns all numbers, booleans and strings of an object, in the order of their paths. Arrays and nulls are
// left out.
func (o *object) scalars() ([]scalar, error) {
	var list []scalar
	if err := o.addScalars(&list, "", 1); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b scalar) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

func (o *object) addScalars(list *[]scalar, prefix string, depth int) error {
	for name, raw := range o.fields {
		if raw.Kind() == '{' {
			nested, err := parseObject(raw)
			if err == nil && depth == maxDepth {
				err = fmt.Errorf("the payload is nested deeper than %d levels", maxDepth)
			}
			if err == nil {
				err = nested.addScalars(list, prefix+name+".", depth+1)
			}
			if err != nil {
				return err
			}
			continue
		}
		value, ok := jsonValue(raw)
		if !ok {
			continue
		}
		if len(*list) == maxItems {
			return fmt.Errorf("the payload has more than %d fields", maxItems)
		}
		*list = append(*list, scalar{prefix + name, value})
	}
	return nil
}

// Value is a number or a string.
type Value struct {
	Number float64
	Text   string
	IsText bool
}

// jsonValue returns the value of a JSON number, boolean or string. ok is false for others, and for numbers beyond the
// range of a double.
func jsonValue(raw jsontext.Value) (v Value, ok bool) {
	switch raw.Kind() {
	case '"':
		return Value{Text: unquote(raw), IsText: true}, true
	case 't':
		return Value{Number: 1}, true
	case 'f':
		return Value{}, true
	case '0':
		n, err := strconv.ParseFloat(string(raw), 64)
		return Value{Number: n}, err == nil
	}
	return v, false
}

// numberValue returns the value of a payload that is a number or a boolean.
func numberValue(payload []byte) (Value, error) {
	text := strings.TrimSpace(string(payload))
	switch strings.ToLower(text) {
	case "true", "on":
		return Value{Number: 1}, nil
	case "false", "off":
		return Value{}, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || strings.ContainsAny(text, "xX_") {
		return Value{}, errors.New("the payload is not a number, true, false, on or off")
	}
	return Value{Number: n}, nil
}

// textValue returns the value of a payload that is a text.
func textValue(payload []byte) (Value, error) {
	if !utf8.Valid(payload) {
		return Value{}, errors.New("the payload is not UTF-8")
	}
	return Value{Text: string(payload), IsText: true}, nil
}

// units are the units of times that are numbers.
var units = map[string]time.Duration{
	"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond,
}

// timeOf returns the time at a path in µs since the epoch: RFC 3339, or a number of units since the epoch.
func (o *object) timeOf(path []string, unit time.Duration) (int64, error) {
	value, ok := o.find(path)
	name := strings.Join(path, ".")
	if !ok {
		return 0, fmt.Errorf("the payload lacks the time %s", name)
	}
	switch value.Kind() {
	case '"':
		t, err := time.Parse(time.RFC3339Nano, unquote(value))
		if err != nil || t.Year() < 1970 || t.Year() > 9999 {
			return 0, fmt.Errorf("the time %s is not in the format of RFC 3339", name)
		}
		return t.UnixMicro(), nil
	case '0':
		if us, ok := microseconds(string(value), unit); ok {
			return us, nil
		}
	}
	return 0, fmt.Errorf("the time %s is neither a string nor a number since 1970", name)
}

// microseconds converts a number of units. It is exact for whole numbers.
func microseconds(text string, unit time.Duration) (us int64, ok bool) {
	const maxUS = int64(1) << 53
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if unit == time.Nanosecond {
			us = n / 1000
		} else if factor := int64(unit / time.Microsecond); n <= maxUS/factor {
			us = n * factor
		} else {
			return 0, false
		}
		return us, n >= 0 && us <= maxUS
	}
	f, err := strconv.ParseFloat(text, 64)
	f = math.Round(f * (float64(unit) / float64(time.Microsecond)))
	return int64(f), err == nil && f >= 0 && f <= float64(maxUS)
}
