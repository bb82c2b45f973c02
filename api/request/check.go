package request

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Check collects the problems of decoded values and reports one of them. A missing
// required field (Malformed) takes precedence over a value that breaks a rule
// (Invalid). Within each kind, the first problem is reported. The zero Check is
// ready to use.
type Check struct{ missing, invalid *fault.Error }

// Err returns the problem to report, or nil if there is none.
func (c *Check) Err() error {
	switch {
	case c.missing != nil:
		return c.missing
	case c.invalid != nil:
		return c.invalid
	}
	return nil
}

// Required records a missing required field, unless present is true.
func (c *Check) Required(field string, present bool) {
	if !present && c.missing == nil {
		c.missing = fault.Field(fault.Malformed, field, "is required")
	}
}

// Fail records a value that breaks a rule.
func (c *Check) Fail(field, reason string, allowed ...string) {
	if c.invalid == nil {
		c.invalid = fault.Field(fault.Invalid, field, reason, allowed...)
	}
}

// Text checks a line of text: it must have minLength to maxLength characters (code
// points) and no control characters. If minLength is not 0, it must not be only white
// space.
func (c *Check) Text(field, value string, minLength, maxLength int) {
	c.length(field, value, minLength, maxLength)
	if strings.ContainsFunc(value, isControl) {
		c.Fail(field, "must not contain control characters")
	}
}

// Prose checks text that may have several lines. Tabs and line ends are the only
// allowed control characters.
func (c *Check) Prose(field, value string, maxLength int) {
	c.length(field, value, 0, maxLength)
	if strings.ContainsFunc(value, func(r rune) bool { return isControl(r) && r != '\n' && r != '\r' && r != '\t' }) {
		c.Fail(field, "must not contain control characters")
	}
}

func (c *Check) length(field, value string, minLength, maxLength int) {
	switch n := utf8.RuneCountInString(value); {
	case n < minLength, minLength > 0 && strings.TrimSpace(value) == "":
		c.Fail(field, "must not be empty")
	case n > maxLength:
		c.Fail(field, fmt.Sprintf("must have at most %d characters", maxLength))
	}
}

// OneOf checks that value is one of allowed.
func (c *Check) OneOf(field, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		c.Fail(field, "is not one of the allowed values", allowed...)
	}
}

// Between checks a number against its bounds, both inclusive.
func Between[T cmp.Ordered](c *Check, field string, value, low, high T) {
	if value < low || value > high {
		c.Fail(field, fmt.Sprintf("must be from %v to %v", low, high))
	}
}

// UUID parses an id and records a problem if it is not a UUID.
func (c *Check) UUID(field, value string) uuid.UUID {
	id, ok := ParseUUID(value)
	if !ok {
		c.Fail(field, "must be a UUID")
	}
	return id
}

// UUIDs parses a list of at most limit ids.
func (c *Check) UUIDs(field string, values []string, limit int) []uuid.UUID {
	if len(values) > limit {
		c.Fail(field, fmt.Sprintf("must be at most %d", limit))
		return nil
	}
	ids := make([]uuid.UUID, len(values))
	for i, value := range values {
		ids[i] = c.UUID(fmt.Sprintf("%s[%d]", field, i), value)
	}
	return ids
}

// ParseUUID parses a UUID in its canonical form, 8-4-4-4-12 hexadecimal digits in
// upper or lower case.
func ParseUUID(text string) (uuid.UUID, bool) {
	if len(text) != 36 { // uuid.Parse also accepts braces, urn:uuid: and no hyphens
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// isControl reports whether r is a control character (C0, DEL, C1) or one of the
// separators U+2028 and U+2029, which many programs treat as line ends.
func isControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
