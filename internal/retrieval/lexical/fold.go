package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// accented has the scripts in which marks are diacritics, which users omit in queries. In
// other scripts, such as those of India or Japanese, a letter with a mark is another letter.
var accented = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic, unicode.Common,
}

// foldLetter returns the replacement of a letter that Unicode does not decompose, but that
// users type without its diacritic or as two letters. Empty: there is none.
func foldLetter(r rune) string {
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

// fold returns the normal form of a word, without characters that are neither letter nor
// digit.
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
		if folded := foldLetter(r); folded != "" {
			b.WriteString(folded)
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

// maxParts is the maximum number of parts of a word; a word with more is a code, and is not
// split.
const maxParts = 6

// parts splits a word where digits begin or end and where an upper-case letter follows a
// lower-case one, as in cpu0 and diskUsage. Nil: it has no parts.
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
	if len(cuts) == 0 || len(cuts) >= maxParts {
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

// stem returns the same stem for the singular and plural of an English word. It applies to
// any word of lower-case ASCII letters. Wrong stems of other languages do not matter, because
// they are the same in the text and in the query.
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

// clip truncates a term to MaxTermBytes.
func clip(term string) string { return truncate.Bytes(term, MaxTermBytes) }
