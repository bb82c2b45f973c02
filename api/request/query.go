package request

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Page limits of the interface.
const (
	DefaultLimit = 50
	MaxLimit     = 100
)

// Params reads a request's URL parameters strictly. Each getter makes its name
// known; Err then reports, as Malformed, a query that cannot be read, a name
// that no getter asked for, a single-valued parameter that is repeated, or the
// first bad value. So: ask for everything, then look at Err, then use it.
type Params struct {
	values   map[string][]string
	order    []string // names as they came, each once
	known    []string
	families []string // prefixes such as "tag."
	single   []string
	broken   *fault.Error // the query cannot be read
	bad      *fault.Error // the first bad value
}

// Query reads the request's URL parameters.
func Query(r *http.Request) *Params {
	p := &Params{values: map[string][]string{}}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := unescape(rawName)
		if err != nil {
			p.broken = fault.Field(fault.Malformed, "query", "has a parameter name that cannot be read: "+err.Error())
			return p
		}
		if name == "" {
			p.broken = fault.Field(fault.Malformed, "query", "has a parameter without a name")
			return p
		}
		value, err := unescape(rawValue)
		if err != nil {
			p.broken = fault.Field(fault.Malformed, shorten(name), "cannot be read: "+err.Error())
			return p
		}
		if _, seen := p.values[name]; !seen {
			p.order = append(p.order, name)
		}
		p.values[name] = append(p.values[name], value)
	}
	return p
}

type queryError string

func (e queryError) Error() string { return string(e) }

func unescape(text string) (string, error) {
	plain, err := url.QueryUnescape(text)
	switch {
	case err != nil:
		return "", queryError("malformed percent-encoding")
	case !utf8.ValidString(plain):
		return "", queryError("not valid UTF-8")
	case strings.ContainsRune(plain, 0):
		return "", queryError("U+0000")
	}
	return plain, nil
}

// String returns a single-valued parameter, "" and false when it is absent.
func (p *Params) String(name string) (value string, given bool) {
	p.known = append(p.known, name)
	p.single = append(p.single, name)
	values := p.values[name]
	if len(values) == 0 {
		return "", false
	}
	return values[0], true
}

// Strings returns all values of a parameter that may be repeated.
func (p *Params) Strings(name string) []string {
	p.known = append(p.known, name)
	return p.values[name]
}

// List returns the values of a parameter that may be repeated or a comma list.
func (p *Params) List(name string) []string {
	var list []string
	for _, value := range p.Strings(name) {
		list = append(list, strings.Split(value, ",")...)
	}
	return list
}

// OneOf returns a single-valued parameter that must be one of allowed; fallback
// when it is absent.
func (p *Params) OneOf(name, fallback string, allowed ...string) string {
	value, given := p.String(name)
	if !given {
		return fallback
	}
	if !slices.Contains(allowed, value) {
		p.Fail(name, "is not one of the allowed values", allowed...)
	}
	return value
}

// Bool returns a parameter that is true or false; false when it is absent.
func (p *Params) Bool(name string) bool {
	return p.OneOf(name, "false", "true", "false") == "true"
}

// UUID returns a parameter that is one id; nil when it is absent.
func (p *Params) UUID(name string) *uuid.UUID {
	text, given := p.String(name)
	if !given {
		return nil
	}
	id, ok := ParseUUID(text)
	if !ok {
		p.Fail(name, "must be a UUID")
	}
	return &id
}

// UUIDs returns the ids of a parameter that may be repeated or a comma list.
func (p *Params) UUIDs(name string) []uuid.UUID {
	var ids []uuid.UUID
	for _, text := range p.List(name) {
		id, ok := ParseUUID(text)
		if !ok {
			p.Fail(name, "must be a UUID")
		}
		ids = append(ids, id)
	}
	return ids
}

// Int returns a whole number from low to high, written in digits only; fallback
// when it is absent.
func (p *Params) Int(name string, fallback, low, high int) int {
	text, given := p.String(name)
	if !given {
		return fallback
	}
	n, ok := digits(text)
	if !ok || n < low || n > high {
		p.Fail(name, fmt.Sprintf("must be a whole number from %d to %d", low, high))
	}
	return n
}

// Page returns limit (50 by default, at most 100: more is clamped, however much
// more) and offset.
func (p *Params) Page() (limit, offset int) { return p.PageUpTo(MaxLimit) }

// PageUpTo returns limit and offset as Page does, where a page has up to most items.
func (p *Params) PageUpTo(most int) (limit, offset int) {
	limit = DefaultLimit
	if text, given := p.String("limit"); given {
		n, ok := digits(text)
		if limit = min(n, most); !ok && n < math.MaxInt || n < 1 {
			p.Fail("limit", "must be a whole number, at least 1")
		}
	}
	return limit, p.Int("offset", 0, 0, math.MaxInt)
}

// Paging returns limit and either offset or cursor; no cursor is "".
func (p *Params) Paging() (limit, offset int, cursor string) {
	limit, offset = p.Page()
	cursor, given := p.String("cursor")
	if len(p.values["offset"]) > 0 && given {
		p.Fail("cursor", "cannot be combined with offset")
	}
	if given && cursor == "" {
		p.Fail("cursor", "is not a cursor")
	}
	return limit, offset, cursor
}

// SortField is one field of a sort order.
type SortField struct {
	Name       string
	Descending bool
}

// Sort returns the fields of parameter sort, nil when it is absent. A field that
// is not allowed or repeated is an error.
func (p *Params) Sort(allowed ...string) []SortField {
	text, given := p.String("sort")
	if !given {
		return nil
	}
	var fields []SortField
	for name := range strings.SplitSeq(text, ",") {
		name, descending := strings.CutPrefix(name, "-")
		if !slices.Contains(allowed, name) {
			p.Fail("sort", "has a field that cannot be sorted by", allowed...)
		} else if slices.ContainsFunc(fields, func(f SortField) bool { return f.Name == name }) {
			p.Fail("sort", "has a field twice", allowed...)
		}
		fields = append(fields, SortField{Name: name, Descending: descending})
	}
	return fields
}

// Family returns the parameters whose name begins with prefix, without it, such
// as tag.<key>. A key may be repeated, but not empty.
func (p *Params) Family(prefix string) map[string][]string {
	p.families = append(p.families, prefix)
	found := map[string][]string{}
	for _, name := range p.order {
		if key, ok := strings.CutPrefix(name, prefix); ok {
			if key == "" {
				p.Fail(prefix, "needs a key after the dot")
			}
			found[key] = p.values[name]
		}
	}
	return found
}

// Fail notes a bad value.
func (p *Params) Fail(name, reason string, allowed ...string) {
	if p.bad == nil {
		p.bad = fault.Field(fault.Malformed, name, reason, allowed...)
	}
}

// Err reports what is wrong with the parameters, nil when nothing is.
func (p *Params) Err() error {
	if p.broken != nil {
		return p.broken
	}
	for _, name := range p.order {
		if !p.knows(name) {
			allowed := slices.Clone(p.known)
			for _, prefix := range p.families {
				allowed = append(allowed, prefix+"<key>")
			}
			slices.Sort(allowed)
			return fault.Field(fault.Malformed, shorten(name), "is not a parameter of this route", slices.Compact(allowed)...)
		}
	}
	for _, name := range p.order {
		if len(p.values[name]) > 1 && slices.Contains(p.single, name) {
			return fault.Field(fault.Malformed, name, "must not be repeated")
		}
	}
	if p.bad != nil {
		return p.bad
	}
	return nil
}

func (p *Params) knows(name string) bool {
	return slices.Contains(p.known, name) ||
		slices.ContainsFunc(p.families, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// digits reads a number written in digits only: no sign, space, point or base.
// One beyond an int is not ok and given as math.MaxInt.
func digits(text string) (int, bool) {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}
