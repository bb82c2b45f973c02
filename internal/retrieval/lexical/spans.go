package lexical

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// Span is a part of a text that may be a name.
type Span struct {
	Key string // see NameKey
	// Singular is the key with the last word in the singular; empty: it is the same.
	Singular string
	From, To int // position in the text, in bytes; To exclusive
	Words    int // words, or characters of scripts without spaces
	// Capital reports whether the span begins with a letter that is not lower case.
	Capital bool
}

// plainWords is the maximum length of a span without an upper-case letter or a digit: most of these
// are not names.
const plainWords = 3

// Spans returns the parts of a text that may be names, by their first word: each element has those
// that begin at the same word, longest first. Only [MaxText] bytes of the text are read.
func Spans(text string) [][]Span {
	text = truncate.Bytes(text, MaxText)
	var units []unit
	for u := range scan(text) {
		if u.kind != compoundKind {
			units = append(units, u)
		}
	}
	list := make([][]Span, 0, len(units))
	for from := range units {
		if spans := spansFrom(text, units, from); len(spans) > 0 {
			list = append(list, spans)
		}
	}
	return list
}

func spansFrom(text string, units []unit, from int) (spans []Span) {
	limit, marked := nameWords, false
	capital := startsCapital(text[units[from].from:])
	for to := from + 1; to <= min(from+limit, len(units)); to++ {
		last := &units[to-1]
		if last.kind == characterKind {
			limit = nameCharacters
		}
		if to-1 > from && isBreak(text[units[to-2].to:last.from]) {
			break
		}
		marked = marked || last.kind == characterKind || startsCapital(text[last.from:])
		if !marked && to-from >= plainWords {
			limit = min(limit, to-from)
		}
		key := keyOf(units[from:to])
		if key == "" {
			continue
		}
		span := Span{Key: key, From: units[from].from, To: last.to, Words: to - from, Capital: capital}
		if last.kind == wordKind {
			if singular := stem(last.text); singular != last.text {
				span.Singular = strings.TrimSuffix(key, last.text) + singular
			}
		}
		spans = append(spans, span)
	}
	slices.Reverse(spans)
	return spans
}

// isBreak reports whether no name continues over what is between two words: the end of a line or of a
// sentence.
func isBreak(between string) bool { return strings.ContainsAny(between, "\n;!?") }

// startsCapital reports whether a text begins with a letter that is not lower case, or with a digit.
func startsCapital(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsDigit(r) || unicode.IsLetter(r) && !unicode.IsLower(r)
}

// StartsCapital reports whether the first letter or digit of a name is not a lower-case letter.
func StartsCapital(name string) bool {
	first := strings.IndexFunc(name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	return first >= 0 && startsCapital(name[first:])
}
