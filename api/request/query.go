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

// Page limits of the API.
const (
	DefaultLimit = 50
	MaxLimit     = 100
)

// Params strictly parses a request's URL parameters. Each getter registers the name of
// its parameter. Err then returns a Malformed error for a query that cannot be parsed, a
// name that no getter has registered, a repeated single-valued parameter, or the first
// invalid value. So call all getters first, then check Err, then use the values.
type Params struct {
	values    map[string][]string
	order     []string // names in the order of the query, without duplicates
	known     []string
	families  []string // prefixes such as "tag."
	single    []string
	malformed *fault.Error // the query cannot be parsed
	invalid   *fault.Error // the first invalid value
}

// Query parses the request's URL parameters.
func Query(r *http.Request) *Params {
	p := &Params{values: map[string][]string{}}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := unescape(rawName)
		if err != nil {
			p.malformed = fault.Field(fault.Malformed, "query", "has a parameter name that cannot be read: "+err.Error())
			return p
		}
		if name == "" {
			p.malformed = fault.Field(fault.Malformed, "query", "has a parameter without a name")
			return p
		}
		value, err := unescape(rawValue)
		if err != nil {
			p.malformed = fault.Field(fault.Malformed, shorten(name), "cannot be read: "+err.Error())
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

// String returns a single-valued parameter, or "" and false if it is absent.
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

// List returns the values of a parameter that may be repeated or a comma-separated list.
func (p *Params) List(name string) []string {
	var list []string
	for _, value := range p.Strings(name) {
		list = append(list, strings.Split(value, ",")...)
	}
	return list
}

// OneOf returns a single-valued parameter that must be one of allowed, or fallback if
// it is absent.
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

// Bool returns a parameter that is true or false, or false if it is absent.
func (p *Params) Bool(name string) bool {
	return p.OneOf(name, "false", "true", "false") == "true"
}

// UUID returns a parameter that is one id, or nil if it is absent.
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

// UUIDs returns the ids of a parameter that may be repeated or a comma-separated list.
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

// Int returns an integer from low to high that is written in digits only, or fallback if
// it is absent.
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

// Page returns limit and offset. The limit is 50 by default; any value above 100 is
// reduced to 100.
func (p *Params) Page() (limit, offset int) { return p.PageUpTo(MaxLimit) }

// PageUpTo is like Page, with a maximum limit of maxItems.
func (p *Params) PageUpTo(maxItems int) (limit, offset int) {
	limit = DefaultLimit
	if text, given := p.String("limit"); given {
		n, ok := digits(text)
		if limit = min(n, maxItems); !ok && n < math.MaxInt || n < 1 {
			p.Fail("limit", "must be a whole number, at least 1")
		}
	}
	return limit, p.Int("offset", 0, 0, math.MaxInt)
}

// Paging returns limit and either offset or cursor. cursor is "" if it is absent.
func (p *Params) Paging() (limit, offset int, cursor string) { return p.PagingUpTo(MaxLimit) }

// PagingUpTo is like Paging, with a maximum limit of maxItems.
func (p *Params) PagingUpTo(maxItems int) (limit, offset int, cursor string) {
	limit, offset = p.PageUpTo(maxItems)
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

// Sort returns the fields of parameter sort, or nil if it is absent. A field that is
// not allowed or is repeated is an error.
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

// Family returns the parameters whose name begins with prefix, such as tag.<key>, by the
// name without the prefix. A key may be repeated, but must not be empty.
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

// FamilyOnce is like Family for parameters that must not be repeated with one key.
func (p *Params) FamilyOnce(prefix string) map[string]string {
	found := map[string]string{}
	for key, values := range p.Family(prefix) {
		if len(values) > 1 {
			p.Fail(shorten(prefix+key), "must not be repeated")
		}
		found[key] = values[0]
	}
	return found
}

// Fail records an invalid value.
func (p *Params) Fail(name, reason string, allowed ...string) {
	if p.invalid == nil {
		p.invalid = fault.Field(fault.Malformed, name, reason, allowed...)
	}
}

// Err returns the error of the parameters, or nil if they are valid.
func (p *Params) Err() error {
	if p.malformed != nil {
		return p.malformed
	}
	for _, name := range p.order {
		if !p.isKnown(name) {
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
	if p.invalid != nil {
		return p.invalid
	}
	return nil
}

func (p *Params) isKnown(name string) bool {
	return slices.Contains(p.known, name) ||
		slices.ContainsFunc(p.families, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// digits parses a number that is written in digits only: no sign, space, point or base.
// For a number beyond the range of int it returns math.MaxInt and false.
func digits(text string) (int, bool) {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}
