package lexical

import (
	"slices"
	"unicode/utf8"

	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// NameKey returns the lookup key of a name: its normalised words, separated by a space;
// characters of scripts without spaces are not separated. Names that differ only in case,
// accents, punctuation or spacing have the same key. Empty: the name has no letters or
// digits, is so short that it would match by chance, or is too long.
func NameKey(name string) string {
	var units []unit
	for u := range scan(truncate.Bytes(name, MaxText)) {
		if u.kind == compoundKind {
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
	var k keyBuilder
	for i := range units {
		k.add(&units[i])
	}
	if !k.isKey() {
		return ""
	}
	return string(k.text)
}

// keyBuilder builds the key of a name. The key of its first units is a prefix of it.
type keyBuilder struct {
	text                   []byte
	last                   kind // of the last unit
	characters, ideographs int
}

func (k *keyBuilder) add(u *unit) {
	if len(k.text) > 0 && (u.kind != characterKind || k.last != characterKind) {
		k.text = append(k.text, ' ')
	}
	k.text, k.last = append(k.text, u.text...), u.kind
	n := utf8.RuneCountInString(u.text)
	k.characters += n
	if u.kind == characterKind {
		k.ideographs += n
	}
}

// isKey reports whether the text is long enough for a key, and not too long.
func (k *keyBuilder) isKey() bool {
	return (k.characters >= minNameCharacters || k.ideographs >= minNameIdeographs) && len(k.text) <= maxNameBytes
}

// names returns the key of the whole query, and the parts that may be names: every sequence
// of at most nameWords words, or of at most nameCharacters characters without spaces.
func names(units []unit) (queryKey string, all []Name) {
	queryKey = keyOf(units)
	units = units[:min(len(units), queryUnits)]
	for from := range units {
		limit := nameWords
		for to := from + 1; to <= min(from+limit, len(units)); to++ {
			if units[to-1].kind == characterKind {
				limit = nameCharacters
			}
			if len(all) == maxNames {
				return queryKey, all
			}
			if key := keyOf(units[from:to]); key != "" {
				all = append(all, Name{Key: key, From: from, To: to})
			}
		}
	}
	if n := len(units); queryKey != "" && !slices.ContainsFunc(all, func(n Name) bool { return n.Key == queryKey }) {
		all = append(all, Name{Key: queryKey, From: 0, To: n})
	}
	return queryKey, all
}
