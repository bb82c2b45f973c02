package lexical

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// NameKey returns the form of a name in which it is looked up: its words in their one
// form, with a space between; characters of scripts without spaces next to each
// other. Names that differ only in case, accents, punctuation or spacing have the same
// key. Empty: the name has no letters or digits, too few to be told from chance, or is
// too long to be looked for.
func NameKey(name string) string {
	var units []unit
	for u := range scan(name[:cut(name, MaxText)]) {
		if u.kind == wholeKind {
			continue
		}
		if units = append(units, u); len(units) > maxNameUnits {
			return ""
		}
	}
	return keyOf(units)
}

func keyOf(units []unit) string {
	if len(units) > maxNameUnits {
		return ""
	}
	var b strings.Builder
	characters, ideographs := 0, 0
	for i, u := range units {
		if i > 0 && (u.kind != characterKind || units[i-1].kind != characterKind) {
			b.WriteByte(' ')
		}
		b.WriteString(u.text)
		n := utf8.RuneCountInString(u.text)
		characters += n
		if u.kind == characterKind {
			ideographs += n
		}
	}
	if characters < minNameCharacters && ideographs < minNameIdeographs || b.Len() > maxNameBytes {
		return ""
	}
	return b.String()
}

// names returns the key of a whole query, and what in it may be a name: every sequence
// of words up to nameWords, and without spaces up to nameCharacters.
func names(units []unit) (whole string, all []Name) {
	whole = keyOf(units)
	units = units[:min(len(units), queryUnits)]
	for from := range units {
		most := nameWords
		for to := from + 1; to <= min(from+most, len(units)); to++ {
			if units[to-1].kind == characterKind {
				most = nameCharacters
			}
			if len(all) == maxNames {
				return whole, all
			}
			if key := keyOf(units[from:to]); key != "" {
				all = append(all, Name{Key: key, From: from, To: to})
			}
		}
	}
	if n := len(units); whole != "" && !slices.ContainsFunc(all, func(n Name) bool { return n.Key == whole }) {
		all = append(all, Name{Key: whole, From: 0, To: n})
	}
	return whole, all
}
