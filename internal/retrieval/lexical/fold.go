package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// accented are the scripts whose marks are spelling: who searches leaves them out. In
// others, as those of India or in Japanese, a mark makes another letter.
var accented = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic, unicode.Common,
}

// letters are those that are no letter with a mark in Unicode, but to who types.
func letters(r rune) string {
	switch r {
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ø':
		return "o"
	case 'ł':
		return "l"
	case 'đ', 'ð':
		return "d"
	case 'þ':
		return "th"
	case 'ı':
		return "i"
	case 'ħ':
		return "h"
	case 'ς':
		return "σ"
	}
	return ""
}

// fold brings a word to its one form. What is neither letter nor digit goes.
func fold(word string) string {
	if plain, ok := foldASCII(word); ok {
		return plain
	}
	var b strings.Builder
	var base rune
	for _, r := range norm.NFKD.String(word) {
		r = unicode.ToLower(r)
		switch {
		case unicode.IsMark(r):
			if base != 0 && !unicode.IsOneOf(accented, base) {
				b.WriteRune(r)
			}
			continue
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			continue
		}
		base = r
		if other := letters(r); other != "" {
			b.WriteString(other)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

func foldASCII(word string) (string, bool) {
	upper := false
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return "", false
		}
		upper = upper || 'A' <= word[i] && word[i] <= 'Z'
	}
	if upper {
		word = strings.ToLower(word)
	}
	return word, true
}

// mostParts is how many parts a word is cut into; one of more is no word but a code.
const mostParts = 6

// parts cuts a word where digits begin or end and where a capital follows a small
// letter, as in cpu0 and diskUsage. Nil: it has no parts.
func parts(word string) []string {
	var cuts []int
	before := rune(0)
	for i, r := range word {
		if i > 0 && (unicode.IsDigit(r) != unicode.IsDigit(before) || unicode.IsLower(before) && unicode.IsUpper(r)) &&
			!unicode.IsMark(r) && !unicode.Is(unicode.Cf, r) {
			cuts = append(cuts, i)
		}
		if !unicode.IsMark(r) && !unicode.Is(unicode.Cf, r) {
			before = r
		}
	}
	if len(cuts) == 0 || len(cuts) >= mostParts {
		return nil
	}
	var all []string
	from := 0
	for _, to := range append(cuts, len(word)) {
		if part := fold(word[from:to]); part != "" {
			all = append(all, part)
		}
		from = to
	}
	return all
}

// stem makes singular and plural of an English word alike. It does so to any word of
// small Latin letters: that it is wrong for another language does not matter, for it
// is wrong in the text and in the query.
func stem(word string) string {
	n := len(word)
	if n < 4 || word[n-1] != 's' {
		return word
	}
	for i := range n {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	switch {
	case strings.HasSuffix(word, "ss"), strings.HasSuffix(word, "us"), strings.HasSuffix(word, "is"):
		return word
	case strings.HasSuffix(word, "ies") && n > 4:
		return word[:n-3] + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "xes"), strings.HasSuffix(word, "ches"),
		strings.HasSuffix(word, "shes"):
		return word[:n-2]
	}
	return word[:n-1]
}

// cut returns the maximum number of bytes of a text, at most so many, that end with a whole rune.
func cut(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}

// clip is a term of at most MaxTermBytes.
func clip(term string) string { return term[:cut(term, MaxTermBytes)] }
