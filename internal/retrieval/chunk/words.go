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

// maxWord is the maximum length of a word in runes, so that text without spaces is split too.
const maxWord = 40

// word is a part of a text without white space: a sequence of characters between white
// space, or a single character of a script that is written without spaces.
type word struct {
	from, to     int  // bytes
	endsSentence bool // the last word of a sentence
}

// wordsOf returns the words of a text.
func wordsOf(text string) []word {
	var words []word
	extendable, runes := false, 0 // whether the last word can be extended, and its length
	var previous rune
	for at, r := range text {
		size := max(utf8.RuneLen(r), 1)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[at:])
		}
		switch {
		case unicode.IsSpace(r):
			if n := len(words); n > 0 && (r == '\n' || isSentenceEnd(previous)) {
				words[n-1].endsSentence = true
			}
			extendable = false
		case len(words) > 0 && words[len(words)-1].to == at && !words[len(words)-1].endsSentence && isFullStop(r):
			words[len(words)-1].to, words[len(words)-1].endsSentence = at+size, true
			extendable = false
		case extendable && runes < maxWord && !isIdeograph(r) && !isIdeograph(previous):
			words[len(words)-1].to = at + size
			runes++
		default:
			words = append(words, word{from: at, to: at + size})
			extendable, runes = true, 1
		}
		if !unicode.IsSpace(r) {
			previous = r
		}
	}
	return words
}

// isSentenceEnd reports whether a rune ends a sentence if white space follows.
func isSentenceEnd(r rune) bool {
	return r == '.' || r == '!' || r == '?' || r == '…' || r == '؟' || r == '।'
}

// isFullStop reports whether a rune ends a sentence regardless of what follows.
func isFullStop(r rune) bool { return r == '。' || r == '！' || r == '？' || r == '．' }

// isIdeograph reports whether a rune is Chinese or Japanese. Models treat one such character
// approximately as a word, other than those of further scripts without spaces.
func isIdeograph(r rune) bool {
	return r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// collapse returns the words of a text as valid UTF-8, with each sequence of white space as
// a single space.
func collapse(text string, words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 && words[i-1].to < w.from {
			b.WriteByte(' ')
		}
		b.WriteString(text[w.from:w.to])
	}
	return toValidUTF8(b.String())
}

func countWords(text string) int { return len(wordsOf(text)) }

// propertyText returns the string properties in the order of their names, one per line.
// Numbers, booleans and nested values have little meaning for a model.
func propertyText(properties graph.Properties) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if values := nonBlankStrings(properties[key]); len(values) > 0 {
			b.WriteString(key + ": " + strings.Join(values, ", ") + "\n")
		}
		if b.Len() > maxProperties {
			break
		}
	}
	return toValidUTF8(b.String())
}

// nonBlankStrings returns the value if it is a string, or the strings of an array, without
// blank ones.
func nonBlankStrings(value jsontext.Value) []string {
	var values []string
	switch value.Kind() {
	case '"':
		var s string
		if json.Unmarshal(value, &s) == nil {
			values = []string{s}
		}
	case '[':
		var members []jsontext.Value
		if json.Unmarshal(value, &members) != nil {
			return nil
		}
		for _, m := range members {
			var s string
			if m.Kind() == '"' && json.Unmarshal(m, &s) == nil {
				values = append(values, s)
			}
		}
	}
	return slices.DeleteFunc(values, func(s string) bool { return strings.TrimSpace(s) == "" })
}
