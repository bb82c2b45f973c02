package chunk

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/graph"
)

// maxWord is the most runes of a word: what has no spaces is cut somewhere, too.
const maxWord = 40

// word is a part of a text without white space: what stands between two spaces, or,
// in scripts that write without them, a sign.
type word struct {
	from, to int  // bytes
	ends     bool // a sentence ends with it
}

// wordsOf finds the words of a text.
func wordsOf(text string) []word {
	var words []word
	open, runes := false, 0 // whether the last word may go on, and how long it is
	var before rune
	for at, r := range text {
		size := max(utf8.RuneLen(r), 1)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[at:])
		}
		switch {
		case unicode.IsSpace(r):
			if n := len(words); n > 0 && (r == '\n' || stops(before)) {
				words[n-1].ends = true
			}
			open = false
		case len(words) > 0 && words[len(words)-1].to == at && !words[len(words)-1].ends && fullStop(r):
			words[len(words)-1].to, words[len(words)-1].ends = at+size, true
			open = false
		case open && runes < maxWord && !dense(r) && !dense(before):
			words[len(words)-1].to = at + size
			runes++
		default:
			words = append(words, word{from: at, to: at + size})
			open, runes = true, 1
		}
		if !unicode.IsSpace(r) {
			before = r
		}
	}
	return words
}

// stops reports what ends a sentence when white space follows.
func stops(r rune) bool {
	return r == '.' || r == '!' || r == '?' || r == '…' || r == '؟' || r == '।'
}

// fullStop reports what ends a sentence whatever follows.
func fullStop(r rune) bool { return r == '。' || r == '！' || r == '？' || r == '．' }

// dense reports signs of scripts that write without spaces, of which one is about what
// a model takes for a word.
func dense(r rune) bool {
	return r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// collapse returns the words of a text with single spaces where there was white space,
// and no broken bytes.
func collapse(text string, words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 && words[i-1].to < w.from {
			b.WriteByte(' ')
		}
		b.WriteString(text[w.from:w.to])
	}
	return valid(b.String())
}

func countWords(text string) int { return len(wordsOf(text)) }

// propertyText writes the string properties in the order of their names, a line each.
// Numbers, truth values and what is nested mean little to a model.
func propertyText(properties graph.Properties) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if values := texts(properties[key]); len(values) > 0 {
			b.WriteString(key + ": " + strings.Join(values, ", ") + "\n")
		}
		if b.Len() > maxProperties {
			break
		}
	}
	return valid(b.String())
}

// texts returns a string, or the strings of an array, that are not blank.
func texts(value jsontext.Value) []string {
	var found []string
	switch value.Kind() {
	case '"':
		var s string
		if json.Unmarshal(value, &s) == nil {
			found = []string{s}
		}
	case '[':
		var members []jsontext.Value
		if json.Unmarshal(value, &members) != nil {
			return nil
		}
		for _, m := range members {
			var s string
			if m.Kind() == '"' && json.Unmarshal(m, &s) == nil {
				found = append(found, s)
			}
		}
	}
	return slices.DeleteFunc(found, func(s string) bool { return strings.TrimSpace(s) == "" })
}
