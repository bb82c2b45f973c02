package ingest

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/parse/jsonpoints"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// verdict is the expected result of a request.
type verdict struct {
	malformed bool // the request is malformed
	invalid   bool // a value of the whole request breaks a rule
	points    map[string]any
	accepted  int
	rejected  int
}

// reference is a slow and simple implementation of the parser: it decodes a request into a tree
// with the standard library and checks one rule after the other. Tests compare the parser with it.
type reference struct {
	verdict
	defaults map[string]any
	unit     *big.Rat // microseconds
}

func interpret(body []byte) verdict {
	if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)) {
		return verdict{malformed: true}
	}
	r := reference{verdict: verdict{points: map[string]any{}}, unit: big.NewRat(1000, 1)}
	if !jsontext.Value(body).IsValid() { // duplicate names
		r.malformed, r.invalid = true, true // either error is correct
		return r.verdict
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return verdict{malformed: true}
	}
	top, ok := tree.(map[string]any)
	if !ok {
		return verdict{malformed: true}
	}
	r.request(top)
	return r.verdict
}

func (r *reference) request(top map[string]any) {
	r.names(top, "sourceId", "source", "metric", "tags", "precision", "points", "series")
	r.identityTypes(top)
	r.defaults = top
	if precision, ok := top["precision"]; ok {
		switch name, isText := precision.(string); {
		case !isText:
			r.malformed = true
		case name == "s":
			r.unit = big.NewRat(1_000_000, 1)
		case name == "us":
			r.unit = big.NewRat(1, 1)
		case name == "ns":
			r.unit = big.NewRat(1, 1000)
		case name != "ms":
			r.invalid = true
		}
	}
	if metric, ok := top["metric"].(string); ok && badName(metric) {
		r.invalid = true
	}
	if tags, ok := top["tags"].(map[string]any); ok && badTags(tags) {
		r.invalid = true
	}
	points, hasPoints := top["points"]
	series, hasSeries := top["series"]
	if hasPoints == hasSeries {
		r.malformed = true
	}
	for _, list := range []any{points, series} {
		if _, ok := list.([]any); list != nil && !ok {
			r.malformed = true
		}
	}
	if hasPoints && points == nil || hasSeries && series == nil {
		r.malformed = true
		return
	}
	if list, ok := points.([]any); ok {
		for _, entry := range list {
			r.row(entry)
		}
	}
	if list, ok := series.([]any); ok {
		for _, entry := range list {
			r.series(entry)
		}
	}
	if r.accepted == 0 {
		r.invalid = true
	}
}

func (r *reference) names(object map[string]any, allowed ...string) {
	for name := range object {
		if !slices.Contains(allowed, name) {
			r.malformed = true
		}
	}
}

// identityTypes checks the types of the fields that identify a series, and that source and
// sourceId are not both present.
func (r *reference) identityTypes(object map[string]any) {
	for _, name := range []string{"sourceId", "source", "metric"} {
		if value, ok := object[name]; ok {
			if _, ok := value.(string); !ok {
				r.malformed = true
			}
		}
	}
	if object["sourceId"] != nil && object["source"] != nil {
		r.malformed = true
	}
	if tags, ok := object["tags"]; ok {
		list, ok := tags.(map[string]any)
		if !ok {
			r.malformed = true
		}
		for _, value := range list {
			if _, ok := value.(string); !ok {
				r.malformed = true
			}
		}
		if len(list) > jsonpoints.MaxRepeatedTags {
			r.invalid = true
		}
	}
}

func (r *reference) row(entry any) {
	object, ok := entry.(map[string]any)
	if !ok {
		r.malformed = true
		return
	}
	r.names(object, "sourceId", "source", "metric", "tags", "timestamp", "value")
	r.identityTypes(object)
	name, good := r.identity(object)
	ts, goodTime := received.UnixMicro(), true
	if value, ok := object["timestamp"]; ok {
		ts, goodTime = r.time(value)
	}
	value, goodValue := r.value(object["value"])
	r.add(name, ts, value, good && goodTime && goodValue)
}

func (r *reference) series(entry any) {
	object, ok := entry.(map[string]any)
	if !ok {
		r.malformed = true
		return
	}
	r.names(object, "sourceId", "source", "metric", "tags", "timestamps", "values")
	r.identityTypes(object)
	name, good := r.identity(object)
	times, ok1 := object["timestamps"].([]any)
	values, ok2 := object["values"].([]any)
	if !ok1 || !ok2 {
		r.malformed = true
		return
	}
	if len(times) != len(values) {
		r.invalid = true
	}
	for i := range max(len(times), len(values)) {
		var ts int64
		var value any
		goodTime, goodValue := true, true
		if i < len(times) {
			ts, goodTime = r.time(times[i])
		}
		if i < len(values) {
			value, goodValue = r.value(values[i])
		}
		r.add(name, ts, value, good && goodTime && goodValue)
	}
}

func (r *reference) add(name func(int64) string, ts int64, value any, good bool) {
	switch {
	case r.malformed:
	case !good:
		r.rejected++
	default:
		r.accepted++
		kind := " n"
		if _, ok := value.(string); ok {
			kind = " s"
		}
		r.points[name(ts)+kind] = value
	}
}

// identity returns a function that returns the name of a point of the object's series in the
// result of written, and whether the identity is valid.
func (r *reference) identity(object map[string]any) (name func(int64) string, good bool) {
	metric, ok := object["metric"].(string)
	if !ok {
		if metric, ok = r.defaults["metric"].(string); !ok {
			r.malformed = true
		}
	}
	tags := map[string]any{}
	defaults, _ := r.defaults["tags"].(map[string]any)
	own, _ := object["tags"].(map[string]any)
	for _, list := range []map[string]any{defaults, own} {
		for key, value := range list {
			tags[key] = value
		}
	}
	source, found := r.source(object)
	var sorted []pointblock.Tag
	for key, value := range tags {
		text, _ := value.(string)
		sorted = append(sorted, pointblock.Tag{Key: key, Value: text})
	}
	slices.SortFunc(sorted, func(a, b pointblock.Tag) int { return strings.Compare(a.Key, b.Key) })
	good = found && !badName(metric) && !badTags(tags)
	return func(ts int64) string { return pointName(source, metric, sorted, ts) }, good
}

func (r *reference) source(object map[string]any) (uuid.UUID, bool) {
	for _, o := range []map[string]any{object, r.defaults} {
		if id, ok := o["sourceId"].(string); ok {
			source, err := uuid.Parse(id)
			return source, err == nil && len(id) == 36 && (source == boiler || source == pump)
		}
		if name, ok := o["source"].(string); ok {
			source := map[string]uuid.UUID{"boiler": boiler, "pump": pump}[name]
			return source, source != uuid.Nil
		}
	}
	r.malformed = true
	return uuid.Nil, false
}

func badName(name string) bool {
	return name == "" || utf8.RuneCountInString(name) > 256 || strings.Contains(name, "\x00")
}

func badTags(tags map[string]any) bool {
	for key, value := range tags {
		text, _ := value.(string)
		if badName(key) || len(text) > 1024 || strings.Contains(text, "\x00") {
			return true
		}
	}
	return len(tags) > 64
}

var (
	integer = regexp.MustCompile(`^-?[0-9]+$`)
	rfc3339 = regexp.MustCompile(
		`^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`,
	)
)

func (r *reference) time(value any) (us int64, good bool) {
	var micros *big.Rat
	switch value := value.(type) {
	case json.Number:
		if !integer.MatchString(value.String()) {
			return 0, false
		}
		epoch, _ := new(big.Rat).SetString(value.String())
		micros = epoch.Mul(epoch, r.unit)
	case string:
		parsed, err := time.Parse(time.RFC3339, strings.ToUpper(value))
		if !rfc3339.MatchString(value) || err != nil {
			return 0, false
		}
		micros = new(big.Rat).SetInt64(parsed.UnixMicro())
	default:
		r.malformed = true
		return 0, false
	}
	latest := new(big.Rat).SetInt64(received.Add(24 * time.Hour).UnixMicro())
	if micros.Sign() < 0 {
		return 0, false
	}
	truncated := new(big.Int).Quo(micros.Num(), micros.Denom())
	if new(big.Rat).SetInt(truncated).Cmp(latest) > 0 {
		return 0, false
	}
	return truncated.Int64(), true
}

func (r *reference) value(value any) (any, bool) {
	switch value := value.(type) {
	case bool:
		if value {
			return 1.0, true
		}
		return 0.0, true
	case json.Number:
		number, err := strconv.ParseFloat(value.String(), 64)
		return number, err == nil && !math.IsInf(number, 0)
	case string:
		return value, len(value) <= 1024 && !strings.Contains(value, "\x00")
	}
	r.malformed = true
	return nil, false
}
