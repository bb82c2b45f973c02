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

// Check collects what is wrong with values that were read, and reports one
// problem: a required field that is missing (Malformed) before a value that
// breaks a rule (Invalid), else the first found. The zero Check is ready.
type Check struct{ missing, invalid *fault.Error }

// Err returns the problem to report, nil when there is none.
func (c *Check) Err() error {
	switch {
	case c.missing != nil:
		return c.missing
	case c.invalid != nil:
		return c.invalid
	}
	return nil
}

// Required notes a required field that is absent.
func (c *Check) Required(field string, present bool) {
	if !present && c.missing == nil {
		c.missing = fault.Field(fault.Malformed, field, "is required")
	}
}

// Fail notes a value that breaks a rule.
func (c *Check) Fail(field, reason string, allowed ...string) {
	if c.invalid == nil {
		c.invalid = fault.Field(fault.Invalid, field, reason, allowed...)
	}
}

// Text checks a line of text: from shortest to longest characters (code points),
// no control characters, not only white space unless shortest is 0.
func (c *Check) Text(field, value string, shortest, longest int) {
	c.length(field, value, shortest, longest)
	if strings.ContainsFunc(value, isControl) {
		c.Fail(field, "must not contain control characters")
	}
}

// Prose checks text that may have several lines: tabs and line ends are the only
// control characters allowed.
func (c *Check) Prose(field, value string, longest int) {
	c.length(field, value, 0, longest)
	if strings.ContainsFunc(value, func(r rune) bool { return isControl(r) && r != '\n' && r != '\r' && r != '\t' }) {
		c.Fail(field, "must not contain control characters")
	}
}

func (c *Check) length(field, value string, shortest, longest int) {
	switch n := utf8.RuneCountInString(value); {
	case n < shortest, shortest > 0 && strings.TrimSpace(value) == "":
		c.Fail(field, "must not be empty")
	case n > longest:
		c.Fail(field, fmt.Sprintf("must have at most %d characters", longest))
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

// UUID checks an id that the caller chose, and gives it.
func (c *Check) UUID(field, value string) uuid.UUID {
	id, ok := ParseUUID(value)
	if !ok {
		c.Fail(field, "must be a UUID")
	}
	return id
}

// ParseUUID reads a UUID in its one canonical form, 8-4-4-4-12 hexadecimal
// digits of either case.
func ParseUUID(text string) (uuid.UUID, bool) {
	if len(text) != 36 { // uuid.Parse also takes braces, urn:uuid: and no hyphens
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// isControl reports control characters: C0, DEL, C1, and the separators U+2028
// and U+2029, which end lines for many a reader.
func isControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
