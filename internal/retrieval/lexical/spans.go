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
	all := make([]Span, 0, 4*len(units)) // one array for all, because there are many
	ends := make([]int, 0, len(units))
	var keys keyBuilder
	for from := range units {
		before := len(all)
		if all = appendSpans(all, &keys, text, units, from); len(all) > before {
			slices.Reverse(all[before:])
			ends = append(ends, len(all))
		}
	}
	list := make([][]Span, len(ends))
	begin := 0
	for i, end := range ends {
		list[i], begin = all[begin:end:end], end
	}
	return list
}

// appendSpans appends the spans that begin at a word, shortest first. The keys share one string.
func appendSpans(spans []Span, keys *keyBuilder, text string, units []unit, from int) []Span {
	*keys = keyBuilder{text: keys.text[:0]}
	limit, marked, first := nameWords, false, len(spans)
	var lengths [max(nameWords, nameCharacters)]int // of the keys
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
		keys.add(last)
		if keys.isKey() {
			lengths[len(spans)-first] = len(keys.text)
			spans = append(spans, Span{From: units[from].from, To: last.to, Words: to - from, Capital: capital})
		}
	}
	shared := string(keys.text)
	for i := range spans[first:] {
		s := &spans[first+i]
		s.Key = shared[:lengths[i]]
		last := &units[from+s.Words-1]
		if last.kind != wordKind {
			continue
		}
		if singular := stem(last.text); singular != last.text {
			s.Singular = strings.TrimSuffix(s.Key, last.text) + singular
		}
	}
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
