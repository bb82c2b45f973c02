package retrieval

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

const (
	// snippetRunes is the maximum length of a snippet in characters.
	snippetRunes = 300
	// leadRunes is the maximum number of characters before the first matching word.
	leadRunes = 40
	// maxWords is the maximum number of different words of a query that are matched.
	maxWords = 256
	// maxInflection is how many letters at the end of two matching words may differ.
	maxInflection = 3
	// stemRunes is how many letters at their beginning must then be equal.
	stemRunes = 4
)

// queryWords are the words of a query, for matching words of a text.
type queryWords struct {
	weights map[string]float64 // by the folded word, or character of a script without spaces
	stems   map[string][]string
}

func newQueryWords(query string) *queryWords {
	w := &queryWords{weights: map[string]float64{}, stems: map[string][]string{}}
	for found := range lexical.Words(query) {
		if _, ok := w.weights[found.Text]; ok || len(w.weights) == maxWords {
			continue
		}
		letters := []rune(found.Text)
		// In languages with words of different lengths, long words are rare and short ones
		// frequent. A single character of a script without spaces counts as a short word.
		w.weights[found.Text] = float64(min(len(letters), 8))
		if len(letters) >= stemRunes {
			stem := string(letters[:stemRunes])
			w.stems[stem] = append(w.stems[stem], found.Text)
		}
	}
	return w
}

// match returns the word of the query that a word of a text matches: the same word, or one
// with another ending.
func (w *queryWords) match(text string) (word string, found bool) {
	if _, ok := w.weights[text]; ok {
		return text, true
	}
	letters := []rune(text)
	if len(letters) < stemRunes {
		return "", false
	}
	for _, other := range w.stems[string(letters[:stemRunes])] {
		same, otherLetters := 0, []rune(other)
		for same < min(len(letters), len(otherLetters)) && letters[same] == otherLetters[same] {
			same++
		}
		if len(letters)-same <= maxInflection && len(otherLetters)-same <= maxInflection {
			return other, true
		}
	}
	return "", false
}

// snippetText returns the text from which the snippet of a hit is taken: the chunk if only
// the vector lane found the hit, else the description, or the string properties if there is
// no description.
func snippetText(hit *Hit) string {
	if hit.Chunk != nil && hit.Scores.Text == nil && strings.TrimSpace(hit.Chunk.Text) != "" {
		return hit.Chunk.Text
	}
	if d := hit.Node.Description; d != nil && strings.TrimSpace(*d) != "" {
		return *d
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(hit.Node.Properties)) {
		if value := hit.Node.Properties[name]; value.Kind() == '"' {
			if text, err := jsontext.AppendUnquote(nil, value); err == nil {
				parts = append(parts, name+": "+string(text))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// snippet returns the passage of a text that matches the words best, cut at word
// boundaries, with each sequence of white space as one space.
func (w *queryWords) snippet(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= snippetRunes {
		return string(runes)
	}
	from := w.bestStart(runes)
	size := snippetRunes - 1 // for the end's ellipsis
	if from > 0 {
		size--
	}
	to := min(from+size, len(runes))
	if to == len(runes) { // it includes the end of the text: extend it to the front
		from = firstBoundary(runes, to-(snippetRunes-1), to)
	} else {
		to = lastBoundary(runes, from, to)
	}
	cut := strings.TrimSpace(string(runes[from:to]))
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(runes) {
		cut += "…"
	}
	return cut
}

// firstBoundary returns the first word boundary at or after from. If there is none before
// to, it returns the first index that does not split a character.
func firstBoundary(runes []rune, from, to int) int {
	for at := from; at < to; at++ {
		if isBoundary(runes, at) {
			return at
		}
	}
	for isJoined(runes, from) && from < to-1 {
		from++
	}
	return from
}

// lastBoundary returns the last word boundary at or before to. If there is none after from,
// it returns the last index that does not split a character.
func lastBoundary(runes []rune, from, to int) int {
	for at := to; at > from; at-- {
		if isBoundary(runes, at) {
			return at
		}
	}
	for at := to; at > from; at-- {
		if !isJoined(runes, at) {
			return at
		}
	}
	return to
}

// match is a word of a text that matches a word of the query.
type match struct {
	from, to int // runes
	word     string
}

// matches returns the words of a text that match, in order.
func (w *queryWords) matches(text string) (found []match) {
	bytes, runes := 0, 0 // the same position
	for word := range lexical.Words(text) {
		runes += utf8.RuneCountInString(text[bytes:word.From])
		from := runes
		runes += utf8.RuneCountInString(text[word.From:word.To])
		bytes = word.To
		if matched, ok := w.match(word.Text); ok {
			found = append(found, match{from: from, to: runes, word: matched})
		}
	}
	return found
}

// bestStart returns the start of the best passage: the shortest with the highest total
// weight of different words that fit into a snippet. A word that is frequent in the text
// has a low weight.
func (w *queryWords) bestStart(runes []rune) int {
	matches := w.matches(string(runes))
	counts := map[string]int{}
	for _, m := range matches {
		counts[m.word]++
	}
	weight := func(word string) float64 { return w.weights[word] / float64(counts[word]) }
	best, bestAt, score, first := 0.0, 0, 0.0, 0
	within := map[string]int{}
	for _, m := range matches {
		if within[m.word]++; within[m.word] == 1 {
			score += weight(m.word)
		}
		for first < len(matches) {
			f := matches[first]
			if within[f.word] == 1 && m.to-f.from <= snippetRunes-leadRunes-2 || f == m {
				break
			}
			if within[f.word]--; within[f.word] == 0 {
				score -= weight(f.word)
			}
			first++
		}
		if score > best+1e-9 {
			best, bestAt = score, matches[first].from
		}
	}
	return passageStart(runes, bestAt)
}

// passageStart moves the start of a passage back to the beginning of the sentence if it is
// near, else back by a few words.
func passageStart(runes []rune, at int) int {
	word := at
	for back := at; back >= 0 && at-back <= leadRunes; back-- {
		if back == 0 || startsSentence(runes, back) {
			return back
		}
		if isBoundary(runes, back) {
			word = back
		}
	}
	return word
}

// startsSentence reports whether a sentence begins at an index, which is above 0.
func startsSentence(runes []rune, at int) bool {
	if at >= 2 && runes[at-1] == ' ' {
		return strings.ContainsRune(".!?؟।", runes[at-2])
	}
	return strings.ContainsRune("。！？", runes[at-1])
}

// isBoundary reports whether cutting a text before an index does not split a word.
func isBoundary(runes []rune, at int) bool {
	if at <= 0 || at >= len(runes) {
		return true
	}
	if isJoined(runes, at) {
		return false
	}
	before, after := runes[at-1], runes[at]
	return lexical.IsUnspaced(before) || lexical.IsUnspaced(after) || !isWordRune(before) || !isWordRune(after)
}

// isJoined reports whether a rune belongs to the character before it: a mark, a modifier, a
// second regional indicator, or a joiner and the rune after it.
func isJoined(runes []rune, at int) bool {
	const joiner = '\u200d'
	if at <= 0 || at >= len(runes) {
		return false
	}
	r, before := runes[at], runes[at-1]
	flag := func(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }
	return unicode.IsMark(r) || r == joiner || before == joiner || r >= 0x1F3FB && r <= 0x1F3FF || flag(r) && flag(before)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }
